/* The controls of the chart: which panel, which curves, which axis, and the parameters of the bounds. */
"use strict";
exml.explorer = (() => {
  const { make, byId, amount, probability, observed, fill, sentenceCase } = exml.text;
  const { logDeltaFail, requiredBudget, launchBudget, broken, largestGap, fall } = exml.bounds;
  const { draw, styleOf } = exml.chart;
  const SILENT = { launch: NaN, informative: NaN, target: NaN };
  const BELOW_ONE = 1 - 2 ** -53;
  // Logarithmic sliders run from 0 to 1.
  const SLIDERS = [
    { id: "theta", label: "θ, rejection cost", min: 0.01, max: 0.49, step: 0.01, show: (v) => d3.format(".3~g")(v) },
    { id: "r", label: "κΛ, ball radius", low: 0.01, high: 10, show: (v) => d3.format(".3~g")(v) },
    { id: "gap", label: "Δ, smallest gap", low: 0.001, high: 1, show: (v) => d3.format(".3~g")(v) },
    { id: "K", label: "K, candidates", min: 2, max: 64, step: 1, show: (v) => d3.format("d")(v) },
  ];
  /** Round half to even, as the sentences of the page do. */
  const even = (x) => (Math.abs(x % 1) === 0.5 && Math.round(x) % 2 ? Math.round(x) - 1 : Math.round(x));
  const factor = (x) => (x < 9.95 ? d3.format(",.1f")(even(10 * x) / 10) : d3.format(",")(even(x)));
  let page;
  let state;
  let words;

  const group = () => page.groups[state.group];
  const panel = () => group().panels[state.panel];
  const versions = () => (panel().bounds ? panel().bounds.versions : []);
  const curveOf = (version) => panel().bounds.curves[version];
  const isMoved = () => Object.keys(state.moved).length > 0;

  /** The parameters of the bounds: the study's own, until a slider moves. */
  function ownPoint() {
    const own = panel().bounds;
    if (!own) return null;
    const { K, gap, gaps, theta, kappa_lambda: r, kernel, rows, pairing, population } = own;
    return { K, gap, gaps, theta, r, kernel, rows, pairing, population };
  }

  /** Gaps of the pool while K and the smallest gap are the pool's; otherwise all gaps are equal. */
  function point() {
    const own = ownPoint();
    if (!own) return null;
    const moved = { ...own, ...state.moved };
    const same = moved.K === own.K && moved.gap === own.gap;
    return { ...moved, gaps: same ? own.gaps : null, bestCount: 1 };
  }

  function needsOf(at, kind) {
    const oneGap = { ...at, gaps: null, bestCount: at.gaps ? 1 + at.gaps.filter((gap) => gap === 0).length : 1 };
    const asked = (version) => {
      const curve = curveOf(version);
      if (curve) return isMoved() ? SILENT : Object.fromEntries(Object.keys(SILENT).map((name) => [name, curve[name] ?? NaN]));
      if (broken(at)) return SILENT;
      return {
        // With a gap per arm our bound has no launch condition; the mark is that of its form with one gap.
        launch: launchBudget(version, kind, version === "tighter" ? oneGap : at),
        informative: requiredBudget(version, kind, at, BELOW_ONE),
        target: requiredBudget(version, kind, at, page.target),
      };
    };
    return Object.fromEntries(versions().map((version) => [version, asked(version)]));
  }

  /** Natural logarithm of a bound. A version without a formula has points of its curve at the study's parameters: it
      falls with the budget, so that the last point before a budget is a bound there too. */
  function logBound(version, kind, at, B) {
    const curve = curveOf(version);
    if (!curve) return logDeltaFail(version, kind, { ...at, B });
    const i = d3.bisectRight(curve.budgets, B) - 1;
    if (isMoved() || B > curve.budgets[curve.budgets.length - 1]) return NaN;
    return i >= 0 ? curve.logs[i] ?? NaN : B >= (curve.launch ?? Infinity) ? 0 : NaN;
  }

  function neededInSimulation() {
    let found = NaN;
    for (const cell of panel().cells.slice().reverse()) {
      if (cell.upper > page.target) break;
      found = cell.budget;
    }
    return found;
  }

  function view() {
    const at = point();
    const kind = panel().bounds ? panel().bounds.strategy : null;
    const needs = at ? needsOf(at, kind) : null;
    const budgets = group().panels.flatMap((one) => one.cells.map((cell) => cell.budget));
    const asked = needs ? versions().filter((version) => state.shown.has(version)).map((version) => needs[version].target).filter((B) => B > 0) : [];
    const low = d3.min(budgets);
    const high = Math.max(d3.max(budgets), ...asked, 2 * low);
    const { shown, scale } = state;
    return { panel: panel(), versions: versions(), logBound: (version, B) => logBound(version, kind, at, B), kind, point: at, needs, low, high, shown, scale, target: page.target, confidence: page.confidence };
  }

  function update() {
    const now = view();
    draw(now);
    byId("chart-name").textContent = `${sentenceCase(panel().title)} on ${group().place}. Points: observed, with ${d3.format(".0~%")(page.confidence)} `
      + `intervals; an open triangle is an upper limit where no failure was seen. Dotted: ${d3.format(".0~%")(page.target)}.`
      + (now.point ? " Grey zones: a bound is vacuous there (at least 1, or below its launch budget). Short bars at the top: launch budgets." : "");
    byId("bounds-part").hidden = !now.point;
    byId("reason").hidden = Boolean(now.point);
    byId("reason").textContent = now.point ? "" : `No bound is drawn: ${panel().reason}.`;
    fillCells();
    if (!now.point) return;
    fillNeeds(now);
    const movable = panel().bounds.movable;
    for (const slider of SLIDERS) byId(`slider-${slider.id}`).disabled = !movable;
    if (movable) showSliders(now);
    else byId("status").textContent = "Bounds of plug-ins are fixed at the study's parameters; the sliders do not apply.";
  }

  function fillNeeds(now) {
    const seen = neededInSimulation();
    const percent = d3.format(".0~%")(page.target);
    const times = (budget) => (budget / seen > 0 ? `${factor(budget / seen)}x` : "");
    byId("needs-name").textContent = `Budgets of ${panel().title} for at most ${percent} failures; x simulation: multiple of the budget needed in simulation`;
    const columns = [{ name: "budget needed by" }, { name: `${percent} from`, number: true }, { name: "x simulation", number: true },
      { name: "below 1 from", number: true, wide: true }, { name: "launch", number: true, wide: true }];
    const rows = [["simulation (this study)", Number.isNaN(seen) ? "not reached" : amount(seen), "", "", ""]];
    for (const version of versions()) {
      const { launch, informative, target } = now.needs[version];
      rows.push([words[version], amount(target), times(target), amount(informative), amount(launch)]);
    }
    fill(byId("needs"), columns, rows);
  }

  function showSliders(now) {
    const own = ownPoint();
    for (const slider of SLIDERS) {
      const input = byId(`slider-${slider.id}`);
      const value = now.point[slider.id];
      input.value = slider.low ? Math.log(value / slider.low) / Math.log(slider.high / slider.low) : value;
      const text = slider.show(value);
      input.setAttribute("aria-valuetext", text);
      byId(`value-${slider.id}`).textContent = text;
    }
    const changed = SLIDERS.some(({ id }) => now.point[id] !== own[id]);
    byId("reset").disabled = !changed;
    byId("status").textContent = status(now, changed);
  }

  function status(now, changed) {
    const wrong = broken(now.point);
    if (wrong === "gap <= Delta_max") {
      const [largest, most] = [largestGap(now.point), fall(now.point.theta, now.point.r)].map(d3.format(".3~g"));
      const whose = now.point.gaps ? "the largest gap of this pool" : "the gap";
      return `No population has gaps this large: ${whose} is ${largest}, and at this θ and κΛ it can be at most ${most}, so no bound applies.`;
    }
    if (wrong) return `No bound applies: ${wrong} does not hold.`;
    if (!changed) return "The bounds are at this study's own parameters, with a gap for every candidate where a bound can use it.";
    if (now.point.gaps) return "The bounds have moved away from this study; the observed points have not.";
    return `The bounds have moved away from this study (${now.point.K - 1} other candidates, all with the gap shown); the observed points have not.`;
  }

  function fillCells() {
    byId("cells-name").textContent = `${sentenceCase(panel().title)} on ${group().place}`;
    const columns = [{ name: "budget", number: true }, { name: "observed" }, { name: "mean regret", number: true, wide: true },
      ...page.versions.map(({ title }) => ({ name: title, number: true, wide: true }))];
    const value = (x) => (x === null ? "nothing" : x >= 1 ? `vacuous (${probability(x)})` : probability(x));
    fill(byId("cells"), columns, panel().cells.map((cell) => [amount(cell.budget), observed(cell, page.confidence),
      probability(cell.regret), ...page.versions.map(({ name }) => value(cell.bounds[name] ?? null))]));
  }

  function buildStrategies() {
    const box = byId("strategy-choice");
    box.replaceChildren(box.querySelector("legend"));
    group().panels.forEach((one, i) => {
      const input = make("input", { attributes: { type: "radio", name: "strategy", value: i } });
      input.checked = i === state.panel;
      input.addEventListener("change", () => { state.panel = i; state.moved = {}; update(); });
      box.append(make("label", {}, input, one.title));
    });
  }

  function swatch(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "swatch");
    svg.setAttribute("viewBox", "0 0 26 12");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [key, value] of Object.entries({ x1: 0, x2: 26, y1: 6, y2: 6, "stroke-width": 3, class: styleOf(name === "observed" ? "practice" : name) }))
      line.setAttribute(key, value);
    svg.append(line);
    return svg;
  }

  function buildCurves() {
    for (const name of Object.keys(words)) {
      const input = make("input", { attributes: { type: "checkbox", id: `show-${name}` } });
      input.checked = true;
      input.addEventListener("change", () => { state.shown[input.checked ? "add" : "delete"](name); update(); });
      byId("curves").append(make("label", {}, input, swatch(name), words[name]));
    }
  }

  function buildSliders() {
    const box = byId("sliders").querySelector("fieldset");
    for (const slider of SLIDERS) {
      const bounds = slider.low ? { min: 0, max: 1, step: 0.002 } : { min: slider.min, max: slider.max, step: slider.step };
      const input = make("input", { attributes: { type: "range", id: `slider-${slider.id}`, ...bounds } });
      const output = make("output", { attributes: { id: `value-${slider.id}`, for: `slider-${slider.id}` } });
      input.addEventListener("input", () => {
        const raw = Number(input.value);
        state.moved[slider.id] = slider.low ? slider.low * (slider.high / slider.low) ** raw : raw;
        update();
      });
      const label = make("label", { attributes: { for: input.id } }, make("span", { text: slider.label }), output);
      box.append(make("div", { class: "slider" }, label, input));
    }
    byId("reset").addEventListener("click", () => { state.moved = {}; update(); });
  }

  function buildGroups(changed) {
    byId("group-choice").hidden = page.groups.length < 2;
    page.groups.forEach((one, i) => byId("group").append(make("option", { text: one.place, attributes: { value: i } })));
    byId("group").addEventListener("change", (event) => {
      Object.assign(state, { group: Number(event.target.value), panel: 0, moved: {} });
      buildStrategies();
      update();
      changed(state.group);
    });
  }

  /** Start; `changed` hears of another pool. */
  function start(data, changed) {
    page = data;
    words = { observed: "observed rate", ...Object.fromEntries(page.versions.map(({ name, title }) => [name, title])) };
    state = { group: 0, panel: 0, shown: new Set(Object.keys(words)), scale: "log", moved: {} };
    buildGroups(changed);
    buildStrategies();
    buildCurves();
    buildSliders();
    for (const input of document.querySelectorAll("input[name=scale]"))
      input.addEventListener("change", () => { state.scale = input.value; update(); });
    for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
    update();
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) > 1) { width = entry.contentRect.width; draw(view()); }
    }).observe(byId("chart").parentNode);
  }

  return { start, point, view: () => view() };
})();
