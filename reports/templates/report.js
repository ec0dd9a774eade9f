"use strict";
// the buttons that put a text on the clipboard
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}
// a link to a benchmark opens its fold
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  const fold = target?.closest("details");
  if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", unfold);
unfold();
