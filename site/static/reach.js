// What scrolls can be reached by keyboard: the theme sees to code and tables, this to
// formulas, once they are set. And the sidebar, in which the theme puts its search and
// the book's name, is a landmark.
addEventListener("load", async () => {
  document.getElementById("pst-primary-sidebar")?.setAttribute("role", "complementary");
  document.getElementById("pst-primary-sidebar")?.setAttribute("aria-label", "Book");

  await window.MathJax?.startup?.promise;
  const formulas = document.querySelectorAll("div.math, mjx-container[display]");
  const reach = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
  });
  formulas.forEach((formula) => reach.observe(formula));
});
