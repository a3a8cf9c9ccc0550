/* Small helpers. Everything that a user may have named goes through `textContent`: text, never markup. */
"use strict";
exml.text = (() => {
  /** A new element with a class and a text. */
  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    if (options.class) element.className = options.class;
    if (options.text !== undefined) element.textContent = options.text;
    for (const [name, value] of Object.entries(options.attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const byId = (id) => document.getElementById(id);
  const whole = (value) => d3.format(",.0f")(value);

  function amount(value) {
    if (value === null || Number.isNaN(value)) return "never";
    return Number.isInteger(value) ? whole(value) : d3.format(",.4~g")(value);
  }

  /** A probability to three digits, in words that a reader can check. */
  function probability(value) {
    if (value === 0) return "0";
    if (value >= 0.001) return d3.format(".3~g")(value);
    return d3.format(".2e")(value);
  }

  /** A bound from its logarithm. */
  function bound(logValue) {
    if (Number.isNaN(logValue)) return "says nothing (conditions not met)";
    if (logValue >= 0) return `vacuous (${logValue > 700 ? "over 1e300" : probability(Math.exp(logValue))})`;
    if (logValue > -700) return probability(Math.exp(logValue));
    return `10^${d3.format(".0f")(logValue / Math.LN10)}`;
  }

  /** What the trials of a cell say: no failure seen is an upper limit, never 0. */
  function observed(cell, confidence) {
    const level = d3.format(".0~%")(confidence);
    if (cell.interval === "exact") return `${probability(cell.rate)} exactly`;
    const trials = `${whole(cell.trials)} trials`;
    if (cell.failures === 0) return `below ${probability(cell.upper)} (no failure in ${trials}, ${level})`;
    const range = `${probability(cell.lower)} to ${probability(cell.upper)}`;
    const weighted = ["student", "bounded weights"].includes(cell.interval);
    const counted = weighted ? `${trials}, weighted` : `${whole(cell.failures)} of ${trials}`;
    return `${probability(cell.rate)} (${counted}; ${level} ${range})`;
  }

  /** Fill a table: columns are {name, number, wide}, rows lists of texts or elements. */
  function fill(table, columns, rows) {
    const shape = (cell, column) => {
      if (column.number) cell.classList.add("number");
      if (column.wide) cell.classList.add("wide");
      return cell;
    };
    const head = make("tr");
    for (const column of columns) head.append(shape(make("th", { text: column.name, attributes: { scope: "col" } }), column));
    table.tHead.replaceChildren(head);
    const lines = rows.map((row) => {
      const line = make("tr");
      row.forEach((value, i) => {
        const isElement = value instanceof Node;
        const cell = i === 0 ? make("th", { attributes: { scope: "row" } }) : make("td");
        if (isElement) cell.append(value);
        else cell.textContent = value;
        line.append(shape(cell, columns[i]));
      });
      return line;
    });
    table.tBodies[0].replaceChildren(...lines);
  }

  const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  return { make, byId, whole, amount, probability, bound, observed, fill, sentenceCase };
})();
