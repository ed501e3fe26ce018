"use strict";

/** The keyboard: the grid of operators or patterns is one stop of the tab key, and arrows move in it. */
(() => {
  const KEYS = [
    ["/", "search"], ["?", "these keys"], ["Escape", "leave the search or this list"],
    ["← → ↑ ↓", "move in the grid"], ["Home, End", "the first and the last cell of a row"],
    ["Enter", "open the cell"], ["Space", "open or close the row"], ["g then o", "operators"],
    ["g then g", "graphs"], ["g then t", "tools"],
    ["g then f", "findings"], ["g then r", "runtimes"], ["g then c", "compare"], ["g then d", "disagreements"],
  ];
  const help = document.getElementById("help");
  let pending = false;

  function showHelp() {
    help.replaceChildren(site.el("h2", { id: "help-title" }, "Keys"),
      site.el("dl", null, KEYS.map(([key, text]) => [site.el("dt", null, site.el("kbd", null, key)), site.el("dd", null, text)])),
      site.el("form", { method: "dialog" }, site.el("button", null, "Close")));
    if (!help.open) help.showModal();
  }

  document.getElementById("help-button").addEventListener("click", showHelp);

  const cellsOf = (row) => [...row.querySelectorAll(".cell")];
  const rowsOf = (grid) => [...grid.querySelectorAll("tbody > tr[data-operator]")];

  /** Makes exactly one cell reachable by the tab key. */
  function enter(cell) {
    for (const other of document.querySelectorAll("#grid .cell[tabindex='0']")) other.tabIndex = -1;
    cell.tabIndex = 0;
  }

  new MutationObserver(() => {
    const grid = document.getElementById("grid");
    if (grid && !grid.querySelector(".cell[tabindex='0']")) {
      const first = grid.querySelector(".cell");
      if (first) first.tabIndex = 0;
    }
  }).observe(document.getElementById("main"), { childList: true, subtree: true });

  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.("#grid .cell")) enter(event.target);
  });

  function move(event, cell) {
    const row = cell.closest("tr");
    const rows = rowsOf(cell.closest("table"));
    const [column, at] = [cellsOf(row).indexOf(cell), rows.indexOf(row)];
    const to = (rowAt, columnAt) => {
      const cells = rows[rowAt] ? cellsOf(rows[rowAt]) : [];
      const next = cells[Math.min(columnAt, cells.length - 1)];
      if (next) {
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    };
    switch (event.key) {
      case "ArrowRight": return to(at, column + 1);
      case "ArrowLeft": return to(at, Math.max(column - 1, 0));
      case "ArrowDown": return to(at + 1, column);
      case "ArrowUp": return to(at - 1, column);
      case "Home": return to(event.ctrlKey ? 0 : at, 0);
      case "End": return to(event.ctrlKey ? rows.length - 1 : at, 1e6);
      case "PageDown": return to(Math.min(at + 10, rows.length - 1), column);
      case "PageUp": return to(Math.max(at - 10, 0), column);
      case " ":
        event.preventDefault();
        return row.querySelector(".open").click();
      default: return undefined;
    }
  }

  document.addEventListener("keydown", (event) => {
    const isText = event.target.matches?.("input, select, textarea");
    if (event.target.matches?.("#grid .cell")) move(event, event.target);
    if (isText || event.ctrlKey || event.altKey || event.metaKey || help.open) return;
    if (pending) {
      pending = false;
      const page = { o: "#/", g: "#/graphs", r: "#/runtimes", c: "#/compare", d: "#/disagreements", f: "#/findings", t: "#/tools" }[event.key];
      if (page) location.hash = page;
    } else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search").focus();
    } else if (event.key === "?") {
      showHelp();
    } else if (event.key === "g") {
      pending = true;
      setTimeout(() => { pending = false; }, 1000);
    }
  });
})();
