"use strict";

/** Two columns compared: operators that are better or worse, and findings that a later version of a runtime fixed or brought. */
(() => {
  const { el, link, table, plural, count } = site;

  /** Operators that are measured on both columns, by how the second compares. */
  function compared(front, [a, b], opset, type) {
    const found = { better: [], worse: [], other: [], same: 0 };
    for (const operator of front.operators) {
      const version = site.versionAt(front, operator, opset);
      if (!version) continue;
      const cells = [a, b].map((at) => site.stateAt(front, operator, version, opset, at, type, 0));
      if (cells.some((cell) => !cell || "?no".includes(cell.key))) continue;
      const [before, after] = cells;
      const isWhole = "rd".includes(before.key);
      if (before.key === after.key && (isWhole || before.bad === after.bad)) {
        found.same += 1;
        continue;
      }
      const isWorse = site.isWorse(after.key, before.key) || (before.key === after.key && after.bad > before.bad);
      // What was declined and now fails is neither: nothing ran before, and a failure is reported now.
      const kind = before.key === "d" && !"rip".includes(after.key) ? "other" : isWorse ? "worse" : "better";
      found[kind].push({ domain: front.domains[operator.d].name, name: operator.n, since: version.since, cells });
    }
    return found;
  }

  function rows(front, [a, b], some) {
    const keys = [a, b].map((at) => front.columns[at].key).join(",");
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Operators" }, table({ class: "compare" }, ["operator", front.title(front.columns[a]), front.title(front.columns[b])], some.map(({ domain, name, since, cells }) => [
      link(site.operatorHref(domain, name, { v: since, cols: keys }), null, `${name}-${since}`),
      ...cells.map((cell) => el("td", null, site.mark(cell), " ", el("span", { class: "quiet" }, site.cellWords(cell))))])));
  }

  function section(front, pair, title, some, words) {
    if (some.length === 0) return null;
    return el("section", null, el("h2", null, `${title}: ${plural(some.length, "operator")}`), words ? el("p", { class: "quiet" }, words) : null, rows(front, pair, some));
  }

  /** Findings that changed between two versions of a runtime, by the version that has or lacks the fault first. */
  async function findings(front, [a, b]) {
    const [from, to] = [a, b].map((at) => front.columns[at]);
    if (from.runtime !== to.runtime || from.file || to.file) return null;
    if (a > b) return el("p", { class: "notice" }, `${front.title(from)} is the later version. `, link(site.href(["compare", to.key, from.key], Object.fromEntries(site.address().chosen)), null, `Compare ${to.version} with ${from.version}`));
    const all = (await site.load("findings")).filter((row) => row.runtime === from.runtime);
    const at = new Map(front.columns.map((column, index) => [column, index]).filter(([column]) => column.runtime === from.runtime && !column.file).map(([column, index]) => [column.version, index]));
    const isBetween = (version) => version !== undefined && at.get(version) > a && at.get(version) <= b;
    const list = (id, title, some, wordsOf) => el("details", { id, open: some.length > 0 && some.length <= 30 }, el("summary", null, el("h2", null, title), ` ${count(some.length)}`),
      el("ul", { class: "found" }, some.map((row) => el("li", null, site.mark({ key: row.state, bad: 0, total: 0 }), " ", link(site.findingHref(row.runtime, row.id), null, row.title), el("span", { class: "quiet" }, ` ${wordsOf(row)}`)))));
    const [fixed, fresh] = [all.filter((row) => isBetween(row.fixed)), all.filter((row) => isBetween(row.since))];
    return [
      list("fixed", "Findings fixed", fixed, (row) => `fixed in ${row.fixed}`),
      list("fresh", "Findings new", fresh, (row) => `since ${row.since}`),
    ];
  }

  function choice(front, label, value, change) {
    return el("label", { class: "choice" }, `${label} `, el("select", { id: `compare-${label}`, "data-focus": `compare-${label}`, onchange: (event) => change(event.target.value) },
      front.columns.map((column) => el("option", { value: column.key, selected: column === front.columns[value] }, front.title(column)))));
  }

  site.page("compare", async ([first, second], chosen) => {
    const front = await site.front();
    const pick = (key, fallback) => (site.columnLike(front, key || "") >= 0 ? site.columnLike(front, key) : fallback);
    const unknown = [first, second].filter((key) => key && site.columnLike(front, key) < 0);
    const pair = [pick(first, front.newest[0]), pick(second, front.newest[1] ?? front.newest[0])];
    const [from, to] = pair.map((at) => front.columns[at]);
    const opset = Math.min(Math.max(Number(chosen.get("opset")) || 21, 1), front.newestOpset);
    const type = site.typeOf(front, chosen.get("type"));
    const go = (one, two) => { location.hash = site.href(["compare", one, two], Object.fromEntries(chosen)); };
    const found = compared(front, pair, opset, type);
    const sum = found.better.length + found.worse.length + found.other.length;
    const types = [["", "float where allowed"], ["all", "all types"], ...front.types.filter((name) => name !== "float").sort().map((name) => [name, name])];
    return [el("h1", null, `${front.title(from)} and ${front.title(to)}`),
      unknown.map((key) => el("p", { class: "notice" }, `There is no measurement of '${key}'. Nearest: ${site.nearestColumns(front, key).join(", ") || "none"}.`)),
      el("div", { class: "filters" }, choice(front, "first", pair[0], (key) => go(key, to.key)), choice(front, "second", pair[1], (key) => go(from.key, key)),
        site.select("at opset", "opset", Array.from({ length: front.newestOpset }, (_, at) => [front.newestOpset - at, front.newestOpset - at]), opset), site.select("Type", "type", types, site.typeKey(front, type))),
      el("p", { role: "status" }, `${plural(sum, "operator")} of ${count(sum + found.same)} that are measured on both differ: the second is better in ${count(found.better.length)} and worse in ${count(found.worse.length)}.`),
      await findings(front, pair),
      section(front, pair, "Worse", found.worse),
      section(front, pair, "Better", found.better),
      section(front, pair, "No longer declined", found.other, "The first does not support these operators. The second runs them, with failures."),
    ];
  });
})();
