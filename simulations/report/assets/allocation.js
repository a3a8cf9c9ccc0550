/* Where the money went: mean pulls of every candidate, strategies next to each other. */
"use strict";
exml.allocation = (() => {
  const { make, byId, amount, fill } = exml.text;
  const NAME_LENGTH = 22;
  let page;
  let group;

  const short = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const budgets = () => [...new Set(group.panels.flatMap((panel) => panel.cells.map((cell) => cell.budget)))].sort((a, b) => a - b);

  /** One line per candidate: its name and the mean pulls by strategy, null where a strategy has no such cell. */
  function lines(budget) {
    const cells = group.panels.map((panel) => panel.cells.find((cell) => cell.budget === budget));
    return group.arms.map((name, i) => ({ name, pulls: cells.map((cell) => (cell ? cell.pulls[i] : null)) }));
  }

  function draw() {
    const data = lines(Number(byId("allocation-budget").value));
    const series = group.panels.length;
    const svg = d3.select("#allocation-chart");
    const width = Math.max(svg.node().parentNode.clientWidth, 260);
    const most = width < 520 ? 12 : NAME_LENGTH;
    const left = 16 + 7 * d3.max(data, (line) => Math.min(line.name.length, most));
    const row = 12 * series + 14;
    const height = row * data.length + 34;
    svg.attr("viewBox", `0 0 ${width} ${height}`).selectAll("*").remove();
    const top = d3.max(data, (line) => d3.max(line.pulls)) || 1;
    const x = d3.scaleLinear([0, top], [left, width - 64]).nice(4);
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${row * data.length + 4})`).call(d3.axisBottom(x).ticks(4).tickFormat(d3.format(",")));
    const rows = svg.append("g").selectAll("g").data(data).join("g").attr("transform", (_, i) => `translate(0,${i * row + 6})`);
    rows.append("text").attr("x", left - 8).attr("y", 6 * series + 4).attr("text-anchor", "end").text((line) => short(line.name, most));
    rows.append("title").text((line) => line.name);
    rows.each(function bars(line) {
      line.pulls.forEach((value, i) => {
        if (value === null) return;
        const bar = d3.select(this);
        bar.append("rect").attr("x", left).attr("y", 12 * i).attr("height", 10).attr("width", x(value) - left)
          .style("fill", `var(--series-${i % 6})`);
        bar.append("text").attr("x", x(value) + 5).attr("y", 12 * i + 9).style("font-size", "11px").text(amount(Number(value.toPrecision(5))));
      });
    });
    describe(data);
  }

  function describe(data) {
    const words = `Mean pulls per trial of each candidate on ${group.place}, budget ${amount(Number(byId("allocation-budget").value))}.`;
    byId("allocation-name").textContent = words;
    byId("allocation-table-name").textContent = words;
    const columns = [{ name: "candidate" }, ...group.panels.map((panel) => ({ name: panel.title, number: true }))];
    fill(byId("allocation-table"), columns, data.map((line) => [line.name, ...line.pulls.map((value) => (value === null ? "" : amount(value)))]));
  }

  /** Show another pool. */
  function show(index) {
    group = page.groups[index];
    const found = budgets();
    byId("allocation-budget").replaceChildren(...found.map((budget) => make("option", { text: amount(budget), attributes: { value: budget } })));
    byId("allocation-budget").value = found[Math.floor((found.length - 1) / 2)];
    byId("allocation-legend").replaceChildren(...group.panels.map((panel, i) => {
      const key = make("span", { class: "key", attributes: { "aria-hidden": "true" } });
      key.style.background = `var(--series-${i % 6})`;
      return make("li", {}, key, panel.title);
    }));
    draw();
  }

  function start(data) {
    page = data;
    byId("allocation-budget").addEventListener("change", draw);
    show(0);
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) > 1) { width = entry.contentRect.width; draw(); }
    }).observe(byId("allocation-chart").parentNode);
  }

  return { start, show };
})();
