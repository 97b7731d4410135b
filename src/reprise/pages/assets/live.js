"use strict";
// Asks whether anything has changed, and if so puts the new content in the place of the old.
(() => {
  const PAUSE = 3000;
  let version = document.body.dataset.version;

  async function ask() {
    try {
      const now = (await (await fetch("version", {cache: "no-store"})).json()).version;
      if (now !== version) {
        const fresh = await (await fetch("content", {cache: "no-store"})).json();
        renew(fresh);
        version = fresh.version;
      }
      document.body.dataset.live = "yes";
    } catch (error) {
      document.body.dataset.live = "no";  // the server is gone; the page stays as it is
    }
    setTimeout(ask, PAUSE);
  }

  function renew(fresh) {
    const main = document.querySelector("main"), top = window.scrollY;
    const open = [...main.querySelectorAll("details")].map((part) => part.open);
    main.querySelectorAll(".js-plotly-plot").forEach((div) => Plotly.purge(div));
    // Rendered and escaped by the same templates as the page itself; scripts in it would not run.
    main.innerHTML = fresh.main;
    main.querySelectorAll("details").forEach((part, i) => { part.open = open[i] ?? part.open; });
    reprise.begin(fresh.figures);
    window.scrollTo(0, top);
  }

  ask();
})();
