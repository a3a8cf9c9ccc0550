(longest) => {
  const problems = [], boxes = [];
  const isVisible = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !node.closest(".meaning, script, style, title, .skip");
  const scrolls = (node) => node.closest(".scroll, .formula, pre");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, text = node.textContent;
    if (!text.trim() || !isVisible(parent) || parent.closest("math")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const svg = parent.closest("svg"), frame = svg ? svg.getBoundingClientRect() : { left: 0, right: innerWidth };
    for (const box of range.getClientRects()) {
      if (box.width < 1 || scrolls(parent)) continue;
      if (box.left < (svg ? frame.left - 1 : -1) || box.right > (svg ? frame.right + 1 : innerWidth + 1)) problems.push(`clipped: ${text.trim().slice(0, 60)}`);
      if (svg && (box.top < frame.top - 1 || box.bottom > frame.bottom + 1)) problems.push(`clipped: ${text.trim().slice(0, 60)}`);
      boxes.push({ node, left: box.left, right: box.right, top: box.top, bottom: box.bottom, text: text.trim().slice(0, 40) });
    }
    for (const match of text.matchAll(/(?<=^|[\s\-])[A-Za-z]+(?=[.,:;]?(\s|-|$))/g)) {
      if (match[0].length > longest || parent.closest("code, pre, dd, svg")) continue;
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const tops = new Set([...range.getClientRects()].filter((box) => box.width > 1).map((box) => Math.round(box.top)));
      if (tops.size > 1) problems.push(`broken word: ${match[0]}`);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (const b of boxes.slice(i + 1)) {
      if (b.top > a.bottom) break;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (a.node !== b.node && wide > 2 && high > 4) problems.push(`overlap: ${a.text} | ${b.text}`);
    }
  });
  if (document.documentElement.scrollWidth > innerWidth) problems.push(`page is ${document.documentElement.scrollWidth} wide`);
  return problems;
}
