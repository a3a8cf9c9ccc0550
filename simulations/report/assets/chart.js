/* The interactive chart. Names are written by textContent only.

   A chart is plain data: x and y (label, log, ends), line (a horizontal guide or null), colours and dashes (the two
   dimensions of the legend), styles (of the dashes: d0 has marks, d1 to d6 are lines, lower and lower2 are dotted, star has
   stars) and series. A series has a colour (null if it belongs to all), a dash and points [x, y, low, high, isLimit]. With
   spread, marks at equal places stand next to each other. */
"use strict";
globalThis.exml = globalThis.exml || {};
exml.chart = (() => {
  const LEFT = 58, RIGHT = 14, TOP = 10, BOTTOM = 44, COLOURS = 8, SPREAD = 5, NEAR = 30, ZOOM = 0.25;
  const MARKS = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z", "M-3.6,-3.6h7.2v7.2h-7.2Z", "M0,-4.8L4.6,3.6H-4.6Z", "M0,-5L5,0L0,5L-5,0Z",
    "M-4.5,-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3Z", "M0,-5L4.3,-2.5V2.5L0,5L-4.3,2.5V-2.5Z"];
  const STAR = "M0,-7.5L1.8,-2.4H7.2L2.9,0.9L4.5,6L0,2.9L-4.5,6L-2.9,0.9L-7.2,-2.4H-1.8Z";
  const LIMIT = "M-4.6,-3.6H4.6L0,4.8Z";

  function make(tag, attributes = {}, ...children) {
    const isSvg = ["svg", "g", "path", "text", "rect", "title"].includes(tag);
    const element = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const place = (axis, value) => (axis.log ? Math.log10(value) : value);
  const value = (axis, position) => (axis.log ? 10 ** position : position);

  function makeScale(axis, start, stop) {
    const [low, high] = axis.ends.map((end) => place(axis, end));
    const scale = (x) => (axis.log && x <= 0 ? (start > stop ? start : stop) + 9 : start + ((stop - start) * (place(axis, x) - low)) / (high - low));
    scale.invert = (pixel) => value(axis, low + ((high - low) * (pixel - start)) / (stop - start));
    return scale;
  }

  function listTicks({ log, ends: [low, high] }, most) {
    const linear = () => {
      let step = 10 ** Math.floor(Math.log10((high - low) / most));
      step *= [1, 2, 5, 10].find((factor) => (high - low) / (factor * step) <= most);
      const ticks = [];
      for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k += 1) ticks.push(Number((step * k).toPrecision(12)));
      return ticks;
    };
    if (!log) return linear();
    let ticks = [];
    for (const factors of [[1], [1, 2, 5]]) {
      ticks = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
        for (const factor of factors) ticks.push(Number(`${factor}e${power}`));
      ticks = ticks.filter((tick) => low <= 1.001 * tick && tick <= 1.001 * high);
      if (ticks.length >= 3) break;
    }
    if (ticks.length < 2) return linear();
    const every = Math.ceil(ticks.length / most);
    return ticks.filter((_, i) => (ticks.length - 1 - i) % every === 0);
  }

  const formatTick = (x) => (x > 0 && x < 9e-4 ? x.toExponential(0) : x.toLocaleString("en", { maximumSignificantDigits: 10 }));
  const path = (points) => `M${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L")}`;

  const picture = (kind, [left, top, width, height], drawn) => make("svg", { class: `key ${kind}`, "aria-hidden": "true", width, height, viewBox: `${left} ${top} ${width} ${height}` }, make("path", drawn));
  const entry = (kind, i, name, svg) => make("li", { [`data-${kind}`]: i }, svg, make("span", {}, name));

  /** Entries of a legend: a mark per colour, a line or star per dash. */
  const listColours = (chart) => chart.colours.map((name, i) => entry("colour", i, name, picture(`c${i % COLOURS}`, [-7, -7, 14, 14], { class: "mark", d: MARKS[i % MARKS.length] })));
  const listDashes = (chart) => chart.dashes.map((name, i) => entry("dash", i, name, chart.styles[i] === "star" ? picture("plain", [-8, -8, 16, 16], { class: "mark", d: STAR })
    : picture("plain", [0, 0, 30, 14], { class: `curve ${chart.styles[i]}`, d: "M0,7H30" })));

  /** Show a chart in a figure of the page; returns a function that shows another one. A figure without controls is small. */
  function show(figure, first) {
    const plot = figure.querySelector(".plot");
    const controls = figure.querySelector(".controls");
    let chart, view, hidden, svg, x, y, marks;
    const tip = make("div", { class: "tip", hidden: "" });
    const key = (kind, i) => `${kind}${i}`;
    const isShown = (series) => !hidden.has(key("colour", series.colour)) && !hidden.has(key("dash", series.dash));

    function draw() {
      const width = Math.max(plot.clientWidth, 280), height = controls ? Math.round(Math.min(Math.max(width * 0.442, 320), 440)) : 230;
      x = makeScale(view.x, LEFT, width - RIGHT);
      y = makeScale(view.y, height - BOTTOM, TOP);
      svg = make("svg", { class: "chart", role: "group", "aria-label": chart.label, viewBox: `0 0 ${width} ${height}`, width, height });
      drawAxes(width, height);
      // An inner SVG element clips what a zoom leaves outside.
      const inner = make("svg", { x: LEFT, y: TOP - 6, width: width - LEFT - RIGHT, height: height - TOP - BOTTOM + 6, viewBox: `${LEFT} ${TOP - 6} ${width - LEFT - RIGHT} ${height - TOP - BOTTOM + 6}` });
      if (chart.line) inner.append(make("path", { class: "target", d: `M${LEFT},${y(chart.line.at)}H${width - RIGHT}` }));
      marks = [];
      for (const series of chart.series.filter(isShown)) inner.append(drawSeries(series));
      svg.append(inner);
      listen(inner, width, height);
      tip.hidden = true;
      plot.replaceChildren(svg, tip);
      if (marks.length) marks[0].node.setAttribute("tabindex", 0);
    }

    function drawAxes(width, height) {
      const base = height - BOTTOM;
      const text = (left, top, anchor, words) => make("text", { x: left, y: top, "text-anchor": anchor }, words);
      const axes = make("g", { class: "axis", "aria-hidden": "true" }, make("path", { d: `M${LEFT},${TOP}V${base}H${width - RIGHT}` }));
      for (const tick of listTicks(view.y, Math.max(Math.floor(height / 48), 2)))
        axes.append(make("path", { class: "grid", d: `M${LEFT},${y(tick)}H${width - RIGHT}` }), text(LEFT - 7, y(tick) + 4, "end", formatTick(tick)));
      for (const tick of listTicks(view.x, Math.max(Math.floor(width / 90), 2)))
        axes.append(make("path", { d: `M${x(tick)},${base}v5` }), text(Math.min(x(tick), width - 3.6 * formatTick(tick).length), base + 18, "middle", formatTick(tick)));
      axes.append(text((LEFT + width - RIGHT) / 2, height - 8, "middle", view.x.label));
      axes.append(make("text", { transform: `translate(12,${(TOP + base) / 2}) rotate(-90)`, "text-anchor": "middle" }, view.y.label));
      svg.append(axes);
    }

    /** Marks of series at equal places stand next to each other where the chart says so. */
    const across = (series) => (at) => x(at) + (chart.spread ? SPREAD * (series.colour - (chart.colours.length - 1) / 2) : 0);

    function drawSeries(series) {
      const x = across(series);
      const group = make("g", { class: series.colour === null ? "plain" : `c${series.colour % COLOURS}`, "data-colour": series.colour, "data-dash": series.dash });
      const seen = series.points.filter((point) => !point[4]);
      const kind = chart.styles[series.dash];
      if (kind === "d0")
        for (const [at, , low, high] of seen) if (low !== null) group.append(make("path", { class: "whisker", d: `M${x(at)},${y(low)}V${y(high)}` }));
      const isStar = kind === "star";
      if (!isStar) group.append(make("path", { class: `curve ${kind}`, d: seen.length ? path(seen.map(([at, rate]) => [x(at), y(rate)])) : "" }));
      if (kind !== "d0" && !isStar) return group;
      series.points.forEach(([at, rate, , , isLimit], i) => {
        const node = make("path", { class: isLimit ? "mark limit" : "mark", d: isStar ? STAR : isLimit ? LIMIT : MARKS[series.colour % MARKS.length], transform: `translate(${x(at)},${y(rate)})`,
          role: "img", tabindex: -1, "aria-label": lines(series, i).join("; ") });
        group.append(node);
        marks.push({ node, series, i, at: [x(at), y(rate)] });
      });
      return group;
    }

    const lines = (series, i) => [`${series.colour === null ? "" : `${chart.colours[series.colour]}, `}${view.x.label.replace(/ \(.*/, "")} ${formatTick(series.points[i][0])}`, ...(series.texts ? series.texts[i] : [])];

    function showTip(words, left, top) {
      tip.replaceChildren(...words.map((text) => make("p", {}, text)));
      tip.hidden = false;
      const room = svg.clientWidth - tip.offsetWidth;
      tip.style.left = `${Math.max(left + 14 > room ? Math.min(left - tip.offsetWidth - 14, room) : left + 14, 0)}px`;
      tip.style.top = `${Math.max(top - tip.offsetHeight - 8, 0)}px`;
    }

    /** Emphasise one colour or dash in chart and legend; nothing to end it. */
    function emphasise(kind, i) {
      for (const node of figure.querySelectorAll(`g[data-${kind || "colour"}]`)) node.classList.toggle("dim", kind !== undefined && Number(node.dataset[kind]) !== i);
    }

    function nearest([left, top]) {
      let best = null;
      for (const series of chart.series.filter(isShown)) {
        const x = across(series);
        series.points.forEach(([at, rate], i) => {
          const distance = Math.hypot(x(at) - left, y(rate) - top) - (series.dash === 0 ? 6 : 0);
          if (distance < NEAR && (!best || distance < best.distance)) best = { distance, series, i, at: [x(at), y(rate)] };
        });
      }
      return best;
    }

    const pointer = (event) => { const box = svg.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

    function listen(inner, width, height) {
      let start = null;
      const box = make("rect", { class: "box" });
      const clear = () => { tip.hidden = true; for (const mark of marks) mark.node.classList.remove("on"); };
      svg.addEventListener("pointermove", (event) => {
        const at = pointer(event);
        if (start) {
          const [left, right] = [start[0], at[0]].sort((a, b) => a - b), [top, bottom] = [start[1], at[1]].sort((a, b) => a - b);
          for (const [name, length] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) box.setAttribute(name, length);
          inner.append(box);
          return;
        }
        clear();
        const near = nearest(at);
        if (!near) return;
        for (const mark of marks) mark.node.classList.toggle("on", mark.series === near.series && mark.i === near.i);
        const { series, i } = near, point = series.points[i];
        showTip(series.texts ? lines(series, i) : [...lines(series, i), `${chart.dashes[series.dash]} ${Number(point[1].toPrecision(3))}`], ...near.at);
      });
      svg.addEventListener("pointerleave", () => { clear(); box.remove(); start = null; });
      svg.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0) { start = pointer(event); event.preventDefault(); } });
      svg.addEventListener("pointerup", (event) => {
        const from = start, to = pointer(event);
        start = null;
        box.remove();
        if (!from || Math.abs(from[0] - to[0]) < 12 || Math.abs(from[1] - to[1]) < 12) return;
        const limit = ([low, high], a, b) => [Math.min(Math.max(a, low), high), Math.min(Math.max(b, low), high)].sort((p, q) => p - q);
        view.x.ends = limit(view.x.ends, x.invert(from[0]), x.invert(to[0]));
        view.y.ends = limit(view.y.ends, y.invert(from[1]), y.invert(to[1]));
        draw();
      });
      svg.addEventListener("dblclick", reset);
      for (const mark of marks) {
        mark.node.addEventListener("focus", () => showTip(lines(mark.series, mark.i), ...mark.at));
        mark.node.addEventListener("blur", clear);
      }
      svg.addEventListener("keydown", (event) => {
        if (event.key === "Escape") clear();
        const here = marks.findIndex((mark) => mark.node === event.target);
        const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: marks.length - 1 }[event.key];
        if (here < 0 || next === undefined || !marks[next]) return;
        event.preventDefault();
        marks[here].node.setAttribute("tabindex", -1);
        marks[next].node.setAttribute("tabindex", 0);
        marks[next].node.focus();
      });
    }

    function zoom(factor) {
      for (const axis of [view.x, view.y]) {
        const [low, high] = axis.ends.map((end) => place(axis, end));
        axis.ends = [value(axis, low + factor * (high - low)), value(axis, high - factor * (high - low))];
      }
      draw();
    }

    function reset() {
      const isLog = !view || view.y.log;
      view = { x: { ...chart.x, ends: [...chart.x.ends] }, y: { ...chart.y, ends: [...chart.y.ends] } };
      if (!isLog && chart.y.log) setScale(false);
      else draw();
    }

    function setScale(isLog) {
      view.y = isLog ? { ...chart.y, ends: [...chart.y.ends] } : { ...chart.y, log: false, ends: [0, 1] };
      draw();
    }

    function buildControls() {
      const button = (words, act, attributes = {}) => { const node = make("button", { type: "button", ...attributes }, words); node.addEventListener("click", () => act(node)); return node; };
      const items = [];
      if (chart.y.log) items.push(button("Linear axis", (node) => { const isLinear = node.getAttribute("aria-pressed") !== "true"; node.setAttribute("aria-pressed", isLinear); setScale(!isLinear); }, { "aria-pressed": "false" }));
      if (chart.dashes.length > 1)
        items.push(button("Bounds", (node) => {
          const isShown = node.getAttribute("aria-pressed") !== "true";
          node.setAttribute("aria-pressed", isShown);
          for (const entry of figure.querySelectorAll("[data-dash] > button")) if (entry.parentNode.dataset.dash !== "0" && (entry.getAttribute("aria-pressed") === "true") !== isShown) entry.click();
        }, { "aria-pressed": "true" }));
      items.push(button("Zoom in", () => zoom(ZOOM / 2)), button("Zoom out", () => zoom(-ZOOM / 2)), button("Reset", reset), make("span", { class: "gap" }));
      for (const kind of ["PNG", "SVG", "CSV"]) items.push(button(kind, () => exml.download(kind, svg, chart), { "aria-label": `Download ${kind}` }));
      controls.replaceChildren(...items);
      controls.hidden = false;
    }

    function buildLegend() {
      figure.querySelector(".legend").replaceChildren(...listColours(chart), ...(chart.dashes.length > 1 ? listDashes(chart) : []));
      for (const item of figure.querySelectorAll(".legend li")) {
        const kind = item.dataset.colour === undefined ? "dash" : "colour", i = Number(item.dataset[kind]);
        const button = make("button", { type: "button", "aria-pressed": "true" }, ...item.childNodes);
        button.addEventListener("click", () => {
          const isShown = button.getAttribute("aria-pressed") !== "true";
          button.setAttribute("aria-pressed", isShown);
          hidden[isShown ? "delete" : "add"](key(kind, i));
          draw();
        });
        for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => emphasise(kind, i));
        for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => emphasise());
        item.replaceChildren(button);
      }
    }

    function start(next) {
      chart = next;
      hidden = new Set();
      view = undefined;
      if (controls) {
        buildLegend();
        buildControls();
      }
      reset();
    }

    start(first);
    let width = plot.clientWidth;
    new ResizeObserver(() => { if (Math.abs(plot.clientWidth - width) > 1) { width = plot.clientWidth; draw(); } }).observe(plot);
    return start;
  }

  return { show, make, listColours, listTicks };
})();

