"use strict";
// the filters of the lists: hide what does not fit; without scripts all rows stay visible
const selects = new Set(["facet", "type", "respondent", "why", "fails", "marked"]);
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
      const fits = [...selects].every(has) && (!sought || words[i].includes(sought));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.value = `${shown} of ${rows.length} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.apply = apply;
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
// the items to read: marks are kept in this browser, and leave it as a file that `hqm audit --key` reads
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const save = (name, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const kept = { get: (key) => { try { return localStorage.getItem(key) ?? ""; } catch { return ""; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* a page that may not keep anything */ } } };
for (const button of document.querySelectorAll("button[data-review]")) {
  const list = document.getElementById(button.dataset.review);
  const rows = [...list.children];
  const said = button.parentElement.querySelector("output");
  const field = (row, name) => row.querySelector(`select[name="${name}"]`);
  const target = (row) => {
    const mark = field(row, "mark").value;
    if (mark === "keep") return row.dataset.was;
    if (mark !== "wrong key") return "";
    return field(row, "right") ? field(row, "right").value : { yes: "no", no: "yes" }[row.dataset.was] ?? "";
  };
  const unfinished = (row) => field(row, "mark").value === "wrong key" && !target(row);
  const count = () => {
    const marked = rows.filter((row) => field(row, "mark").value);
    const open = rows.filter(unfinished);
    said.value = `${marked.length} of ${rows.length} marked` + (open.length ? `; choose the right answer of ${open.map((row) => row.dataset.item).join(", ")}` : "");
  };
  for (const row of rows) {
    const key = `hqm ${list.dataset.file} ${list.dataset.made} ${row.dataset.item}`;
    const show = () => {
      const mark = field(row, "mark").value;
      row.dataset.marked = mark ? mark.replaceAll(" ", "-") : "none";
      if (field(row, "right")) field(row, "right").parentElement.hidden = mark !== "wrong key";
      count();
    };
    const [mark, right] = kept.get(key).split("|");
    if (mark) field(row, "mark").value = mark;
    if (right && field(row, "right")) field(row, "right").value = right;
    row.addEventListener("change", () => {
      kept.set(key, `${field(row, "mark").value}|${field(row, "right")?.value ?? ""}`);
      show();
    });
    show();
  }
  for (const part of [...list.querySelectorAll(".marking"), button.parentElement]) part.hidden = false;
  button.addEventListener("click", () => {
    const lines = [["item", "target", "mark", "was", "question"]];
    for (const row of rows) {
      // a wrong key of a multiple choice without its right answer would stop the reader of the file
      if (field(row, "mark").value && !unfinished(row)) {
        lines.push([row.dataset.item, target(row), field(row, "mark").value, row.dataset.was, row.dataset.question]);
      }
    }
    save(list.dataset.file, lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n");
  });
}
// every complete list leaves the page as CSV
for (const button of document.querySelectorAll("button[data-csv]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const rows = [...document.getElementById(button.dataset.csv).querySelectorAll("tr")];
    save(`${button.dataset.csv}.csv`, rows.map((row) => [...row.children].map((cell) => quoted(cell.textContent.trim())).join(",")).join("\n") + "\n");
  });
}
// a number links to its signature, which is inside a closed list
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  let opened = false;
  // a benchmark's own fold, or every fold around the target
  for (let fold = target.querySelector(":scope > details.benchmark") ?? target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    opened ||= !fold.open;
    fold.open = true;
  }
  if (opened) target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
