"use strict";

/** Runtimes: one in full, all in a list; and about the site. */
(() => {
  const { el, link, code, table, plural, count } = site;
  const sentence = (front, opset, at) => {
    const { counts, measured } = site.tally(front, opset, at, site.FLOAT, 0);
    if (measured === 0) return counts.n ? `does not accept opset ${opset}` : `is not measured at opset ${opset}`;
    const parts = site.STATES.filter((state) => state.key !== "r" && !"?no".includes(state.key) && counts[state.key])
      .map((state) => `${counts[state.key]} ${counts[state.key] === 1 ? state.name : state.many}`);
    return `at opset ${opset}, ${counts.r || 0} of ${measured} measured operators of ai.onnx are right in float${parts.length > 0 ? `; of the others: ${parts.join(", ")}` : ""}`;
  };
  site.sentence = sentence;

  /** The failures in the data of a runtime, each with its operator and types. */
  const failuresOf = (data) => Object.entries(data.faults).flatMap(([op, all]) =>
    all.map(([failure, types]) => ({ required: true, ...failure, op, t: data.types[types].split(" ").filter(Boolean) })));

  const opsetFor = (front, column, chosen) => {
    const wanted = Number(chosen.get("opset"));
    const range = column.opsets && column.opsets["ai.onnx"];
    return Math.min(wanted || (range ? Math.min(21, range[1]) : 21), front.newestOpset);
  };

  function faultTable(groups, most, key) {
    const byOperator = new Map();
    for (const group of groups) {
      if (!byOperator.has(group.op)) byOperator.set(group.op, []);
      byOperator.get(group.op).push(group);
    }
    const operators = [...byOperator].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
    return el("div", { class: "faults" }, operators.slice(0, most).map(([name, all]) => {
      const [domain, operator] = name.split("/");
      return el("details", { open: operators.length <= 12 }, el("summary", null, el("b", null, operator), " ", el("span", { class: "quiet" }, `${plural(all.length, "behaviour")}`)),
        el("ul", null, all.sort((a, b) => a.b.localeCompare(b.b)).map((group) => el("li", null,
          link(site.operatorHref(domain, operator, { v: group.v.at(-1), b: group.b, at: "behaviour", on: key }), null, group.b), " ",
          el("span", { class: "quiet" }, `${operator}-${group.v.join(", ")}: ${site.OUTCOMES[group.o][0]} in ${group.n[0]} of ${plural(group.n[1], "case")}`,
            group.t.length > 0 ? ` (${group.t.join(", ")})` : "", group.required ? "" : ", recommended")))));
    }), operators.length > most ? el("p", { class: "quiet" }, `and ${operators.length - most} more operators`) : null);
  }

  /** The findings about the runtime, once each, with the operators that show them. */
  function ownFindings(data, column) {
    if (data.findings.length === 0) return null;
    return el("details", { id: "findings" }, el("summary", null, el("h2", null, "Findings"), ` ${count(data.findings.length)}`),
      el("p", null, link(site.href(["findings"], { runtime: column.runtime }), null, "In a list with filters")),
      el("ul", { class: "found" }, data.findings.map(({ id, title, versions, ops }) => el("li", null, link(site.findingHref(column.runtime, id), null, title),
        el("div", { class: "quiet" }, `${ops.map((name) => name.replace(/^ai\.onnx\//, "")).join(", ")} · ${versions}`)))));
  }

  /** The causes of the failures in a results file, as `run` prints them. */
  function causes(data) {
    if (!data.causes) return null;
    const { summary, all, shown } = data.causes;
    return el("details", { id: "causes", open: true }, el("summary", null, el("h2", null, "Causes of the failures"), ` ${count(all)}`),
      el("p", null, `${summary}.`),
      el("ol", { class: "found" }, shown.map((cause) => el("li", null, el("b", null, cause.outcome), ": ", cause.title, el("div", { class: "quiet" }, cause.extent),
        cause.message ? el("div", null, cause.message) : null, cause.model ? el("div", null, code(cause.model)) : null,
        el("div", { class: "quiet" }, "The smallest case: ", link(site.caseHref(cause.example), null, cause.example))))));
  }

  function releases(front, data, column) {
    if (!data.before) return null;
    const before = front.columns[front.column(data.before)];
    const of = (better) => data.changes.filter((one) => site.isWorse(one.from, one.to) === better);
    const list = (changes) => el("ul", null, changes.slice(0, 200).map((one) => {
      const [domain, name] = one.op.split("/");
      return el("li", null, link(site.operatorHref(domain, name, { v: one.since, b: one.b, at: "behaviour", on: column.key }), null, `${name}-${one.since} ${one.b}`), " ",
        el("span", { class: "quiet" }, `${site.STATE[one.from].name} → ${site.STATE[one.to].name}`));
    }), changes.length > 200 ? el("li", null, `and ${count(changes.length - 200)} more`) : null);
    const [better, worse] = [of(true), of(false)];
    return el("section", { id: "releases" }, el("h2", null, `Since ${before.version}`), el("p", null, `${plural(better.length, "behaviour")} better, ${count(worse.length)} worse. `,
      link(site.href(["compare", before.key, column.key]), null, "Compare operators")),
    worse.length > 0 ? el("details", { open: worse.length < 10 }, el("summary", null, "worse"), list(worse)) : null,
    better.length > 0 ? el("details", null, el("summary", null, "better"), list(better)) : null);
  }

  site.page("runtime", async ([named], chosen) => {
    const front = await site.front();
    const at = site.columnLike(front, named || "");
    if (at < 0) return named ? site.noRuntime(front, named) : site.lead("#/runtimes");
    if (named !== front.columns[at].key && named !== front.columns[at].runtime) return site.lead(site.href(["runtime", front.columns[at].key], Object.fromEntries(chosen)));
    const column = front.columns[at];
    const { key } = column;
    const data = await site.load(`runtime/${key}`);
    const opset = opsetFor(front, column, chosen);
    const level = chosen.get("level") === "recommended" ? 1 : 0;
    const failures = failuresOf(data);
    const groups = failures.filter((fault) => level === 1 || fault.required || fault.s === "c");
    const others = front.columns.filter((other) => other.runtime === column.runtime);
    const sections = site.STATES.filter((state) => state.bad || state.key === "d").map((state) => {
      const of = groups.filter((group) => group.s === state.key);
      if (of.length === 0) return null;
      return el("section", { id: `state-${state.key}` }, el("h2", null, site.mark({ key: state.key, bad: 0, total: 0 }), ` ${state.name[0].toUpperCase()}${state.name.slice(1)}: ${plural(of.length, "behaviour")}`), faultTable(of, 80, key));
    });
    const facts = [
      ["Opsets", column.opsets ? Object.entries(column.opsets).map(([domain, [a, b]]) => `${domain} ${a}–${b}`).join(", ") : "not said"],
      ["IR versions", column.ir ? `${column.ir[0]}–${column.ir[1]}` : "not said"],
      column.released ? ["Released", column.released] : null,
      ["Measured", [column.date, column.platform].filter(Boolean).join(", ") || "date and machine not recorded"],
      ["From", column.file || `the committed measurement`],
      column.digest ? ["Digest of the suite", column.digest] : null,
    ].filter(Boolean);
    return [
      el("p", { class: "crumbs" }, link("#/runtimes", null, "Runtimes"), " · ", others.map((other) => link(site.href(["runtime", other.key]), { class: "chip", "aria-current": other === column ? "true" : undefined }, other.version, other.file ? ` (${other.file})` : ""))),
      el("h1", { "data-plain": `runtime/${key}.html` }, front.title(column)),
      el("p", { class: "lead" }, `${column.runtime} ${column.version}: ${sentence(front, opset, at)}.`),
      column.remarks.map((remark) => el("p", { class: "notice" }, remark)),
      el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
      el("p", { class: "actions" }, site.select("cases", "level", [["", "required"], ["recommended", "and recommended"]], level ? "recommended" : ""),
        site.saveButton("Download failures (JSON)", `${key}.json`, "application/json", () => JSON.stringify({ runtime: column.runtime, version: column.version, suite: front.suite, faults: failures }, null, 1))),
      el("p", null, link(site.href(["heat", column.runtime]), null, "Operators by release"), " in one table. ", link(site.href(["graphs"], { cols: key }), null, "Graphs"), " of several nodes have a page of their own."),
      causes(data),
      releases(front, data, column),
      ownFindings(data, column),
      groups.length === 0 ? el("p", null, "All measured cases are right.") : null,
      sections,
    ];
  });

  site.page("runtimes", async (_, chosen) => {
    const front = await site.front();
    const rows = front.columns.map((column, at) => [link(site.href(["runtime", column.key]), null, front.title(column)),
      column.opsets && column.opsets["ai.onnx"] ? column.opsets["ai.onnx"].join("–") : "not said", [column.date, column.platform].filter(Boolean).join(", "),
      `${sentence(front, opsetFor(front, column, chosen), at)}.`]);
    const names = [...new Set(front.columns.filter((column) => !column.file).map((column) => column.runtime))];
    return [el("h1", { "data-plain": "runtime/index.html" }, "Runtimes"),
      el("p", null, "Operators by release: ", site.links(names, (name) => site.href(["heat", name])), ". ", link("#/together", null, "Who fails together"), "."),
      el("div", { class: "scroll" }, table({ class: "wide" }, ["runtime", "opsets", "measured", "in a sentence"], rows)),
      front.elsewhere.length > 0 ? el("section", null, el("h2", null, "Results of another suite"), front.elsewhere.map(([title, remarks, outcomes]) => el("article", { class: "notice" },
        el("h3", null, title), el("p", null, remarks.join("; ")), el("p", null, outcomes.map(([outcome, sum]) => `${count(sum)} ${outcome}`).join(", "))))) : null];
  });

  site.page("about", async () => {
    const front = await site.front();
    return [el("h1", null, "About"),
      el("p", { class: "lead" }, `Made by onnx-conformance ${front.suite[0]} from ${plural(front.cases, "case")} of suite ${front.suite[1]}. Nothing here is loaded from a network.`),
      el("h2", null, "How to read it"),
      el("p", null, "A cell summarizes the cases of an operator version on a runtime by the worst outcome, in this order. The numbers count behaviours: `wrong 1/25` means one behaviour of 25 with a wrong output. The result of a type ignores cases in which another type parameter has an unusual type. Required cases follow from a sentence of the standard; recommended ones are implied by it."),
      el("dl", { class: "facts" }, site.STATES.map((state) => [el("dt", null, site.mark({ key: state.key, bad: 0, total: 0 }), ` ${state.name}`), el("dd", null, state.one)])),
      front.reach.length > 0 ? [el("h2", null, "Coverage of the cases"), table(null, ["", "reached", "excused", "of"], front.reach.map(([title, counts]) => [title, ...counts.map(count)]))] : null,
      front.evidence.length > 0 ? [el("h2", null, "Evidence for the expected outputs"), table(null, ["source", "cases"], front.evidence.map(([source, sum]) => [source, count(sum)]))] : null];
  });
})();
