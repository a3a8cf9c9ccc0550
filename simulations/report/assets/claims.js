/* The ledger of claims with filters. */
"use strict";
exml.claims = (() => {
  const { make, byId, fill } = exml.text;
  const FILTERS = ["printed", "grade", "kind", "section"];
  let page;

  function matches(claim) {
    const words = byId("claims-text").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const text = [claim.id, claim.where, claim.plain, claim.printed, claim.grade, claim.kind, ...claim.errata].join(" ").toLowerCase();
    const chosen = FILTERS.every((name) => ["", claim[name]].includes(byId(`claims-${name}`).value));
    return chosen && words.every((word) => text.includes(word));
  }

  function words(claim) {
    const box = make("div", { text: claim.plain });
    const more = make("details", {}, make("summary", { text: "formula" }));
    more.append(make("p", { class: "formula", text: claim.statement }));
    if (claim.corrected) more.append(make("p", { text: "Corrected:" }), make("p", { class: "formula", text: claim.corrected }));
    if (claim.grade_corrected) more.append(make("p", { text: `The corrected statement is ${claim.grade_corrected}.` }));
    if (claim.evidence) more.append(make("p", { text: `Check: ${claim.outcome}. ${claim.evidence}` }));
    // One accessible name per claim.
    more.firstChild.setAttribute("aria-label", `formula of ${claim.id}`);
    box.append(more);
    return box;
  }

  function draw() {
    const shown = page.claims.filter(matches);
    const columns = [{ name: "claim" }, { name: "place", wide: true }, { name: "as printed" }, { name: "grade of evidence" }, { name: "how checked", wide: true }, { name: "in words" }];
    fill(byId("claims-table"), columns, shown.map((claim) => [
      make("span", { class: "claim-id", text: claim.inferred ? `${claim.id} (inferred)` : claim.id }),
      [claim.where, ...claim.errata].join(", "),
      make("span", { class: `badge ${claim.printed}`, text: claim.printed }),
      claim.grade,
      claim.kind,
      words(claim),
    ]));
    byId("claims-count").textContent = `${shown.length} of ${page.claims.length} claims.`;
  }

  function start(data) {
    page = data;
    const source = data.claims_checked ? "Every check was run when this page was made." : "The verdicts are the recorded ones; exml claims --check runs every check.";
    byId("claims-lead").textContent = `Every statement of the paper's theory, and whether it holds as printed. ${source}`;
    for (const name of FILTERS) {
      const values = [...new Set(data.claims.map((claim) => claim[name]))];
      byId(`claims-${name}`).append(make("option", { text: "all", attributes: { value: "" } }),
        ...values.map((value) => make("option", { text: value, attributes: { value } })));
      byId(`claims-${name}`).addEventListener("change", draw);
    }
    byId("claims-text").addEventListener("input", draw);
    draw();
  }

  return { start };
})();
