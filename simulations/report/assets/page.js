/* Put the page together from its data. */
"use strict";
(() => {
  const { make, byId, whole, fill } = exml.text;
  const page = JSON.parse(byId("page").textContent);
  const define = (list, rows) => list.append(...rows.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]));

  const cells = page.groups.flatMap((group) => group.panels.flatMap((panel) => panel.cells));
  const trials = cells.reduce((sum, cell) => sum + cell.trials, 0);
  byId("subtitle").textContent = trials ? `${cells.length} cells, ${whole(trials)} trials.` : `${cells.length} cells, computed exactly.`;
  byId("findings-list").append(...page.findings.map((text) => make("li", { text })));
  define(byId("settings-list"), page.settings);
  if (page.facets) {
    byId("facets-picture").src = page.facets;
    byId("facets-picture").alt = `Failure rate against budget: ${page.groups.map((group) => group.place).join("; ")}`;
    byId("facets").hidden = byId("facets-link").hidden = false;
  }
  byId("toml").textContent = page.provenance.toml;

  define(byId("provenance-list"), [
    ["study (SHA-256)", page.provenance.hash],
    ["results (SHA-256)", page.provenance.digest],
    ["complete", page.provenance.complete ? "yes: every cell has all its trials" : "no"],
  ]);
  const sessions = page.provenance.sessions;
  const facts = [...new Set(sessions.flatMap((session) => Object.keys(session)))];
  fill(byId("sessions"), [{ name: "fact" }, ...sessions.map((_, i) => ({ name: `run ${i + 1}` }))],
    facts.map((fact) => [fact, ...sessions.map((session) => session[fact] || "")]));

  exml.explorer.start(page, exml.allocation.show);
  exml.allocation.start(page);

  // On paper nothing can be opened: what matters is open before printing, and as it was afterwards.
  const folded = () => [...document.querySelectorAll("details.print")];
  let closed = [];
  addEventListener("beforeprint", () => { closed = folded().filter((one) => !one.open); closed.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
  document.documentElement.dataset.ready = "yes";
})();
