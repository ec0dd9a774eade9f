"use strict";
// a button above a column sorts the rows by it; what is not known stands last
const table = document.querySelector("table");
for (const button of table.querySelectorAll("button[data-by]")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), up = head.getAttribute("aria-sort") === "descending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const of = (row) => row.dataset[button.dataset.by];
    const number = (text) => (text === "" ? (up ? Infinity : -Infinity) : Number(text));
    const order = button.dataset.by === "title"
      ? (a, b) => of(a).localeCompare(of(b))
      : (a, b) => number(of(a)) - number(of(b));
    const rows = [...table.tBodies].sort((a, b) => (up ? order(a, b) : order(b, a)));
    table.append(...rows);
  });
}
const search = document.querySelector("input[type=search]"), said = document.querySelector("output");
search.closest("form").hidden = false;
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of table.tBodies) {
    row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  }
  said.textContent = `${[...table.tBodies].filter((row) => !row.hidden).length} of ${table.tBodies.length}`;
});
