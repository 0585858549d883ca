"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (name, kind, text) => {
    const node = document.createElement(name);
    if (kind) node.className = kind;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const took = (s) => (s >= 60 ? Math.floor(s / 60) + " min " + Math.round(s % 60) + " s" : s >= 1 ? s.toFixed(1) + " s" : Math.round(s * 1000) + " ms");

  const text = (body) => {
    const box = make("pre");
    box.tabIndex = 0;
    const isDiff = /^@@ /m.test(body);
    for (const row of body.replace(/\n+$/, "").split("\n")) {
      const kind = isDiff ? { "+": "add", "-": "del", "@": "hunk" }[row[0]] : "";
      box.append(kind ? make("span", kind, row) : row, "\n");
    }
    return box;
  };

  const state = (row, ms) => {
    const item = make("li", row.o);
    item.append(make("span", "word", row.w), " ", make("span", "", row.t), " ");
    const more = [row.s, ms ? took(ms / 1000) : ""].filter(Boolean).join(", ");
    if (more) item.append(make("span", "sub", more));
    if (row.b.length) item.append(make("div", "sub", "because of " + row.b.join(", ")));
    for (const body of row.x) {
      if (body.split("\n").length <= 30) {
        item.append(text(body));
        continue;
      }
      const folded = make("details");
      folded.append(make("summary", "sub", body.split("\n").length + " lines"));
      folded.addEventListener("toggle", () => folded.childElementCount > 1 || folded.append(text(body)));
      item.append(folded);
    }
    return item;
  };

  const timeline = (phases) => {
    const all = phases.reduce((sum, [, s]) => sum + s, 0);
    const box = make("div", "bar");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", "Time: " + phases.map(([name, s]) => name + " " + took(s)).join(", "));
    for (const [name, s] of phases) {
      const part = make("div");
      part.style.width = (100 * s) / all + "%";
      part.title = name + " " + took(s);
      box.append(part);
    }
    return box;
  };

  const failedPath = (rows) => {
    const bad = rows.filter((row) => row.o === "failed" || row.b.length);
    if (!rows.some((row) => row.b.length)) return null;
    const box = make("div");
    box.append(make("h3", "", "What depends on what"));
    const list = make("ol", bad.some((row) => row.o === "failed") ? "path bad" : "path");
    for (const row of bad) {
      const after = rows.filter((other) => other.b.includes(row.k));
      if (!after.length) continue;
      const item = make("li", row.o);
      item.append(make("span", "word", row.w), " ", row.t);
      const below = make("ol");
      for (const other of after) {
        const line = make("li", other.o);
        line.append(make("span", "word", other.w), " ", other.t);
        below.append(line);
      }
      item.append(below);
      list.append(item);
    }
    box.append(list);
    return list.childElementCount ? box : null;
  };

  const inside = (target) => {
    const body = data.bodies[target.body];
    const box = make("div", "inside");
    for (const warning of target.warnings) box.append(make("p", "sub", "Warning: " + warning));
    if (target.phases.length) {
      box.append(timeline(target.phases));
      box.append(make("p", "sub", target.phases.map(([name, s]) => name + " " + took(s)).join(" · ")));
    }
    const graph = failedPath(body);
    if (graph) box.append(graph);
    const list = make("ol");
    const calm = [];
    body.forEach((row, at) => {
      if (row.o === "unchanged" || row.o === "passed") calm.push([row, at]);
      else list.append(state(row, target.ms[at]));
    });
    if (list.childElementCount) box.append(list);
    if (calm.length) {
      const folded = make("details");
      if (!list.childElementCount && calm.length <= 20) folded.open = true;
      folded.append(make("summary", "", calm.length + " without change"));
      const rest = make("ol");
      for (const [row, at] of calm) rest.append(state(row, target.ms[at]));
      folded.append(rest);
      box.append(folded);
    }
    return box;
  };

  const main = document.getElementById("targets");
  const shown = [];
  for (const [outcome, word] of data.outcomes) {
    const found = data.targets.filter((target) => target.outcome === outcome);
    if (!found.length) continue;
    const section = make("section");
    const head = make("h2", "", "");
    section.append(head);
    for (const target of found) {
      const node = make("details", "target " + target.kind);
      const line = make("summary");
      line.append(make("b", "", target.id), make("span", "word", word), make("span", "", target.note));
      if (target.time) line.append(make("span", "end", took(target.time)));
      node.append(line);
      const build = () => node.childElementCount > 1 || node.append(inside(target));
      node.addEventListener("toggle", build);
      section.append(node);
      shown.push({ node, target, section, build, head, word });
    }
    main.append(section);
  }

  const words = document.getElementById("words");
  const result = document.getElementById("result");
  for (const [outcome, word] of data.outcomes) {
    const count = data.targets.filter((target) => target.outcome === outcome).length;
    if (count) {
      const option = make("option", "", word + " (" + count + ")");
      option.value = outcome;
      result.append(option);
    }
  }
  const titles = data.bodies.map((body) => body.map((row) => row.t + " " + row.s + " " + row.w).join("\n").toLowerCase());
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const counts = new Map();
    for (const { node, target, section } of shown) {
      const place = target.id.toLowerCase() + "\n" + target.note.toLowerCase() + "\n" + titles[target.body];
      const fits = (!result.value || result.value === target.outcome) && wanted.every((word) => place.includes(word));
      node.hidden = !fits;
      counts.set(section, (counts.get(section) || 0) + (fits ? 1 : 0));
    }
    let all = 0;
    for (const { section, head, word } of shown) {
      head.textContent = word + " (" + counts.get(section) + ")";
      section.hidden = !counts.get(section);
    }
    for (const count of counts.values()) all += count;
    document.getElementById("count").textContent = all + " of " + data.targets.length + " shown";
  };
  words.addEventListener("input", filter);
  result.addEventListener("change", filter);
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("theme").addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const typing = /^(INPUT|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "Escape") {
      words.value = result.value = "";
      filter();
      words.blur();
    } else if (typing) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      words.focus();
    } else if (event.key === "j" || event.key === "k") {
      const rows = shown.filter(({ node }) => !node.hidden).map(({ node }) => node.firstElementChild);
      const at = rows.indexOf(document.activeElement);
      const next = event.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
      if (rows[next]) rows[next].focus();
    }
  });
  addEventListener("beforeprint", () => {
    const visible = shown.filter(({ node }) => !node.hidden);
    if (visible.length > 200) return;
    for (const { node, build } of visible) {
      build();
      node.open = true;
    }
  });
  filter();
  if (shown.length === 1) shown[0].node.open = true;
})();
