// A link may lead into a fold, and not every browser opens it then.
const openFolds = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
  target?.scrollIntoView();
};
addEventListener("hashchange", openFolds);
if (location.hash) addEventListener("load", openFolds);
