// What every page must have for people who use a keyboard or a screen reader; the rules are those of WCAG 2.1, AA, that a
// script can decide. Adds an element `violations` to the page: a JSON list.
"use strict";
(() => {
  const wrong = [];
  const report = (rule, node) => wrong.push(rule + ": " + (node ? node.outerHTML.slice(0, 120) : ""));
  const seen = (node) => node.getClientRects().length > 0;
  for (const node of document.querySelectorAll("details")) {
    node.dispatchEvent(new Event("toggle"));
    node.open = true;
  }
  for (const node of document.querySelectorAll("details details")) {
    node.dispatchEvent(new Event("toggle"));
    node.open = true;
  }

  if (!document.documentElement.lang) report("the page has a language");
  if (!document.title.trim()) report("the page has a title");
  if (document.querySelectorAll("main").length !== 1) report("there is one main");
  if (document.querySelectorAll("h1").length !== 1) report("there is one h1");

  let level = 0;
  for (const node of document.querySelectorAll("h1,h2,h3,h4")) {
    if (!seen(node)) continue;
    const now = Number(node.tagName[1]);
    if (now > level + 1) report("no level of headings is left out", node);
    if (!node.textContent.trim()) report("a heading has text", node);
    level = now;
  }
  for (const node of document.querySelectorAll("input,select,textarea"))
    if (!node.labels.length && !node.getAttribute("aria-label")) report("a field has a label", node);
  for (const node of document.querySelectorAll("button,a[href],summary"))
    if (!node.textContent.trim() && !node.getAttribute("aria-label")) report("what is pressed has a name", node);
  for (const node of document.querySelectorAll("[role=img]"))
    if (!node.getAttribute("aria-label")) report("a picture has a text", node);
  for (const node of document.querySelectorAll("ol,ul"))
    for (const child of node.children) if (child.tagName !== "LI") report("a list has items only", child);
  for (const node of document.querySelectorAll("dl"))
    for (const child of node.children) if (!/^(DT|DD|DIV)$/.test(child.tagName)) report("a dl has dt and dd only", child);
  for (const node of document.querySelectorAll("[tabindex]"))
    if (node.tabIndex > 0) report("the order of the keyboard is that of the page", node);
  for (const node of document.querySelectorAll("pre"))
    if (node.scrollWidth > node.clientWidth && node.tabIndex < 0) report("what scrolls can be reached", node);
  const ids = new Set();
  for (const node of document.querySelectorAll("[id]")) {
    if (ids.has(node.id)) report("an id is there once", node);
    ids.add(node.id);
  }

  const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
  const light = (color) => {
    const [r, g, b] = numbers(color).map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const parts = numbers(color);
      if (parts.length < 4 || parts[3] === 1) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const told = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !seen(node) || /^(SCRIPT|STYLE|OPTION)$/.test(node.tagName)) continue;
    const [one, other] = [light(getComputedStyle(node).color), light(ground(node))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const key = node.className + getComputedStyle(node).color + ground(node);
    if (ratio < 4.5 && !told.has(key)) report("text has a contrast of 4.5, not " + ratio.toFixed(2), node);
    told.add(key);
  }
  const box = document.createElement("pre");
  box.id = "violations";
  box.textContent = JSON.stringify(wrong);
  document.body.append(box);
})();
