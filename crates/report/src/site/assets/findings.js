"use strict";

/** Findings: argued deviations of a runtime from the standard, in a list and with a page each. */
(() => {
  const { el, link, code, plural, count } = site;
  /** Number of findings that the list shows at first. */
  const MAX_SHOWN = 150;

  const hrefOf = (runtime, id) => site.href(["finding", runtime, id]);
  site.findingHref = hrefOf;

  /** The name of an operator, of a pattern of graphs or of a group of cases, as a link where it has a page. */
  function subject(front, name) {
    const [domain, ...rest] = name.split("/");
    if (front.byName.has(name)) return link(site.operatorHref(domain, rest.join("/"), { at: "findings" }), null, rest.join("/"));
    if (domain === "graph" && rest.length > 1) return link(site.href(["graphs"], { open: rest.join("/"), at: "opened" }), null, `graph ${rest.join("/")}`.replaceAll("_", " "));
    return { ir: "models and their parts", hostile: "hostile models" }[domain] || name;
  }

  const separated = (items) => items.map((item, at) => [at > 0 ? ", " : "", item]);

  const history = (row) => [row.since ? `since ${row.since}` : "", row.fixed ? `fixed in ${row.fixed}` : ""].filter(Boolean).join(", ");

  /** The findings that fit the reader's choices, the worst and most frequent first. */
  function chosenRows(all, shown) {
    const rank = (row) => site.STATE[row.state].rank;
    return all.filter((row) => (!shown.runtime || row.runtime === shown.runtime) && (!shown.op || row.about.includes(shown.op))
      && (!shown.state || row.state === shown.state) && (!shown.fixed || Boolean(row.fixed) === (shown.fixed === "yes")))
      .sort((a, b) => Number(Boolean(a.fixed)) - Number(Boolean(b.fixed)) || rank(a) - rank(b) || b.n - a.n || a.title.localeCompare(b.title));
  }

  /** Options of a selection list, each with its number of findings. */
  function counted(values, nameOf = (value) => value) {
    const sums = new Map();
    for (const value of values) sums.set(value, (sums.get(value) || 0) + 1);
    return [...sums].map(([value, sum]) => [value, `${nameOf(value)} (${sum})`]).sort((a, b) => a[1].localeCompare(b[1]));
  }

  function filters(all, shown) {
    const states = counted(all.map((row) => row.state), (key) => site.STATE[key].name).sort((a, b) => site.STATE[a[0]].rank - site.STATE[b[0]].rank);
    const operators = counted(all.flatMap((row) => row.about), (name) => name.replace(/^ai\.onnx\//, ""));
    return el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      site.select("Runtime", "runtime", [["", "all"], ...counted(all.map((row) => row.runtime))], shown.runtime),
      site.select("Operator", "op", [["", "all"], ...operators], shown.op),
      site.select("Severity", "state", [["", "all"], ...states], shown.state),
      site.select("Fixed", "fixed", [["", "all"], ["no", "not fixed"], ["yes", "fixed in a later version"]], shown.fixed));
  }

  site.page("findings", async (_, chosen) => {
    const [front, all] = [await site.front(), await site.load("findings")];
    const pick = (name) => chosen.get(name) || "";
    const op = pick("op");
    const shown = { runtime: pick("runtime"), op: op && !op.includes("/") ? `ai.onnx/${op}` : op, state: site.STATE[pick("state")] ? pick("state") : "", fixed: pick("fixed") };
    const rows = chosenRows(all, shown);
    const listed = chosen.get("all") === "1" ? rows : rows.slice(0, MAX_SHOWN);
    return [
      el("h1", { "data-plain": "finding/index.html" }, "Findings"),
      el("p", { class: "lead" }, `A finding is a deviation of a runtime from the standard, with the sentence that decides and a case that shows it. There are ${count(all.length)}.`),
      filters(all, shown),
      el("p", { role: "status" }, `${plural(rows.length, "finding")}. `, Object.values(shown).some(Boolean) ? link("#/findings", null, "Show all") : null),
      el("ul", { class: "found" }, listed.map((row) => el("li", null,
        site.mark({ key: row.state, bad: 0, total: 0 }), " ", link(hrefOf(row.runtime, row.id), null, row.title),
        el("div", { class: "quiet" }, `${row.runtime} · `, separated(row.about.slice(0, 6).map((name) => subject(front, name))), row.about.length > 6 ? ` and ${row.about.length - 6} more` : "",
          row.n > 0 ? ` · ${plural(row.n, "case")}` : "", history(row) ? ` · ${history(row)}` : "")))),
      listed.length < rows.length ? el("p", null, el("button", { type: "button", "data-focus": "all", onclick: () => site.choose({ all: "1" }) }, `Show all ${count(rows.length)}`)) : null,
      site.legend(),
    ];
  });

  /** The measured versions, each with its number of failing cases. */
  function measured(front, data) {
    const keys = new Map(front.columns.filter((column) => column.runtime === data.runtime && !column.file).map((column) => [column.version, column.key]));
    return el("ul", { class: "measured" }, data.measured.map(([version, failures, state]) => el("li", null, site.mark({ key: state, bad: 0, total: 0 }), " ",
      keys.has(version) ? link(site.href(["runtime", keys.get(version)]), null, version) : version, " ",
      el("span", { class: "quiet" }, failures > 0 ? plural(failures, "failing case") : "no failing case"))));
  }

  function shownBy(data) {
    return el("dl", { class: "rules" }, data.shown.map(([version, names]) => {
      const [, domain, name, since] = /^(.+)\/(.+)-(\d+)$/.exec(version);
      return [el("dt", null, link(site.operatorHref(domain, name, { v: since }), null, `${domain === "ai.onnx" ? "" : `${domain}/`}${name}-${since}`)),
        el("dd", { class: "chips" }, names.map((behaviour) => link(site.operatorHref(domain, name, { v: since, b: behaviour, at: "behaviour" }), { class: "chip" }, behaviour)))];
    }));
  }

  function issue(data) {
    const finding = `${data.runtime}/${data.id}`;
    if (!data.issue) return el("p", { class: "quiet" }, "The text of the standard does not decide this, so there is no issue to file about the runtime.");
    return [
      el("p", { class: "actions" }, site.copyButton("Copy as issue", data.issue), site.saveButton("Download the issue", `${data.id}.md`, "text/markdown", () => data.issue),
        site.copyButton("Copy command", `onnx-conformance show --issue ${finding}`)),
      el("details", null, el("summary", null, "Text of the issue"), el("pre", { tabindex: "0" }, data.issue)),
    ];
  }

  /** The runtime and the id of an address: `gather-strings` alone will do if one runtime has it. */
  async function resolve(runtime, id) {
    const all = await site.load("findings");
    const name = id ? `${runtime}/${id}` : runtime;
    const found = all.filter((row) => `${row.runtime}/${row.id}` === name || (!id && row.id === runtime));
    return { all, name, found };
  }

  function missing(all, name, found) {
    const names = (rows) => rows.map((row) => `${row.runtime}/${row.id}`);
    const hrefOfName = (one) => hrefOf(...one.split("/"));
    if (found.length > 1) return [el("h1", null, "Several findings"), el("p", null, `Several runtimes have a finding '${name}': `, site.links(names(found), hrefOfName), ".")];
    return site.unknown("No such finding", `There is no finding '${name}'.`, site.nearest(name, names(all)), hrefOfName, ["#/findings", "All findings"]);
  }

  site.page("finding", async ([runtime, id]) => {
    if (!runtime) return site.lead("#/findings");
    const { all, name, found } = await resolve(runtime, id);
    if (found.length !== 1) return missing(all, name, found);
    const [row] = found;
    const [front, data] = [await site.front(), await site.load(`finding/${row.runtime}/${row.id}`)];
    const finding = `${row.runtime}/${row.id}`;
    const hasPage = front.byName.has(data.sample.split("/").slice(0, 2).join("/").replace(/-\d+$/, "")) || data.sample.startsWith("graph/");
    return [
      el("p", { class: "crumbs" }, link("#/findings", null, "Findings"), " · ", link(site.href(["findings"], { runtime: row.runtime }), null, row.runtime), " · ",
        separated(row.about.map((one) => (front.byName.has(one) ? link(site.href(["findings"], { op: one }), null, one.replace(/^ai\.onnx\//, "")) : subject(front, one))))),
      el("h1", { "data-plain": `finding/${row.runtime}/${row.id}.html` }, data.title),
      el("p", { class: "facts" }, site.mark({ key: row.state, bad: 0, total: 0 }, site.STATE[row.state].name), el("span", null, `${row.runtime} ${data.versions}`), code(finding)),
      el("h2", null, "The standard"),
      el("blockquote", null, data.proof),
      data.text ? el("p", null, data.text) : null,
      el("h2", null, "The runtime"),
      el("p", null, data.does),
      el("p", null, "The smallest case: ", hasPage ? link(site.caseHref(data.sample), null, data.sample) : code(data.sample)),
      el("h2", null, "Versions"),
      data.measured.length > 0 ? measured(front, data) : el("p", { class: "quiet" }, "No measured version ran these cases."),
      el("h2", null, "Issue"),
      issue(data),
      el("h2", null, "Cases"),
      data.shown.length > 0 ? shownBy(data) : null,
      el("p", { class: "quiet" }, "Patterns: ", separated(data.cases.map((pattern) => code(pattern)))),
      el("h2", null, "Run it"),
      el("pre", { tabindex: "0" }, `onnx-conformance show ${finding}\nonnx-conformance run '${data.sample}' --runtime ${row.runtime}`),
    ];
  });
})();
