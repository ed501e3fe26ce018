"use strict";

/** The page of tools: converters, optimizers, shape inference and checkers, by question. */
(() => {
  const { el, link, count, plural } = site;

  /** The kinds of answers in the order of the data, each with the state whose colour it has. */
  const KINDS = [
    ["right", "r", "right"], ["declined", "d", "declined"], ["wrong", "w", "wrong"],
    ["invalid", "w", "an invalid model, another opset, or other inputs or outputs"], ["failed", "e", "an error, a death, or no answer in time"],
  ];

  const isWrong = (counts) => counts[2] + counts[3] > 0;
  const totalOf = (counts) => counts.reduce((sum, number) => sum + number, 0);

  /** A cell of a row: `12 0 1;10` is 12 right and 1 wrong answer, where all sizes of 10 models are known. */
  function parse(text) {
    const [numbers, complete] = text.split(";");
    const counts = numbers.split(" ").map(Number);
    while (counts.length < KINDS.length) counts.push(0);
    return { counts, complete: complete === undefined ? null : Number(complete) };
  }

  const words = ({ counts, complete }) => [...KINDS.map(([name, , says], at) => (counts[at] > 0 ? `${count(counts[at])} ${name === "right" ? name : says}` : null)),
    complete === null ? null : `all sizes known in ${count(complete)}`].filter(Boolean).join(", ");

  function summary(question) {
    const shown = KINDS.map((_, at) => at).filter((at) => at < 2 || question.tools.some(({ counts }) => counts[at] > 0));
    const isInference = question.tools.some(({ complete }) => complete !== undefined);
    const head = ["tool", "models", ...shown.map((at) => KINDS[at][0]), isInference ? "all sizes" : null, "CPU", "part of the suite"].filter(Boolean);
    const rows = question.tools.map((tool) => [`${tool.name} ${tool.version}`, el("td", { class: "number" }, count(totalOf(tool.counts))),
      ...shown.map((at) => el("td", { class: `number ${tool.counts[at] > 0 && at > 1 ? `s-${KINDS[at][1]}` : ""}`, title: KINDS[at][2] }, count(tool.counts[at]))),
      isInference ? el("td", { class: "number" }, tool.complete === undefined ? "" : count(tool.complete)) : null,
      el("td", { class: "number" }, tool.cpu === undefined ? "" : `${count(tool.cpu)} s`),
      `${tool.shard || "all"}${tool.stale ? `, ${plural(tool.stale, "part")} changed since` : ""}`].filter((cell) => cell !== null));
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": question.title }, site.table({ class: "wide" }, head, rows));
  }

  /** The name of a part of the suite, as a link where it has a page. */
  function partLink(part) {
    const version = /^([a-z.]+)\/(.+)-(\d+)$/.exec(part);
    if (version) return link(site.operatorHref(version[1], version[2], { v: version[3] }), null, `${version[1] === "ai.onnx" ? "" : `${version[1]}/`}${version[2]}-${version[3]}`);
    const [kind, topic, pattern] = part.split("/");
    if (kind === "graph" && pattern) return link(site.href(["graphs"], { open: `${topic}/${pattern}`, at: "opened" }), null, `${topic}/${pattern}`.replaceAll("_", " "));
    return part;
  }

  function byOperator(question, all) {
    const newest = question.tools.filter((tool) => tool.newest);
    const rows = question.rows.map(([part, target, cells]) => ({ part, target, cells: cells.map((text) => (text === "" ? null : parse(text))) }));
    const shown = all ? rows : rows.filter(({ cells }) => cells.some((cell) => cell && isWrong(cell.counts)));
    const cellOf = (cell, at) => {
      if (!cell) return el("td", { class: "quiet" }, "");
      const { counts, complete } = cell;
      const key = isWrong(counts) ? "w" : counts[4] > 0 ? "e" : counts[1] > 0 ? "d" : "r";
      const bad = counts[2] + counts[3] + counts[4] + (key === "d" ? counts[1] : 0);
      const title = `${newest[at].name}: ${words(cell)}`;
      const known = complete === null || counts[0] === 0 ? "" : ` · ${Math.round((100 * complete) / counts[0])} %`;
      return el("td", null, el("span", { class: `mark s-${key}`, title }, el("span", { "aria-hidden": "true" }, site.STATE[key].sign, el("span", { class: "of" }, key === "r" ? "" : ` ${bad}/${totalOf(counts)}`, known)),
        el("span", { class: "unseen" }, title)));
    };
    const toggle = site.select("Rows", "rows", [["", "wrong somewhere"], ["all", "all"]], all ? "all" : "");
    return [
      el("h2", null, "By operator version and pattern"),
      el("p", { class: "quiet" }, "The newest version of each tool. A number counts the answers that are not right, of all. ",
        newest.some(({ complete }) => complete !== undefined) ? "A percentage is the share of models of which all sizes are known." : ""),
      el("form", { class: "filters", "aria-label": "Rows", onsubmit: (event) => event.preventDefault() }, toggle),
      el("p", { role: "status" }, `${count(shown.length)} of ${plural(rows.length, "row")}.`),
      shown.length === 0 ? null : el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Answers by operator version" },
        site.table({ class: "grid" }, ["operator or pattern", ...newest.map(({ name, version }) => `${name} ${version}`)],
          shown.map(({ part, target, cells }) => [el("th", { scope: "row" }, partLink(part), target ? ` to ${target}` : ""), ...cells.map(cellOf)]))),
    ];
  }

  /** The newest checkers by what is wrong with the models, or by the beginning of the ids of valid ones. */
  function byKind({ checkers, invalid, valid }, question) {
    if (!question.name.startsWith("check")) return null;
    const isInvalid = question.name !== "check";
    const [rows, title, head] = isInvalid ? [invalid, "By what is wrong: refused / accepted", "the model must be refused, because"]
      : [valid, "By the beginning of the ids: accepted / refused", "beginning"];
    const cellOf = ([right, wrong, other]) => el("td", { class: `number ${wrong > 0 ? "s-w" : ""}` }, [right, wrong, ...(other > 0 ? [other] : [])].map(count).join(" / "));
    const others = isInvalid
      ? [["not judged: the checker refuses the model without the violation, too", "not_judged"], ["not counted: new, changed or not asked about", "unknown_invalid"]]
      : [["not counted: new, changed or not asked about", "unknown_valid"]];
    return [
      el("h2", null, title),
      el("p", { class: "quiet" }, "The newest version of each checker. A third number counts missing answers."),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
        site.table({ class: "wide" }, [head, ...checkers.map(({ name, version }) => `${name} ${version}`)], [
          ...rows.map(({ name, counts }) => [el("th", { scope: "row" }, name), ...counts.map(cellOf)]),
          ...others.map(([name, key]) => [el("th", { scope: "row", class: "quiet" }, name), ...checkers.map((checker) => el("td", { class: "number quiet" }, count(checker[key])))]),
        ])),
    ];
  }

  function faults(all, question) {
    const asked = all.filter((fault) => fault.question === question.name || (question.name.startsWith("check") && fault.question === "check"));
    if (asked.length === 0) return null;
    return [
      el("h2", null, plural(asked.length, "argued fault")),
      asked.map((fault) => el("article", { class: "finding" }, el("h3", null, fault.title),
        el("p", { class: "quiet" }, `${fault.tool}/${fault.id} · ${fault.outcome}`, fault.varies ? " · varies from run to run" : "", fault.pass ? ` · pass ${fault.pass}` : "",
          fault.older === undefined ? "" : fault.older ? " · older version: fails, too" : " · older version: passes"),
        fault.quote ? el("p", null, el("span", { class: "quiet" }, "The standard: "), `“${fault.quote}”`) : null,
        el("p", null, el("span", { class: "quiet" }, "The tool: "), fault.says),
        fault.also.length > 0 ? el("p", null, el("span", { class: "quiet" }, "Also: "), fault.also.join(", ")) : null,
        el("pre", { tabindex: "0" }, ["onnx-conformance", "finding", "--issue", `${fault.tool}/${fault.id}`].join(" ")))),
    ];
  }

  site.page("tools", async (_, chosen) => {
    const data = await site.load("tools");
    const question = data.questions.find(({ name }) => name === chosen.get("question")) || data.questions[0];
    return [
      el("h1", null, "Tools"),
      el("p", { class: "lead" }, "A model passes through tools before a runtime gets it. Each case is a model with known outputs, so a tool that changes, infers or checks models can be tested with it."),
      el("nav", { class: "chips", "aria-label": "Questions" }, data.questions.map(({ name, title }) => link(site.href(["tools"], { question: name === data.questions[0].name ? "" : name }),
        { class: "chip", "aria-current": name === question.name ? "true" : undefined }, title))),
      el("h2", null, question.title),
      el("p", null, el("span", { class: "quiet" }, "Right: "), question.right),
      summary(question),
      byKind(data.checkers, question),
      byOperator(question, chosen.get("rows") === "all"),
      faults(data.faults, question),
    ];
  });
})();
