/* The chart of failure rate against budget: draws a panel and its bounds, and answers to pointer and keyboard. */
"use strict";
exml.chart = (() => {
  const { byId, amount, bound, observed, make } = exml.text;
  const MARGIN = { top: 14, right: 14, bottom: 46, left: 68 };
  const CURVE_POINTS = 220;

  /** The class of a curve; a version without a colour of its own has the common one. */
  const styleOf = (version) => (["practice", "paper", "corrected", "tighter"].includes(version) ? version : "other");

  /** What the chart shows at a whole budget. */
  const atBudget = (view, budget) =>
    Object.fromEntries(view.versions.map((version) => [version, view.point ? view.logBound(version, budget) : NaN]));

  function axes(view, width, height) {
    const cells = view.panel.cells;
    const x = d3.scaleLog([view.low / 1.25, view.high * 1.25], [MARGIN.left, width - MARGIN.right]);
    if (view.scale === "linear") return { x, y: d3.scaleLinear([0, 1], [height - MARGIN.bottom, MARGIN.top]) };
    const seen = cells.map((cell) => (cell.rate > 0 ? cell.rate : cell.upper)).filter((rate) => rate > 0);
    const floor = 10 ** Math.floor(Math.log10(Math.min(1e-3, ...seen.map((rate) => rate / 1.5))));
    return { x, y: d3.scaleLog([floor, 1.4], [height - MARGIN.bottom, MARGIN.top]).clamp(true) };
  }

  /** Powers of ten; 1, 2 and 5 times powers of ten where those are fewer than three; else round numbers. */
  function budgetTicks(low, high) {
    const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    const within = (steps) => powers.flatMap((k) => steps.map((step) => step * 10 ** k)).filter((B) => B >= low && B <= high);
    return [within([1]), within([1, 2, 5])].find((found) => found.length >= 3) || d3.ticks(low, high, 5);
  }

  /** 0.001, but 1e-5: a row of zeros would run into the title of the axis. */
  const probabilityLabel = (value) => d3.format(value < 9e-4 ? "~e" : "~g")(value).replace("\u2212", "-");

  function drawAxes(svg, x, y, width, height, view) {
    // One label per power of ten, or per several where they would touch.
    const ticks = view.scale === "log" ? Math.min(Math.ceil(-Math.log10(y.domain()[0])), 12) : 5;
    const yAxis = d3.axisLeft(y).ticks(ticks, view.scale === "log" ? probabilityLabel : "~%");
    const budgets = budgetTicks(...x.domain());
    const room = width < 520 ? budgets.filter((_, i) => budgets.length < 5 || i % 2 === 0) : budgets;
    const xAxis = d3.axisBottom(x).tickValues(room).tickFormat(d3.format(",.10~g"));
    const grid = svg.append("g").attr("class", "grid").attr("aria-hidden", "true");
    grid.selectAll("line").data(y.ticks(ticks)).join("line").attr("x1", MARGIN.left).attr("x2", width - MARGIN.right)
      .attr("y1", y).attr("y2", y);
    const bottom = svg.append("g").attr("class", "axis").attr("aria-hidden", "true");
    bottom.attr("transform", `translate(0,${height - MARGIN.bottom})`).call(xAxis);
    svg.append("g").attr("class", "axis").attr("aria-hidden", "true").attr("transform", `translate(${MARGIN.left},0)`).call(yAxis);
    svg.append("text").attr("class", "soft").attr("aria-hidden", "true").attr("x", (MARGIN.left + width - MARGIN.right) / 2)
      .attr("y", height - 6).attr("text-anchor", "middle").text(view.point ? "budget (pulls)" : "budget");
    svg.append("text").attr("class", "soft").attr("aria-hidden", "true").attr("text-anchor", "middle")
      .attr("transform", `translate(13,${(height - MARGIN.bottom + MARGIN.top) / 2}) rotate(-90)`).text("probability of a miss");
  }

  function drawBound(svg, version, view, x, y, height) {
    const from = view.needs[version].informative;
    const [first, last] = x.domain();
    const edge = Number.isNaN(from) ? last : Math.min(Math.max(from, first), last);
    svg.append("rect").attr("class", "zone").attr("x", x(first)).attr("width", x(edge) - x(first))
      .attr("y", MARGIN.top).attr("height", height - MARGIN.bottom - MARGIN.top);
    if (Number.isNaN(from) || from > last) return;
    const start = Math.max(from, Math.ceil(first));
    const steps = d3.range(CURVE_POINTS).map((i) => Math.floor(start * (last / start) ** (i / (CURVE_POINTS - 1))));
    const line = d3.line().defined((B) => Number.isFinite(view.logBound(version, B))).x((B) => x(B)).y((B) => y(Math.exp(view.logBound(version, B))));
    const floor = y.domain()[0];
    const shown = view.scale === "linear" ? steps
      : steps.filter((B, i) => i === 0 || Math.exp(view.logBound(version, steps[i - 1])) > floor);
    svg.append("path").attr("class", `curve ${styleOf(version)}`).attr("data-level", version).attr("d", line(shown));
    const launch = view.needs[version].launch;
    if (launch >= first && launch <= last)
      svg.append("line").attr("class", `launch ${styleOf(version)}`).attr("x1", x(launch)).attr("x2", x(launch))
        // The corrected statement often launches where the paper's does: the marks stand below each other.
        .attr("y1", MARGIN.top + (version === "paper" ? 5 : -5)).attr("y2", MARGIN.top + (version === "paper" ? 14 : 4));
  }

  function drawCells(svg, view, x, y) {
    const cells = view.panel.cells;
    const seen = cells.filter((cell) => cell.rate > 0);
    const low = (cell) => y(view.scale === "log" ? Math.max(cell.lower, y.domain()[0]) : cell.lower);
    svg.append("path").attr("class", "band").attr("d", d3.area().x((c) => x(c.budget)).y0(low).y1((c) => y(c.upper))(seen));
    svg.append("path").attr("class", "observed practice").attr("d", d3.line().x((c) => x(c.budget)).y((c) => y(c.rate))(seen))
      .style("fill", "none");
    svg.append("g").selectAll("line").data(seen).join("line").attr("class", "whisker")
      .attr("x1", (c) => x(c.budget)).attr("x2", (c) => x(c.budget)).attr("y1", low).attr("y2", (c) => y(c.upper));
    const disc = d3.symbol(d3.symbolCircle, 62)();
    const limit = "M-6,-4L6,-4L0,6Z";
    const marks = svg.append("g").selectAll("path").data(cells).join("path");
    marks.attr("class", (c) => `mark practice${c.rate > 0 ? "" : " limit"}`).attr("d", (c) => (c.rate > 0 ? disc : limit))
      .attr("transform", (c) => `translate(${x(c.budget)},${y(c.rate > 0 ? c.rate : c.upper)})`)
      .attr("role", "img").attr("tabindex", (_, i) => (i === 0 ? 0 : -1)).attr("aria-label", (c) => sentence(view, c));
    return marks;
  }

  /** The lines of the tip, and of a point's label. */
  function lines(view, budget, cell) {
    const found = [["budget", amount(budget)]];
    if (cell) found.push(["observed", observed(cell, view.confidence)]);
    if (view.point) for (const [version, value] of Object.entries(atBudget(view, Math.floor(budget)))) found.push([`${version} bound`, bound(value)]);
    return found;
  }

  const sentence = (view, cell) => lines(view, cell.budget, cell).map(([name, value]) => `${name} ${value}`).join("; ");

  function showTip(svg, view, budget, cell, left, top) {
    const tip = byId("tip");
    tip.replaceChildren(...lines(view, budget, cell).map(([name, value]) => {
      const line = make("p");
      line.append(make("strong", { text: `${name}: ` }), value);
      return line;
    }));
    tip.hidden = false;
    const box = svg.node().getBoundingClientRect();
    const width = tip.offsetWidth;
    const place = left + 16 + width > box.width ? Math.max(left - width - 16, 0) : left + 16;
    tip.style.left = `${place}px`;
    tip.style.top = `${Math.max(top - tip.offsetHeight - 10, 0)}px`;
  }

  const hideTip = () => { byId("tip").hidden = true; };

  function listen(svg, marks, view, x, y, width, height) {
    const cross = svg.append("line").attr("class", "cross").attr("y1", MARGIN.top).attr("y2", height - MARGIN.bottom).style("display", "none");
    const at = (cell) => [x(cell.budget), y(cell.rate > 0 ? cell.rate : cell.upper)];
    const leave = () => { hideTip(); cross.style("display", "none"); marks.classed("on", false); };
    svg.on("pointermove pointerdown", (event) => {
      const [left, top] = d3.pointer(event);
      if (left < MARGIN.left || left > width - MARGIN.right) { leave(); return; }
      const near = d3.least(view.panel.cells, (cell) => Math.hypot(at(cell)[0] - left, at(cell)[1] - top));
      const close = near && Math.hypot(at(near)[0] - left, at(near)[1] - top) < 26 ? near : null;
      const budget = close ? close.budget : Math.max(1, Math.round(x.invert(left)));
      cross.style("display", null).attr("x1", x(budget)).attr("x2", x(budget));
      marks.classed("on", (cell) => cell === close);
      showTip(svg, view, budget, close, x(budget), top);
    });
    svg.on("pointerleave", leave);
    marks.on("focus", (event, cell) => showTip(svg, view, cell.budget, cell, ...at(cell)));
    marks.on("blur", leave);
    marks.on("keydown", (event) => {
      const nodes = marks.nodes();
      const here = nodes.indexOf(event.currentTarget);
      const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: nodes.length - 1 }[event.key];
      if (event.key === "Escape") leave();
      if (next === undefined || !nodes[next]) return;
      event.preventDefault();
      nodes[here].setAttribute("tabindex", -1);
      nodes[next].setAttribute("tabindex", 0);
      nodes[next].focus();
    });
  }

  /** Draw everything anew. */
  function draw(view) {
    const svg = d3.select("#chart");
    const width = Math.max(svg.node().parentNode.clientWidth, 280);
    const height = Math.round(Math.min(Math.max(width * 0.5, 300), 460));
    svg.attr("viewBox", `0 0 ${width} ${height}`).selectAll("*").remove();
    const { x, y } = axes(view, width, height);
    drawAxes(svg, x, y, width, height, view);
    if (view.point) for (const version of view.versions) if (view.shown.has(version)) drawBound(svg, version, view, x, y, height);
    svg.append("line").attr("class", "target").attr("x1", MARGIN.left).attr("x2", width - MARGIN.right)
      .attr("y1", y(view.target)).attr("y2", y(view.target));
    hideTip();
    if (!view.shown.has("observed")) { listen(svg, svg.selectAll(".none"), { ...view, panel: { cells: [] } }, x, y, width, height); return; }
    listen(svg, drawCells(svg, view, x, y), view, x, y, width, height);
  }

  return { draw, styleOf };
})();
