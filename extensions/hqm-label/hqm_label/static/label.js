// Keys, time, picture and note of the page. Loaded from this server alone; nothing here sends anything elsewhere.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  let shownAt = 0, spent = 0;

  // --- how long a label takes: only while the page is seen ---
  const now = () => performance.now();
  const restart = () => { spent = 0; shownAt = document.hidden ? 0 : now(); };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { if (shownAt) spent += now() - shownAt; shownAt = 0; } else { shownAt = now(); }
  });
  const milliseconds = () => Math.round(spent + (shownAt ? now() - shownAt : 0));

  // --- a page that came ---
  function begin() {
    const page = byId("page");
    restart();
    document.dispatchEvent(new Event("page-came"));
    if (page.dataset.ahead) { new Image().src = page.dataset.ahead; }
  }

  const say = (text) => { const box = byId("alert"); box.textContent = text; box.hidden = !text; };

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb === "post") { event.detail.parameters.milliseconds = String(milliseconds()); }
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    say("");
    if (event.detail.target.id !== "page" || event.detail.requestConfig.triggeringEvent?.type === "htmx:poll") { return; }
    if (!byId("page").classList.contains("owner")) {
      window.scrollTo(0, 0);
      byId("page").focus({ preventScroll: true });
    }
    begin();  // which may put the focus on the words to be marked
  });
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    say(status === 422 ? event.detail.xhr.responseText : `Not stored: the server answered ${status}. Reload the page, then label again.`);
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, () => say("Not stored: the server cannot be reached. Labels before this one are safe. Press again once it runs."));
  }

  // --- picture, note, and fields that a choice asks for ---
  function zoom() {
    const image = document.querySelector("#enlarge img");
    if (!image) { return; }
    byId("large").src = image.src;
    byId("zoom").showModal();
  }
  function openNote() {
    byId("note-field").hidden = false;
    byId("open-note").setAttribute("aria-expanded", "true");
    byId("note").focus();
  }
  function openField(button) {
    for (const other of document.querySelectorAll("[data-opens]")) {
      const field = byId(other.dataset.opens), open = other === button;
      field.hidden = field.disabled = !open;
      other.setAttribute("aria-expanded", String(open));
    }
    byId(button.dataset.opens).querySelector("input, select, textarea").focus();
  }
  document.addEventListener("click", (event) => {
    const target = event.target.closest("button, img");
    if (!target) { return; }
    if (target.id === "enlarge" || target.closest("#enlarge")) { zoom(); }
    if (target.id === "large") { byId("zoom").close(); }
    if (target.id === "open-note") { openNote(); }
    if (target.id === "open-guide") { byId("guide").showModal(); }
    if (target.dataset.opens) { openField(target); }
  });

  // --- keys ---
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) { return; }
    const field = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (field) {
      if (event.key === "Escape") { field.blur(); byId("page").focus({ preventScroll: true }); }
      return;
    }
    if (!byId("keys").checked) { return; }
    if (byId("zoom").open) { if (event.key === "z") { byId("zoom").close(); } return; }
    if (byId("guide").open) { return; }
    if (event.key === "Enter" && event.target.closest("button, a, summary")) { return; }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const button = document.querySelector(`#page [data-key="${CSS.escape(key)}"]:not(:disabled)`);
    if (button) { event.preventDefault(); button.click(); }
  });

  begin();
})();
