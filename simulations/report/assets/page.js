/* Start the charts from the page's data. */
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("page").textContent);
  exml.explorer.start(page, exml.allocation.show);
  exml.allocation.start(page);

  // On paper nothing can be opened: what matters is open before printing, and as it was afterwards.
  const folded = () => [...document.querySelectorAll("details.print")];
  let closed = [];
  addEventListener("beforeprint", () => { closed = folded().filter((part) => !part.open); closed.forEach((part) => { part.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
  document.documentElement.dataset.ready = "yes";
})();
