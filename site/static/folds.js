// How much of a page is open: the switch under its title, remembered from page to page.
// "read" leaves every fold as the page has it, "code" opens what is exported, and
// "everything" all folds. And a link may lead into a fold: not every browser opens it.
(() => {
  const switches = [...document.querySelectorAll(".aiayn-depth input")];
  const folds = [...document.querySelectorAll(".bd-article details")];
  const OPENS = {
    read: () => false,
    code: (fold) => fold.matches("[class*='tag_export'] details.hide"),
    everything: () => true,
  };

  // A page from disk, or a browser that keeps nothing, may refuse the storage.
  const stored = (write) => {
    try {
      return write ? localStorage.setItem("depth", write) : localStorage.getItem("depth");
    } catch {
      return null;
    }
  };

  const open = (depth) => {
    for (const fold of folds) fold.open = OPENS[depth](fold);
    for (const each of switches) each.checked = each.value === depth;
  };

  const openAround = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details"))
      fold.open = true;
    target?.scrollIntoView();
  };

  for (const each of switches)
    each.addEventListener("change", () => {
      open(each.value);
      stored(each.value);
    });
  const depth = stored();
  if (switches.length && depth !== "read" && Object.hasOwn(OPENS, depth)) open(depth);
  addEventListener("hashchange", openAround);
  if (location.hash) addEventListener("load", openAround);
})();
