"use strict";
// the filters of the examples: hide what does not fit; without scripts all examples stay visible
for (const form of document.querySelectorAll("form.filters")) {
  const rows = [...document.querySelectorAll(`#${form.dataset.list} > li`)];
  const words = rows.map((row) => row.textContent.toLowerCase());
  const count = form.querySelector("output");
  const apply = () => {
    const value = (name) => form.elements.namedItem(name)?.value ?? "";
    const sought = value("search").trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, i) => {
      const has = (name) => !value(name) || row.dataset[name].split(" ").includes(value(name));
      const fits = has("facet") && has("type") && has("respondent") && (!sought || words[i].includes(sought));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.value = `${shown} of ${rows.length} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
// a number links to its signature, which is inside a closed list
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  const around = target?.closest("details");
  if (around && !around.open) {
    around.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", unfold);
unfold();
