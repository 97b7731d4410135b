"use strict";
// Draws the figures of the page and follows its buttons and sliders. No names from outside are
// ever written as HTML here: Plotly gets them escaped, everything else is text.
const reprise = (() => {
  const LOOK = {
    margin: {l: 52, r: 24, t: 8, b: 44}, showlegend: false, autosize: true,
    paper_bgcolor: "#fff", plot_bgcolor: "#fff", dragmode: false,
    font: {family: "system-ui, sans-serif", size: 12, color: "#1d2329"},
  };
  const AXIS = {gridcolor: "#e6e6e6", zeroline: false, linecolor: "#999", automargin: true, fixedrange: true};
  let figures = {};
  let hidden = {};  // by panel: the names that are switched off
  let stages = {};  // by key: the stage that is shown
  let views = {};   // by panel: the view that is shown

  const panelOf = (element) => element.closest(".panel").id;
  const off = (panel) => hidden[panel] ?? (hidden[panel] = new Set());

  function draw(div) {
    const key = div.dataset.key, figure = figures[key];
    if (!figure) return;
    const own = figure.layout;
    const layout = {...LOOK, ...own, xaxis: {...AXIS, ...own.xaxis}, yaxis: {...AXIS, ...own.yaxis}};
    const stage = figure.stages ? figure.stages[stages[key] ?? 0] : figure;
    // Otherwise rows stand in the order in which the policies' bars name them.
    if (stage.rows) Object.assign(layout.yaxis, {categoryorder: "array", categoryarray: stage.rows});
    const gone = off(panelOf(div));
    const data = stage.data.map((trace) => ({...trace, visible: !gone.has(trace.meta)}));
    Plotly.react(div, data, layout, {displayModeBar: false, responsive: true});
  }

  const drawAll = (root) => root.querySelectorAll(".view:not([hidden]) .plot").forEach(draw);

  function show(panel, place) {
    views[panel.id] = place;
    panel.querySelectorAll(".view").forEach((view) => { view.hidden = view.dataset.view !== place; });
    panel.querySelectorAll(".choice button").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset.view === place));
    });
    press(panel);
    drawAll(panel);
  }

  function press(panel) {
    panel.querySelectorAll(".lines button").forEach((button) => {
      button.setAttribute("aria-pressed", String(!off(panel.id).has(button.dataset.name)));
    });
  }

  function slide(input) {
    const figure = figures[input.dataset.key];
    const stage = figure.stages[Math.min(Number(input.value), figure.stages.length - 1)];
    stages[input.dataset.key] = figure.stages.indexOf(stage);
    input.parentElement.querySelector("output").textContent = stage.name;
    input.setAttribute("aria-valuetext", stage.name);
    draw(input.closest(".chart").querySelector(".plot"));
  }

  function begin(found) {
    figures = found;
    document.querySelectorAll(".stage input").forEach((input) => {
      input.value = stages[input.dataset.key] ?? 0;
      slide(input);
    });
    document.querySelectorAll(".panel").forEach((panel) => {
      if (panel.querySelector(".view")) show(panel, views[panel.id] ?? "0");
    });
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches(".stage input")) slide(event.target);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const panel = button.closest(".panel");
    if (button.matches(".choice button")) {
      show(panel, button.dataset.view);
      // The window may have changed while this view was hidden.
      panel.querySelectorAll(".view:not([hidden]) .js-plotly-plot").forEach((div) => Plotly.Plots.resize(div));
    }
    if (button.matches(".lines button")) {
      const gone = off(panel.id), name = button.dataset.name;
      if (!gone.delete(name)) gone.add(name);
      press(panel);
      drawAll(panel);
    }
  });

  // Base 85 as Python's b85encode writes it, but for the signs that mean something in HTML.
  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%/()*+-;,=.?@^_`{|}~";

  function decoded(text) {
    const digit = new Uint8Array(128);
    for (let i = 0; i < 85; i++) digit[DIGITS.charCodeAt(i)] = i;
    const groups = Math.ceil(text.length / 5), padded = text.padEnd(5 * groups, "~");
    const view = new DataView(new ArrayBuffer(4 * groups));
    for (let group = 0; group < groups; group++) {
      let value = 0;
      for (let i = 0; i < 5; i++) value = 85 * value + digit[padded.charCodeAt(5 * group + i)];
      view.setUint32(4 * group, value);
    }
    return view.buffer.slice(0, 4 * groups - (5 * groups - text.length));
  }

  async function unpacked(id) {
    const bytes = new Blob([decoded(document.getElementById(id).textContent)]);
    return new Response(bytes.stream().pipeThrough(new DecompressionStream("deflate"))).text();
  }

  async function start() {
    const library = document.createElement("script");
    library.textContent = await unpacked("plotly");  // the page's policy allows this text alone
    document.head.append(library);
    begin(JSON.parse(await unpacked("figures")));
    document.body.dataset.drawn = "yes";
  }

  start().catch(() => { document.getElementById("undrawn").hidden = false; });
  return {begin};
})();