/** Save a file that the page made. */
exml.save = (address, name) => exml.chart.make("a", { href: address, download: name }).click();

/** Save a table; a text that a spreadsheet would execute gets an apostrophe in front. */
exml.saveCsv = (rows, name) => {
  const quote = (value) => (typeof value === "number" ? value : `"${String(value).replace(/^([=+\-@\t\r])/, "'$1").replaceAll('"', '""')}"`);
  exml.save(`data:text/csv;charset=utf-8,${encodeURIComponent(rows.map((row) => `${row.map(quote).join(",")}\n`).join(""))}`, name);
};

/** Save a chart: as a picture with its colours written out, or as a table of its points. */
exml.download = (kind, svg, chart) => {
  if (kind === "CSV") {
    const rows = chart.series.flatMap((series) => series.points.map(([x, y, low, high, isLimit]) =>
      [series.colour === null ? "all" : chart.colours[series.colour], chart.dashes[series.dash], x, y, low ?? "", high ?? "", isLimit ? 1 : 0]));
    exml.saveCsv([["series", "quantity", "x", "y", "lower", "upper", "upper_limit_only"], ...rows], "chart.csv");
    return;
  }
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family"];
  from.forEach((node, i) => { const style = getComputedStyle(node); for (const name of PROPERTIES) to[i].setAttribute(name, style.getPropertyValue(name)); });
  copy.prepend(exml.chart.make("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }));
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  if (kind === "SVG") { exml.save(address, "chart.svg"); return; }
  const image = new Image();
  image.onload = () => {
    const canvas = exml.chart.make("canvas", { width: 2 * svg.clientWidth, height: 2 * svg.clientHeight });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    exml.save(canvas.toDataURL("image/png"), "chart.png");
  };
  image.src = address;
};
