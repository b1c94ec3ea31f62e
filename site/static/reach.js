// What scrolls can be reached by keyboard. And the sidebar, in which the theme puts its
// search and the book's name, is a landmark, and shows the page that one is on.
addEventListener("load", () => {
  const sidebar = document.getElementById("pst-primary-sidebar");
  sidebar?.setAttribute("role", "complementary");
  sidebar?.setAttribute("aria-label", "Book");
  const here = [...(sidebar?.querySelectorAll("li.active > a") ?? [])].at(-1);
  if (here) {
    // The theme puts it back to where it was scrolled on the page before.
    const [at, frame] = [here, sidebar].map((node) => node.getBoundingClientRect());
    if (at.top < frame.top || at.bottom > frame.bottom)
      sidebar.scrollTop += at.top - frame.top - frame.height / 3;
  }

  // The section that one reads is marked in the contents.
  const links = [...document.querySelectorAll(".aiayn-contents a")];
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const mark = () => {
    const read = headings.findLastIndex((heading) => heading?.getBoundingClientRect().top < innerHeight / 3);
    links.forEach((link, place) => link.setAttribute("aria-current", place === read));
  };
  if (links.length) addEventListener("scroll", mark, { passive: true });

  // What is in a closed fold has no size: it is asked for once the fold is open.
  const boxes = "pre, .cell_output > .output, .pst-scrollable-table-container, div.math";
  const reach = new ResizeObserver((entries) => {
    const scrolls = entries.map(({ target }) => target.scrollWidth > target.clientWidth);
    entries.forEach(({ target }, place) => {
      if (scrolls[place]) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    });
  });
  document.querySelectorAll(boxes).forEach((box) => reach.observe(box));
});
