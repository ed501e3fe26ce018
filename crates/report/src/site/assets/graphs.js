"use strict";

/** The page of graphs: patterns that optimizers rewrite, by topic. And the page of one of their cases. */
(() => {
  const { el, link, plural } = site;
  const open = new Set();

  const caseOf = (topic, pattern, form, rest) => `graph/${topic}/${pattern}/${form}${rest}`;
  const kinds = { good: "good form", near: "near miss", in: "context" };
  const kindOf = (form) => kinds[form.n.split("/")[0]];
  const nameOf = (form) => (form.n.split("/")[1] || "good form").replaceAll("_", " ");
  const className = (key) => `s-${key === "?" ? "q" : key}`;
  const patternHref = (topic, pattern) => site.href(["graphs"], { open: `${topic}/${pattern}`, at: "opened" });

  function thread(name) {
    const [repository, number] = name.split("#");
    return link(`https://github.com/${repository}/issues/${number}`, { rel: "noreferrer" }, name);
  }

  /** The worst outcome of a form's cases on a column, with the first case that has it. */
  function worst(data, form, at) {
    let found = null;
    for (const [rest, outcome] of form.cases) {
      const [words, state] = site.OUTCOMES[data.outcomes[outcome][at] || "?"];
      const key = state === "w" && form.edge ? "s" : state;
      const isUnknown = (one) => "?n".includes(one);
      if (!found || (isUnknown(found.key) && !isUnknown(key)) || (!isUnknown(key) && site.isWorse(key, found.key))) found = { key, rest, words, bad: 1 };
      else if (found.key === key) found.bad += 1;
    }
    return found;
  }

  function findings(all) {
    return all.map((finding) => el("article", { class: "finding" }, el("h3", null, link(site.findingHref(finding.runtime, finding.id), null, finding.title)),
      el("p", { class: "quiet" }, `${finding.runtime} ${finding.versions}`),
      el("p", null, el("span", { class: "quiet" }, "The standard: "), finding.proof),
      finding.text ? el("p", null, el("span", { class: "quiet" }, "So: "), finding.text) : null,
      el("p", null, el("span", { class: "quiet" }, "The runtime: "), finding.does)));
  }

  /** The forms of a pattern, with the state of each on the shown columns. */
  function details(front, data, topic, pattern, columns) {
    const rows = data.forms.map((form) => [
      el("th", { scope: "row" }, link(site.caseHref(caseOf(topic, pattern, form.n, form.cases[0][0])), null, nameOf(form)),
        el("span", { class: "quiet" }, form.n === "good" ? "" : ` ${kindOf(form)}`, form.cases.length > 1 ? ` ×${form.cases.length}` : "")),
      ...columns.map((at) => {
        const cell = worst(data, form, at);
        const title = `${front.title(front.columns[at])}: ${cell.words}${form.cases.length > 1 ? ` in ${cell.bad} of ${plural(form.cases.length, "case")}` : ""}`;
        return el("td", null, link(site.caseHref(caseOf(topic, pattern, form.n, cell.rest)), { class: `mark ${className(cell.key)}`, title },
          el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign), el("span", { class: "unseen" }, title)));
      }),
      el("td", { class: "why" }, form.why || (form.n === "good" ? "the graph that optimizers rewrite" : "")),
    ]);
    return [
      data.threads.length > 0 ? el("p", null, el("span", { class: "quiet" }, "Reports: "), data.threads.map((name, at) => [at > 0 ? ", " : "", thread(name)])) : null,
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Forms of ${pattern}` },
        site.table({ class: "forms" }, ["graph", ...columns.map((at) => front.title(front.columns[at])), "condition"], rows)),
      findings(data.findings),
    ];
  }

  /** The shown patterns by topic, each with its states. */
  function listed(front, graphs, shown) {
    return graphs.topics.filter((topic) => !shown.topic || topic.n === shown.topic).map((topic) => ({
      topic,
      patterns: topic.patterns.map((pattern) => {
        const all = graphs.rows[pattern.row].split(" ").map(site.cell);
        return { pattern, cells: shown.columns.map((at) => all[at] || site.cell("?")) };
      }).filter(({ cells }) => shown.states.length === 0 || cells.some((cell) => shown.states.includes(cell.key))),
    })).filter(({ patterns }) => patterns.length > 0);
  }

  function grid(front, shown, topics) {
    const width = String(shown.columns.length + 2);
    const head = el("tr", null, el("th", { scope: "col" }, "Pattern"), el("th", { scope: "col", class: "since" }, "cases"),
      shown.columns.map((at) => el("th", { scope: "col" }, link(site.href(["runtime", front.columns[at].key]), null, front.columns[at].runtime), " ",
        el("span", { class: "quiet" }, front.columns[at].version), front.columns[at].file ? el("span", { class: "own" }, front.columns[at].file) : null)));
    const toggle = async (row, topic, pattern) => {
      const name = `${topic.n}/${pattern.n}`;
      const isOpen = row.nextElementSibling && row.nextElementSibling.classList.contains("more");
      row.querySelector(".open").setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) {
        row.nextElementSibling.remove();
        open.delete(name);
        return;
      }
      open.add(name);
      const cell = el("td", { colspan: width }, el("p", { class: "quiet" }, "Loading…"));
      row.after(el("tr", { class: "more" }, cell));
      try {
        const data = await site.load(`graph/${name}`);
        cell.replaceChildren(...details(front, data, topic.n, pattern.n, shown.columns).flat(Infinity).filter(Boolean));
      } catch (error) {
        cell.replaceChildren(el("p", { class: "notice" }, String(error.message || error)));
      }
    };
    const opening = [];
    const line = (topic, { pattern, cells }) => {
      const name = `${topic.n}/${pattern.n}`;
      const row = el("tr", { "data-operator": name, id: shown.open === name ? "opened" : undefined },
        el("th", { scope: "row" },
          el("button", { type: "button", class: "open", tabindex: "-1", "aria-expanded": "false", "aria-label": `${pattern.n}: near misses and contexts`, onclick: () => toggle(row, topic, pattern) }, ""),
          link(site.caseHref(caseOf(topic.n, pattern.n, "good", "")), { class: "cell", tabindex: "-1" }, pattern.n.replaceAll("_", " ")),
          el("p", { class: "quiet says" }, pattern.says)),
        el("td", { class: "since" }, String(pattern.cases)),
        cells.map((cell, index) => {
          const column = front.columns[shown.columns[index]];
          const words = site.cellWords(cell, "graph");
          return el("td", null, link(patternHref(topic.n, pattern.n), {
            class: `cell mark ${className(cell.key)}`, tabindex: "-1", title: `${pattern.n}, ${front.title(column)}: ${words}`,
            onclick: (event) => { event.preventDefault(); toggle(row, topic, pattern); },
          }, el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign), el("span", { class: "unseen" }, words), " ",
          el("span", { class: "of", "aria-hidden": "true" }, site.cellNumbers(cell))));
        }));
      if (open.has(name) || shown.open === name) opening.push([row, topic, pattern]);
      return row;
    };
    const body = topics.map(({ topic, patterns }) => [
      el("tr", { class: "group" }, el("th", { colspan: width, scope: "colgroup" }, el("span", null, el("b", null, topic.n.replaceAll("_", " ")), " ", topic.s))),
      patterns.map((entry) => line(topic, entry)),
    ]);
    const made = el("div", { class: "scroll tall" }, el("table", { class: "grid graphs", id: "grid", "aria-label": "Patterns" }, el("thead", null, head), el("tbody", null, body)));
    for (const [row, topic, pattern] of opening) toggle(row, topic, pattern);
    return made;
  }

  site.page("graphs", async (_, chosen) => {
    const front = await site.front();
    const graphs = await site.load("graphs");
    const measured = new Set(graphs.measured);
    const columns = chosen.get("cols") ? site.chosenColumns(front, chosen) : front.newest.filter((at) => measured.has(at));
    const shown = { columns, topic: chosen.get("topic") || "", states: [...(chosen.get("state") || "")], open: chosen.get("open") || "" };
    const topics = listed(front, graphs, shown);
    const sum = (of) => graphs.topics.flatMap(({ patterns }) => patterns).reduce((total, pattern) => total + of(pattern), 0);
    const others = [...new Set(front.newest.filter((at) => !measured.has(at)).map((at) => front.columns[at].runtime))];
    const toggle = (key) => site.choose({ state: (shown.states.includes(key) ? shown.states.filter((one) => one !== key) : [...shown.states, key]).join("") });
    return [
      el("h1", null, "Graphs"),
      el("p", { class: "lead" }, `${plural(sum(() => 1), "pattern")} in ${plural(graphs.topics.length, "topic")}, ${plural(sum(({ cases }) => cases), "case")}. `,
        "A runtime may rewrite a graph, but the outputs must not change."),
      el("p", { class: "quiet" }, "Each pattern has a good form, which optimizers rewrite, and the same graph in contexts, such as a branch. A near miss differs in one condition and must not be rewritten. ",
        "A mark sums up these graphs; the number is that of the failing ones."),
      others.length > 0 ? el("p", { class: "quiet" }, `Not measured on graphs: ${others.join(", ")}.`) : null,
      site.columnChooser(front, columns),
      el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
        site.select("Topic", "topic", [["", "all"], ...graphs.topics.map(({ n }) => [n, n.replaceAll("_", " ")])], shown.topic),
        el("div", { class: "chips", role: "group", "aria-label": "States" }, site.STATES.filter(({ key }) => !"oap".includes(key)).map((state) => el("button", {
          type: "button", class: `chip ${className(state.key)}`, "aria-pressed": String(shown.states.includes(state.key)),
          "data-focus": `state-${state.key}`, title: state.one, onclick: () => toggle(state.key),
        }, `${state.sign} ${state.name}`)))),
      el("p", { role: "status" }, `${plural(topics.reduce((total, { patterns }) => total + patterns.length, 0), "pattern")}. `,
        shown.topic || shown.states.length > 0 ? link(site.href(["graphs"], { cols: chosen.get("cols") }), null, "Show all") : null),
      grid(front, shown, topics),
      site.legend(),
    ];
  });

  /** Model, inputs and expected outputs of the first case of a form. */
  function text(topic, pattern, form, shown) {
    const id = caseOf(topic, pattern, form.n, form.cases[0][0]);
    return [el("h2", null, id === shown ? "The case" : form.n === "good" ? "The good form" : "A case of this near miss"),
      id === shown ? null : el("p", null, link(site.caseHref(id), null, id)), el("pre", { tabindex: "0" }, form.text)];
  }

  /** The page of a graph's case; nothing if there is no such case. */
  site.graphCase = async (front, [topic, pattern, ...path]) => {
    const graphs = await site.load("graphs");
    const known = graphs.topics.find(({ n }) => n === topic);
    if (!known || !known.patterns.some(({ n }) => n === pattern)) return null;
    const data = await site.load(`graph/${topic}/${pattern}`);
    const all = data.forms.flatMap((form) => form.cases.map(([rest, outcome]) => ({ form, rest, outcome, end: `${form.n}${rest}` })));
    // The name of a form stands for its first case.
    const wanted = path.join("/");
    const exact = all.findIndex(({ end }) => end === wanted);
    const position = exact >= 0 ? exact : all.findIndex(({ form }) => form.n === wanted);
    if (position < 0) return null;
    const { form, rest, outcome, end } = all[position];
    const id = caseOf(topic, pattern, form.n, rest);
    const letters = data.outcomes[outcome];
    const measured = front.columns.map((column, at) => ({ column, at, letter: letters[at] || "?" })).filter(({ letter }) => letter !== "?");
    const rows = measured.map(({ column, letter }) => {
      const [words, state] = site.OUTCOMES[letter];
      const key = state === "w" && form.edge ? "s" : state;
      return [link(site.href(["runtime", column.key]), null, front.title(column)), el("td", null, site.mark({ key, bad: 0, total: 0 }, words, { title: words }))];
    });
    const neighbour = (step, words) => {
      const other = all[position + step];
      return other ? link(site.caseHref(caseOf(topic, pattern, other.form.n, other.rest)), { class: "chip" }, words) : null;
    };
    return [
      el("p", { class: "crumbs" }, link("#/graphs", null, "Graphs"), " · ", link(site.href(["graphs"], { topic }), null, topic), " · ", link(patternHref(topic, pattern), null, pattern),
        ` · case ${position + 1} of ${all.length} `, neighbour(-1, "← before"), " ", neighbour(1, "next →")),
      el("h1", { class: "id" }, id),
      el("p", null, el("b", null, "The rewrite"), `: ${data.says}.`),
      el("p", null, el("b", null, form.n === "good" ? "Good form" : form.n.startsWith("in/") ? "Context" : "Near miss"),
        `: ${form.why || "the graph that optimizers rewrite"}.`, form.edge ? el("span", { class: "quiet" }, " It is about special values.") : null),
      el("h2", null, "Outcomes"),
      el("div", { class: "scroll" }, site.table({ class: "outcomes" }, ["runtime", "outcome"], rows)),
      findings(data.findings.filter((finding) => finding.cases.includes(end))),
      data.threads.length > 0 ? el("p", null, el("span", { class: "quiet" }, "Reports of wrong rewrites: "), data.threads.map((name, at) => [at > 0 ? ", " : "", thread(name)])) : null,
      el("h2", null, "Run it"),
      el("pre", { tabindex: "0" }, `onnx-conformance show '${id}'\nonnx-conformance run '${id}' --runtime onnxruntime\nonnx-conformance export case '${id}'`),
      text(topic, pattern, form.text ? form : data.forms[0], id),
    ];
  };
})();
