/* What all pages share: definitions next to their terms, sortable tables, filters, printing; and the charts. */
"use strict";
(() => {
  const groups = JSON.parse(document.getElementById("data").textContent);

  for (const term of document.querySelectorAll(".term")) {
    const note = document.getElementById(term.getAttribute("aria-describedby"));
    const move = () => {
      const box = term.getBoundingClientRect();
      note.style.bottom = "auto";
      note.style.left = `${Math.max(Math.min(box.left, innerWidth - note.offsetWidth - 8), 8)}px`;
      const above = box.bottom + note.offsetHeight + 8 > innerHeight;
      note.style.top = `${above ? Math.max(box.top - note.offsetHeight - 4, 4) : box.bottom + 4}px`;
    };
    for (const name of ["pointerenter", "focus"]) term.addEventListener(name, move);
    term.addEventListener("keydown", (event) => { if (event.key === "Escape") term.blur(); });
  }

  for (const legend of document.querySelectorAll("[data-legend]")) legend.append(...exml.chart.listColours(groups[legend.dataset.legend].chart));
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const show = exml.chart.show(figure, groups[figure.dataset.chart].chart);
    const choice = document.getElementById("group");
    if (!choice || figure.id !== "chart") continue;
    document.getElementById("group-choice").hidden = false;
    choice.addEventListener("change", () => {
      const group = groups[Number(choice.value)], reasons = document.getElementById("reasons");
      show(group.chart);
      reasons.textContent = group.reasons.join("; ");
      reasons.hidden = group.reasons.length === 0;
    });
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Save as CSV";
    button.setAttribute("aria-label", `Save as CSV: ${table.id}`);
    button.addEventListener("click", () => exml.saveCsv([...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())), `${table.id}.csv`));
    table.before(button);
  }

  for (const head of document.querySelectorAll("table.sortable thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isRising = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0], column = head.cellIndex;
      const text = (row) => row.cells[column].textContent.trim();
      const number = (row) => parseFloat(text(row).replace(/[,<]/g, ""));
      const compare = (a, b) => (Number.isNaN(number(a)) || Number.isNaN(number(b)) ? text(a).localeCompare(text(b)) : number(a) - number(b));
      body.append(...[...body.rows].sort((a, b) => (isRising ? compare(a, b) : compare(b, a))));
    });
  }

  // Only what scrolls needs a tab stop.
  for (const box of document.querySelectorAll(".formula, .scroll:not([tabindex])")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;

  const filters = document.getElementById("filters");
  if (filters) {
    const claims = [...document.querySelectorAll(".claim")];
    const filter = () => {
      const data = new FormData(filters), verdicts = data.getAll("verdict"), grade = data.get("grade"), matters = data.get("matters"), text = data.get("text").trim().toLowerCase();
      for (const claim of claims)
        claim.hidden = !(verdicts.includes(claim.dataset.verdict) && (!grade || claim.dataset.grade.split("|").includes(grade)) && (!matters || claim.dataset.matters === matters) && claim.textContent.toLowerCase().includes(text));
      for (const section of document.querySelectorAll(".claims")) section.hidden = !section.querySelector(".claim:not([hidden])");
      document.getElementById("shown").textContent = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} claims`;
    };
    filters.hidden = false;
    filters.addEventListener("input", filter);
    filters.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  let closed = [];
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details.print:not([open])")]; for (const part of closed) part.open = true; });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
  document.documentElement.dataset.ready = "";
})();
