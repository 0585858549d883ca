"use strict";
(() => {
  const MOST = 50;
  const LONGEST = 300;
  const state = document.getElementById("state");
  let waiting = null;

  const cell = (text, name) => {
    const node = document.createElement("td");
    const inner = name ? node.appendChild(document.createElement(name)) : node;
    inner.textContent = text.length > LONGEST ? text.slice(0, LONGEST) + "…" : text;
    return node;
  };

  const show = (event) => {
    const body = document.querySelector("#events tbody");
    if (!body) return refresh();
    const row = document.createElement("tr");
    const { _stamp: stamp, ...data } = event.data;
    row.className = "new";
    row.append(cell(stamp.slice(0, 19).replace("T", " ")), cell(event.tag), cell(JSON.stringify(data), "code"));
    body.prepend(row);
    while (body.rows.length > MOST) body.lastElementChild.remove();
  };

  const refresh = () => {
    if (waiting === null) waiting = setTimeout(load, 700);
  };

  const load = async () => {
    try {
      const answer = await fetch("/", { headers: { Accept: "text/html" }, credentials: "same-origin" });
      if (answer.status === 401) return location.reload();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["live", "drift", "jobs", "events"]) {
        const section = page.getElementById(id);
        if (section) document.getElementById(id).replaceWith(document.adoptNode(section));
      }
    } catch {
      state.textContent = "The page could not be refreshed.";
    } finally {
      waiting = null;
    }
  };

  const source = new EventSource("/events");
  source.onopen = () => {
    state.textContent = "New events are shown.";
    refresh();
  };
  source.onerror = () => {
    state.textContent = "The connection was lost; trying again.";
  };
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    show(event);
    if (/^(salt\/(job|run)|pushsalt\/drift)\//.test(event.tag)) refresh();
  };
})();
