// Two schemas that are more than buttons: words that are marked, and facts that are listed. Both write into the field `detail`.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, text = "") => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) { element.setAttribute(name, value); }
    element.textContent = text;
    return element;
  };
  const store = (value) => { byId("detail").value = JSON.stringify(value); };

  // --- spans ---
  function spans() {
    const box = byId("words"), words = [...box.querySelectorAll("span")], marks = [];
    let anchor = -1, here = -1, dragging = false, tapped = -1;
    const chosen = () => (anchor < 0 ? [] : words.slice(Math.min(anchor, here), Math.max(anchor, here) + 1));
    const types = new Map([...document.querySelectorAll("[data-type]")].map((b) => [b.dataset.type, { number: b.dataset.number, text: b.textContent.trim().slice(1).trim() }]));
    function draw() {
      const selected = new Set(chosen());
      words.forEach((word, i) => {
        const mark = marks.find((m) => Number(word.dataset.start) < m.end && Number(word.dataset.end) > m.start);
        const name = [selected.has(word) ? "chosen" : "", i === here ? "here" : "", mark ? `marked m${types.get(mark.type).number}` : ""].join(" ").trim();
        if (word.className !== name) { word.className = name; word.setAttribute("aria-selected", String(selected.has(word))); }
      });
      if (here >= 0) { box.setAttribute("aria-activedescendant", words[here].id); words[here].scrollIntoView({ block: "nearest" }); }
      const list = byId("marks");
      list.replaceChildren(...marks.map((mark, i) => {
        const of = words.filter((w) => Number(w.dataset.start) >= mark.start && Number(w.dataset.end) <= mark.end);
        const item = make("li", { class: `m${types.get(mark.type).number}` });
        const quoted = make("q", { dir: "auto" }, of.map((w) => w.textContent).join(" "));
        const remove = make("button", { type: "button", "aria-label": `Remove the mark on ${of.map((w) => w.textContent).join(" ")}` }, "×");
        remove.addEventListener("click", () => { marks.splice(i, 1); draw(); });
        item.append(`${types.get(mark.type).text}: `, quoted, remove);
        return item;
      }));
      byId("save-text").textContent = marks.length ? `Save ${marks.length} mark${marks.length > 1 ? "s" : ""}` : "Nothing is hallucinated";
      store(marks);
    }
    const at = (event) => words.indexOf(document.elementFromPoint(event.clientX, event.clientY)?.closest("#words span"));
    box.addEventListener("pointerdown", (event) => {
      const i = at(event);
      if (i < 0) { return; }
      dragging = event.pointerType === "mouse";
      if (event.pointerType !== "mouse" && tapped >= 0) { here = i; tapped = -1; } else { anchor = here = i; tapped = event.pointerType === "mouse" ? -1 : i; }
      if (event.shiftKey && anchor >= 0) { here = i; }
      draw();
    });
    box.addEventListener("pointermove", (event) => { if (dragging) { const i = at(event); if (i >= 0 && i !== here) { here = i; draw(); } } });
    window.addEventListener("pointerup", () => { dragging = false; });
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8, Home: -words.length, End: words.length }[event.key];
      if (step === undefined || !words.length) { return; }
      event.preventDefault();
      here = Math.max(0, Math.min(words.length - 1, (here < 0 && step > 0 ? -1 : here) + (here < 0 ? 1 : step)));
      if (!event.shiftKey || anchor < 0) { anchor = here; }
      draw();
    });
    const name = (type) => {
      const of = chosen();
      if (!of.length) { return; }
      const mark = { start: Number(of[0].dataset.start), end: Number(of.at(-1).dataset.end), type };
      if (!marks.some((m) => m.start === mark.start && m.end === mark.end && m.type === type)) { marks.push(mark); }
      anchor = tapped = -1;
      draw();
      box.focus();
    };
    for (const button of document.querySelectorAll("[data-type]")) { button.addEventListener("click", () => name(button.dataset.type)); }
    byId("page").addEventListener("remove-last", () => { marks.pop(); draw(); });
    draw();
    box.focus({ preventScroll: true });
  }

  // --- facts ---
  function grade(sentences) {
    const decided = sentences.filter((s) => s.descriptive).flatMap((s) => s.facts).filter((f) => f.holds === 0 || f.holds === 1);
    const wrong = decided.filter((f) => f.holds === 0).length, count = decided.length;
    if (!count) { return null; }
    return wrong === count ? 1 : wrong === 0 ? 5 : 2 * wrong > count ? 2 : 3 * wrong < count ? 4 : 3;
  }
  function facts() {
    const box = byId("facts"), sentences = JSON.parse(box.dataset.sentences);
    let here = null;
    const save = () => {
      store(sentences);
      const value = grade(sentences), left = sentences.filter((s) => s.descriptive).flatMap((s) => s.facts).filter((f) => f.text.trim() && f.holds === null && !f.undecided).length;
      byId("grade").textContent = left ? `(${left} to decide)` : value === null ? "" : `(grade ${value})`;
    };
    const listed = () => [...box.querySelectorAll(".fact")];
    function go(row) {
      listed().forEach((other) => other.classList.toggle("here", other === row));
      here = row;
      row?.scrollIntoView({ block: "nearest" });
    }
    function press(row, fact, value) {
      fact.undecided = value === "?";
      fact.holds = value === "?" ? null : value;
      for (const button of row.querySelectorAll("[data-says]")) {
        button.setAttribute("aria-pressed", String(button.dataset.says === String(value)));
      }
      save();
    }
    function line(sentence, fact) {
      const row = make("div", { class: "fact", role: "group", "aria-label": "Fact" });
      const input = make("input", { type: "text", "aria-label": "Fact", placeholder: "one thing that it states", dir: "auto", maxlength: "4000" });
      input.value = fact.text;
      input.addEventListener("input", () => { fact.text = input.value; save(); });
      input.addEventListener("focus", () => go(row));
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); input.blur(); byId("page").focus({ preventScroll: true }); } });
      row.append(input);
      for (const [value, text, kind, spoken] of [[1, "Holds", "good", "The fact holds"], [0, "Wrong", "bad", "The fact does not hold"], ["?", "?", "", "Cannot say of this fact"]]) {
        const pressed = fact.holds === value || (value === "?" && fact.undecided);
        const button = make("button", { type: "button", class: kind, "data-says": String(value), "aria-pressed": String(Boolean(pressed)), "aria-label": spoken }, text);
        button.addEventListener("click", () => { go(row); press(row, fact, value); });
        row.append(button);
      }
      const remove = make("button", { type: "button", class: "plain", "aria-label": "Remove the fact", "data-removes": "" }, "×");
      remove.addEventListener("click", () => {
        const rows = listed(), i = rows.indexOf(row);
        sentence.facts.splice(sentence.facts.indexOf(fact), 1);
        row.remove();
        go(rows[i + 1] ?? rows[i - 1] ?? null);
        save();
      });
      row.append(remove);
      row.says = (value) => press(row, fact, value);
      return row;
    }
    for (const sentence of sentences) {
      const part = make("fieldset", { class: "part" }), legend = make("legend", { dir: "auto" }, sentence.text);
      const label = make("label"), check = make("input", { type: "checkbox" }), inside = make("div");
      const add = make("button", { type: "button", class: "add" }, "Add a fact");
      check.checked = sentence.descriptive;
      label.append(check, "describes the picture");
      check.addEventListener("change", () => { sentence.descriptive = check.checked; inside.hidden = add.hidden = !check.checked; save(); });
      add.addEventListener("click", () => {
        const fact = { text: "", holds: null };
        sentence.facts.push(fact);
        const row = line(sentence, fact);
        inside.append(row);
        go(row);
        row.querySelector("input").focus();
        save();
      });
      inside.append(...sentence.facts.map((fact) => line(sentence, fact)));
      inside.hidden = add.hidden = !sentence.descriptive;
      part.append(legend, label, inside, add);
      box.append(part);
    }
    byId("page").addEventListener("fact-key", (event) => {
      const rows = listed().filter((row) => !row.parentElement.hidden), i = rows.indexOf(here), key = event.detail;
      if (!rows.length) { return; }
      if (key === "ArrowDown" || key === "ArrowUp") { go(rows[Math.max(0, Math.min(rows.length - 1, i < 0 ? 0 : i + (key === "ArrowDown" ? 1 : -1)))]); return; }
      if (i < 0) { go(rows[0]); }
      if (key === "x") { here.querySelector("[data-removes]").click(); return; }
      here.says(key === "?" ? "?" : Number(key));
      go(rows[Math.min(rows.length - 1, rows.indexOf(here) + 1)]);
    });
    go(listed()[0] ?? null);
    save();
  }

  document.addEventListener("page-came", () => {
    const kind = byId("page").dataset.kind;
    if (kind === "spans") { spans(); }
    if (kind === "facts") { facts(); }
  });
  document.addEventListener("keydown", (event) => {
    const page = byId("page"), kind = page.dataset.kind;
    if (!byId("keys").checked || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select")) { return; }
    if (byId("zoom").open || byId("guide").open) { return; }
    if (kind === "spans" && event.key === "x") { page.dispatchEvent(new Event("remove-last")); }
    if (kind === "facts" && ["1", "0", "?", "x", "ArrowDown", "ArrowUp"].includes(event.key)) {
      if (event.key === "?" && !document.querySelector("#facts .fact")) { return; }
      event.preventDefault();
      event.stopImmediatePropagation();
      page.dispatchEvent(new CustomEvent("fact-key", { detail: event.key }));
    }
  });
})();
