"use strict";

/** Heat map of a runtime: operators by its measured releases. */
(() => {
  const { el, link, plural, count } = site;
  const UNKNOWN = "?no";

  /** The releases of a runtime, oldest first, without results files of the reader. */
  const releasesOf = (front, runtime) => [...front.columns.keys()].filter((at) => front.columns[at].runtime === runtime && !front.columns[at].file);

  /** Runtimes by number of releases. */
  function runtimesOf(front) {
    const sums = new Map();
    for (const { runtime, file } of front.columns) if (!file) sums.set(runtime, (sums.get(runtime) || 0) + 1);
    return [...sums].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  }

  /** The newest opset that every release accepts. */
  function commonOpset(front, releases) {
    const ends = releases.map((at) => front.columns[at].opsets?.["ai.onnx"]?.[1] ?? front.newestOpset);
    return Math.max(Math.min(21, ...ends), 1);
  }

  /**
   * Number of releases at which the state of an operator changes for the better and for the worse. A release with more measured
   * behaviours is not worse for it, and one with fewer is not better.
   */
  site.changesOf = (cells) => {
    const known = cells.filter((cell) => cell && !UNKNOWN.includes(cell.key));
    const found = { better: 0, worse: 0 };
    for (let at = 1; at < known.length; at += 1) {
      const [before, now] = [known[at - 1], known[at]];
      if (site.isWorse(now.key, before.key) && now.total <= before.total) found.worse += 1;
      else if (site.isWorse(before.key, now.key) && now.total >= before.total) found.better += 1;
    }
    return found;
  };

  const rank = (cell) => (!cell || UNKNOWN.includes(cell.key) ? 99 : site.STATE[cell.key].rank);
  const share = (cell) => (cell && cell.total > 0 ? cell.bad / cell.total : 0);

  /** Rows in the chosen order: by name, by number of changes, or worst first in a release. */
  function sorted(rows, sort, releases, front) {
    const byName = (a, b) => a.operator.n.localeCompare(b.operator.n) || a.domain.localeCompare(b.domain);
    const at = releases.findIndex((column) => front.columns[column].key === sort);
    const sum = ({ moved }) => moved.better + moved.worse;
    if (at >= 0) return rows.sort((a, b) => rank(a.cells[at]) - rank(b.cells[at]) || share(b.cells[at]) - share(a.cells[at]) || byName(a, b));
    if (sort === "changes") return rows.sort((a, b) => sum(b) - sum(a) || b.moved.worse - a.moved.worse || byName(a, b));
    return rows.sort(byName);
  }

  function head(front, releases, sort) {
    const sorter = (key, words, ...more) => el("th", { scope: "col", "aria-sort": sort === key ? (key === "" ? "ascending" : "descending") : undefined },
      el("button", { type: "button", class: "sort", "data-focus": `sort-${key}`, onclick: () => site.choose({ sort: key }) }, words, sort === key ? el("span", { "aria-hidden": "true" }, " ▾") : null), more);
    return el("tr", null, sorter("", "Operator"), releases.map((at) => sorter(front.columns[at].key, front.columns[at].version, el("div", { class: "quiet" }, front.columns[at].released || ""))), sorter("changes", "Changes"));
  }

  function cellOf(front, { operator, domain, version }, cell, at) {
    if (!cell) return el("td", { class: "absent" }, el("span", { class: "unseen" }, "not a type of this version"));
    const words = `${operator.n}-${version.since}, ${front.title(front.columns[at])}: ${site.cellWords(cell)}`;
    return el("td", null, link(site.operatorHref(domain, operator.n, { v: version.since, on: front.columns[at].key, at: "cases" }), {
      class: `cell mark s-${cell.key === "?" ? "q" : cell.key}`, tabindex: "-1", title: words,
    }, el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign, el("span", { class: "of" }, site.cellNumbers(cell) ? ` ${site.cellNumbers(cell)}` : "")), el("span", { class: "unseen" }, site.cellWords(cell))));
  }

  function movedText({ better, worse }) {
    return [better > 0 ? `+${better}` : "", worse > 0 ? `−${worse}` : ""].filter(Boolean).join(" ");
  }

  site.page("heat", async ([named], chosen) => {
    const front = await site.front();
    const runtimes = runtimesOf(front);
    const found = named ? site.columnLike(front, named) : -1;
    if (named && found < 0) return site.noRuntime(front, named);
    const runtime = found >= 0 ? front.columns[found].runtime : runtimes[0][0];
    if (named !== runtime) return site.lead(site.href(["heat", runtime], Object.fromEntries(chosen)));
    const releases = releasesOf(front, runtime);
    const opset = Math.min(Math.max(Number(chosen.get("opset")) || commonOpset(front, releases), 1), front.newestOpset);
    const type = site.typeOf(front, chosen.get("type"));
    const domain = chosen.get("domain") || "ai.onnx";
    const isMoved = chosen.get("only") === "changed";
    const all = front.operators.filter((operator) => front.domains[operator.d].name === domain).map((operator) => ({ operator, domain, version: site.versionAt(front, operator, opset) }))
      .filter(({ version }) => version && (type < 0 || version.byType.has(type)))
      .map((row) => ({ ...row, cells: releases.map((at) => site.stateAt(front, row.operator, row.version, opset, at, type, 0)) })).map((row) => ({ ...row, moved: site.changesOf(row.cells) }));
    const rows = sorted(isMoved ? all.filter(({ moved }) => moved.better + moved.worse > 0) : all, chosen.get("sort") || "", releases, front);
    // A phone shows the newest release first.
    const order = [...releases.keys()];
    if (window.matchMedia("(max-width: 760px)").matches) order.reverse();
    const types = [["", "float where allowed"], ["all", "all types"], ...front.types.filter((name) => name !== "float").sort().map((name) => [name, name])];
    const opsets = Array.from({ length: front.newestOpset }, (_, at) => [front.newestOpset - at, front.newestOpset - at]);
    return [
      el("p", { class: "crumbs" }, link("#/runtimes", null, "Runtimes"), " · ", runtimes.map(([name, sum]) => link(site.href(["heat", name], { type: chosen.get("type"), opset: chosen.get("opset") }), { class: "chip", "aria-current": name === runtime ? "true" : undefined }, `${name} (${sum})`))),
      el("h1", null, `${runtime}: operators by release`),
      el("p", { class: "lead" }, `A row is an operator at opset ${opset}, a column is a measured release. A mark has the worst outcome. ${site.numbers(0)}`),
      el("p", { class: "quiet" }, "Changes count releases that are better (+) or worse (−) than the one before. Newer measurements have more behaviours; a change that they alone can explain is not counted."),
      el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
        site.select("Type", "type", types, site.typeKey(front, type)), site.select("at opset", "opset", opsets, opset), site.select("Domain", "domain", front.domains.map(({ name }) => [name, name]), domain),
        site.select("show", "only", [["", "all operators"], ["changed", "only what changed"]], isMoved ? "changed" : "")),
      el("p", { role: "status" }, `${plural(rows.length, "operator")} of ${count(all.length)}, ${plural(releases.length, "release")}. `, releases.length === 1 ? "Only one release is measured." : ""),
      el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Operators by release" }, el("table", { class: "grid heat", id: "grid" }, el("thead", null, head(front, order.map((at) => releases[at]), chosen.get("sort") || "")),
        el("tbody", null, rows.map((row) => el("tr", { "data-operator": `${row.domain}/${row.operator.n}` },
          el("th", { scope: "row" }, link(site.operatorHref(row.domain, row.operator.n, { v: row.version.since }), { class: "cell", tabindex: "-1" }, row.operator.n), el("span", { class: "quiet" }, `-${row.version.since}`)),
          order.map((at) => cellOf(front, row, row.cells[at], releases[at])), el("td", { class: "number" }, movedText(row.moved))))))),
      site.legend(),
    ];
  });
})();
