"use strict";

/** The page of an operator. */
(() => {
  const { el, link, code, table, plural } = site;

  const short = (name) => name.replace(/^tensor\((.*)\)$/, "$1");

  function versionChips(data, version, chosen) {
    return el("span", { class: "versions" }, data.versions.map((one) => link(
      site.operatorHref(data.domain, data.name, { ...Object.fromEntries(chosen), v: one.since }),
      { class: "chip", "aria-current": one === version ? "true" : undefined, "data-focus": `v-${one.since}` },
      `${one.since}${one.deprecated ? " †" : ""}`)));
  }

  function facts(data, version) {
    const address = data.domain === "ai.onnx" ? `onnx__${data.name}` : `onnx_${data.domain.replaceAll(".", "")}_${data.name}`;
    return el("p", { class: "facts" },
      el("span", null, version.since === version.last ? `opset ${version.since}` : `opsets ${version.since}–${version.last}`),
      version.release ? el("span", null, `since ONNX ${version.release}`) : null,
      el("span", null, `shape inference ${version.inference ? "yes" : "no"}`),
      el("span", null, version.function ? `function ${version.function === "body" ? "yes" : "yes, by its attributes and types"}` : "function no"),
      version.deprecated ? el("span", { class: "mark s-e" }, "deprecated") : null,
      version.experimental ? el("span", { class: "mark s-p" }, "experimental") : null,
      link(`https://onnx.ai/onnx/operators/${address}.html`, { rel: "noreferrer" }, "the standard's text"));
  }

  function signature(version) {
    const attributes = version.attributes.map(([name, type, value, required]) => [
      code(name), type, required ? "required" : value === null ? el("span", { class: "quiet" }, "no default") : code(value === "" ? "\"\"" : value),
    ]);
    const formals = (rows) => rows.map(([name, type, presence]) => [code(name), type, presence]);
    return [
      el("pre", { class: "signature" }, version.signature),
      el("div", { class: "columns" },
        attributes.length > 0 ? el("section", null, el("h3", null, "Attributes"), table(null, ["name", "type", "default"], attributes)) : null,
        el("section", null, el("h3", null, "Inputs"), version.inputs.length > 0 ? table(null, ["name", "type", "presence"], formals(version.inputs)) : el("p", { class: "quiet" }, "none")),
        el("section", null, el("h3", null, "Outputs"), table(null, ["name", "type", "presence"], formals(version.outputs)))),
    ];
  }

  /** A cell of states, one mark per column; with words if there is only one column. */
  function strip(front, data, rowsAt, columns, level) {
    const cells = data.rows[rowsAt[level]].split(" ").map(site.cell);
    if (columns.length === 1) {
      const cell = cells[columns[0]] || site.cell("?");
      return el("span", { class: "strip" }, site.mark(cell, cell.total > 0 ? `${site.STATE[cell.key].name} ${site.cellNumbers(cell) || cell.total}` : site.STATE[cell.key].name));
    }
    return el("span", { class: "strip" }, columns.map((at) => {
      const cell = cells[at] || site.cell("?");
      return site.mark(cell, "", { title: `${front.title(front.columns[at])}: ${site.cellWords(cell)}` });
    }));
  }

  function measured(front, data, version, columns, level) {
    const cells = data.rows[version.all[level]].split(" ").map(site.cell);
    return el("ul", { class: "measured" }, columns.map((at) => {
      const column = front.columns[at];
      const taken = site.takes(column, data.domain, version.since);
      const cell = taken ? cells[at] || site.cell("?") : site.cell("n");
      return el("li", null, site.mark(cell), " ", link(site.href(["runtime", column.key]), null, front.title(column)), " ", el("span", { class: "quiet" }, site.cellWords(cell)));
    }));
  }

  function types(front, data, columns, level) {
    const parameters = [...new Set(data.versions.flatMap((version) => version.types.map(([name]) => name)))];
    const versions = [...data.versions];
    if (window.matchMedia("(max-width: 760px)").matches) versions.reverse();
    return parameters.map((parameter) => {
      const rows = new Map();
      for (const version of data.versions) {
        for (const [name, types] of version.types) if (name === parameter) for (const [label, spelt] of types) rows.set(label, spelt);
      }
      const of = (version) => version.types.find(([name]) => name === parameter);
      const shown = versions.filter(of);
      const order = [...rows].sort((a, b) => Number(a[1].includes("(tensor")) - Number(b[1].includes("(tensor")) || a[0].localeCompare(b[0]));
      return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Types of ${parameter}` },
        table({ class: "types" }, [parameter, ...shown.map((version) => `${data.name}-${version.since}`)], order.map(([label, spelt]) => [
          code(spelt), ...shown.map((version) => {
            const found = of(version)[1].find(([other]) => other === label);
            return found ? el("td", null, strip(front, data, found[2], columns, level)) : el("td", { class: "absent", title: "not in the standard" }, "");
          })])));
    });
  }

  /** The types of a version, each with its state on every shown column. */
  function typesByRuntime(front, data, version, columns, level) {
    return version.types.map(([parameter, all]) => {
      const order = [...all].sort((a, b) => Number(a[1].includes("(tensor")) - Number(b[1].includes("(tensor")) || a[0].localeCompare(b[0]));
      const head = columns.map((at) => el("th", { scope: "col" }, link(site.href(["runtime", front.columns[at].key]), null, front.columns[at].runtime), " ", el("span", { class: "quiet" }, front.columns[at].version)));
      return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Types of ${parameter}` }, el("table", { class: "types by-runtime" },
        el("thead", null, el("tr", null, el("th", { scope: "col" }, parameter), head)),
        el("tbody", null, order.map(([, spelt, rows]) => {
          const cells = data.rows[rows[level]].split(" ").map(site.cell);
          return el("tr", null, el("th", { scope: "row" }, code(spelt)), columns.map((at) => {
            const cell = cells[at] || site.cell("?");
            return el("td", null, site.mark(cell, site.cellNumbers(cell), { title: `${front.title(front.columns[at])}: ${site.cellWords(cell)}` }));
          }));
        }))));
    });
  }

  /** The types of the shown version by runtime, or of all versions on one runtime. */
  function typeSection(front, data, version, chosen, columns, level) {
    const at = front.column(chosen.get("types") || "");
    const choices = [["", "each runtime"], ...front.columns.map((column) => [column.key, front.title(column)])];
    return el("section", { id: "types" }, el("div", { class: "line" }, el("h2", null, at < 0 ? `Types of ${data.name}-${version.since}` : "Types by version"), site.select("on", "types", choices, at < 0 ? "" : front.columns[at].key)),
      el("p", { class: "quiet" }, at < 0 ? `${site.numbers(level)} Choose one runtime for all versions.` : `Each version of the operator, on this runtime. ${site.numbers(level)}`),
      el("div", { class: at < 0 ? "" : "columns" }, at < 0 ? typesByRuntime(front, data, version, columns, level) : types(front, data, [at], level)), site.legend());
  }

  /** Number of sentences that a rule shows at first. */
  const MAX_SENTENCES = 2;

  /** The sentences of the standard that a rule follows from, in the shown version. Labels of a few words come last. */
  site.sentencesOf = (data, version, id) => {
    const isShort = (one) => one.t.split(" ").length < 5;
    const own = data.sentences.filter((one) => one.s === "tested" && one.v.includes(version.since) && one.w.split(", ").includes(id));
    return [...own.filter((one) => !isShort(one)), ...own.filter(isShort)];
  };

  function sourceOf(data, version, id) {
    const quotes = site.sentencesOf(data, version, id).map((one) => el("blockquote", { class: "sentence" }, one.t, el("div", { class: "quiet" }, one.p)));
    const rest = quotes.slice(MAX_SENTENCES);
    return [quotes.slice(0, MAX_SENTENCES), rest.length > 0 ? el("details", null, el("summary", { class: "quiet" }, `${plural(rest.length, "more sentence")} of the standard`), rest) : null];
  }

  function rules(data, version, chosen) {
    if (data.rules.length === 0) return null;
    const known = new Set(data.behaviours.map((behaviour) => behaviour.n));
    const find = (name) => [name, `large/${name}`].find((one) => known.has(one));
    const chips = (names) => names.map(find).filter(Boolean).map((name) => link(site.operatorHref(data.domain, data.name, { ...Object.fromEntries(chosen), b: name, at: "behaviour" }), { class: "chip" }, name));
    return el("section", { id: "rules" }, el("h2", null, "Rules"), data.sentences.length > 0 ? el("p", { class: "quiet" }, `Under a rule are the sentences of the standard that state it in ${data.name}-${version.since}.`) : null, el("dl", { class: "rules" }, data.rules.map((rule) => [
      el("dt", { id: `rule-${rule.id}` }, rule.id), el("dd", null, `${rule.says}.`,
        sourceOf(data, version, rule.id),
        rule.shown.length > 0 ? el("div", null, el("span", { class: "quiet" }, "shown by "), chips(rule.shown)) : null,
        rule.broken.length > 0 ? el("div", null, el("span", { class: "quiet" }, "must be refused "), chips(rule.broken)) : null)])));
  }

  /** The standard's sentences, each with what tests it. */
  function sentences(data, version) {
    const own = data.sentences.filter((one) => one.v.includes(version.since) && one.s !== "function body");
    if (own.length === 0) return null;
    const about = (one) => one.s === "tested" ? `${one.w}: ${one.n} ${one.n === 1 ? "case" : "cases"}` : one.w;
    return el("section", { id: "text" }, el("details", null,
      el("summary", null, el("h2", null, "The standard's sentences"), ` ${own.length}, of which ${own.filter((one) => one.s === "tested").length} have cases`),
      el("dl", { class: "sentences" }, own.map((one) => [
        el("dt", null, one.p), el("dd", { class: one.s.replaceAll(" ", "-") }, one.t, el("div", { class: "quiet" }, about(one)))]))));
  }

  /** A line with its marked words. */
  function marked(text, marks) {
    const chars = [...text];
    const parts = [];
    let at = 0;
    for (const [start, end] of marks || []) {
      parts.push(chars.slice(at, start).join(""), el("mark", null, chars.slice(start, end).join("")));
      at = end;
    }
    parts.push(chars.slice(at).join(""));
    return parts;
  }

  function changes(data, version, chosen) {
    if (data.versions.length < 2) return null;
    const sinces = data.versions.map((one) => one.since);
    const index = sinces.indexOf(version.since);
    let to = Number(chosen.get("to"));
    let from = Number(chosen.get("from"));
    if (!sinces.includes(to)) to = index > 0 ? version.since : sinces[1];
    if (!sinces.includes(from)) from = sinces[Math.max(sinces.indexOf(to) - 1, 0)];
    if (from > to) [from, to] = [to, from];
    const pair = data.pairs.find((one) => one.from === from && one.to === to);
    const select = (label, name, value) => site.select(label, name, sinces.map((since) => [since, `${data.name}-${since}`]), value);
    const head = el("div", { class: "line", id: "changes" }, el("h2", null, "What changed"), select("from", "from", from), select("to", "to", to));
    if (!pair) return el("section", null, head, el("p", { class: "quiet" }, "Choose two different versions."));
    const [old, now] = [from, to].map((since) => data.versions.find((one) => one.since === since));
    const words = { meaning: "Meaning", silent: "Silently (the model stays valid)", signature: "Signature" };
    const listed = ["meaning", "silent", "signature"].map((kind) => [kind, pair.changes.filter(([of]) => of === kind)]).filter(([, all]) => all.length > 0);
    const differs = pair.rows.some((row) => !row.same);
    return el("section", null, head,
      listed.length > 0 ? el("dl", { class: "changes" }, listed.map(([kind, all]) => [el("dt", null, words[kind]), all.map(([, text]) => el("dd", null, text))]))
        : el("p", null, "Nothing changed in the signature or in the meaning."),
      text(old, now),
      differs ? difference(data, pair.rows, [old, now], ({ lines }) => lines, "Signatures line by line") : null,
      pair.text && pair.text.some((row) => !row.same)
        ? [el("h3", null, "The standard's text, from the installed onnx package"), difference(data, pair.text, [old, now], ({ standard }) => standard, "The standard's text line by line")] : null);
  }

  /** Two texts in two columns; equal parts are omitted except for their edges. */
  function difference(data, changes, [old, now], linesOf, label) {
    const [before, after] = [linesOf(old), linesOf(now)];
    const context = 2;
    const rows = [];
    const line = (number, text, marks, side) => [el("td", { class: "number" }, number === null ? "" : String(number + 1)), el("td", { class: side }, number === null ? "" : marked(text, marks))];
    for (const row of changes) {
      if (row.same) {
        const [a, b, length] = row.same;
        const isFirst = rows.length === 0;
        for (let step = 0; step < length; step += 1) {
          if ((step >= context || isFirst) && length - step > context) {
            const skipped = length - step - context;
            if (skipped > 1) {
              rows.push(el("tr", null, el("td", { colspan: "4", class: "skipped" }, `… ${skipped} equal lines`)));
              step += skipped - 1;
              continue;
            }
          }
          rows.push(el("tr", null, line(a + step, before[a + step], [], ""), line(b + step, after[b + step], [], "")));
        }
      } else {
        const [left, right] = [row.old, row.new];
        rows.push(el("tr", null, left ? line(left[0], before[left[0]], left[1], "old") : line(null), right ? line(right[0], after[right[0]], right[1], "new") : line(null)));
      }
    }
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", { class: "diff" },
      el("colgroup", null, ["digits", "", "digits", ""].map((name) => el("col", { class: name }))),
      el("thead", null, el("tr", null, el("th", { colspan: "2", scope: "col" }, `${data.name}-${old.since}`), el("th", { colspan: "2", scope: "col" }, `${data.name}-${now.since}`))),
      el("tbody", null, rows)));
  }

  /** Tells the reader if the standard's text has changed. */
  function text(old, now) {
    if (!old.text || !now.text) return null;
    const [lines, digest] = old.text;
    if (digest === now.text[1]) return el("p", { class: "quiet" }, `The standard's text is unchanged (${plural(lines, "line")}).`);
    return el("p", { class: "quiet" }, `The standard's text has changed: ${plural(lines, "line")} before, ${now.text[0]} now.`);
  }

  /** The types of a case by the end of its name. */
  site.typesOf = (version, rest) => {
    const names = new Set(version.types.map(([name]) => name));
    const last = rest.split("@")[0].split("/").at(-1) || "";
    const pairs = last.split(",").map((pair) => pair.split("="));
    return pairs.length > 0 && pairs.every(([name, value]) => names.has(name) && value) ? pairs : [];
  };

  /** The outcome of some cases on a column: the worst state and the number of cases in it. */
  const worst = site.worstOf = (data, cases, at) => {
    let key = null;
    let bad = 0;
    for (const [, outcome] of cases) {
      const [, state] = site.OUTCOMES[data.outcomes[outcome][at] || "?"];
      if (key === null || (site.isWorse(state, key) && state !== "?") || (key === "?" && state !== "?")) [key, bad] = [state, 1];
      else if (state === key) bad += 1;
    }
    return { key: key || "?", bad, total: cases.length };
  };

  function caseTable(front, data, version, chosen, columns) {
    const on = Math.max(front.column(chosen.get("on") || ""), -1);
    const at = on >= 0 ? on : columns[0];
    const filter = chosen.get("only") === "failing";
    const all = data.behaviours.filter((behaviour) => behaviour.v[version.since]);
    const rows = all.map((behaviour) => ({ behaviour, cases: behaviour.v[version.since], state: worst(data, behaviour.v[version.since], at) }))
      .filter(({ state }) => !filter || "cwseai".includes(state.key));
    const open = chosen.get("b");
    const order = (one) => (one.behaviour.refusal ? 2 : 0) + (one.behaviour.n.startsWith("large/") ? 1 : 0);
    rows.sort((a, b) => order(a) - order(b) || a.behaviour.n.localeCompare(b.behaviour.n));
    const line = ({ behaviour, cases, state }) => {
      const byType = new Map();
      for (const one of cases) {
        const types = site.typesOf(version, one[0]);
        const label = types.length > 0 ? types[0][1] : "";
        if (!byType.has(label)) byType.set(label, []);
        byType.get(label).push(one);
      }
      const chips = [...byType].map(([label, some]) => {
        const cell = worst(data, some, at);
        const id = `${data.domain}/${data.name}-${version.since}/${behaviour.n}${some[0][0]}`;
        const text = [short(label), some.length > 1 ? `×${some.length}` : ""].filter(Boolean).join(" ");
        return link(site.caseHref(id), { class: `mark s-${cell.key === "?" ? "q" : cell.key}`, title: `${plural(some.length, "case")}: ${cell.bad} ${site.STATE[cell.key].name}` },
          el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign), el("span", { class: "unseen" }, site.STATE[cell.key].name), text ? ` ${text}` : "");
      });
      const isOpen = open === behaviour.n;
      const next = { ...Object.fromEntries(chosen), v: version.since, b: isOpen ? "" : behaviour.n, at: "" };
      const row = [
        el("th", { scope: "row", id: isOpen ? "behaviour" : undefined }, link(site.operatorHref(data.domain, data.name, next), { "aria-expanded": String(isOpen), "data-focus": `b-${behaviour.n}`, class: "behaviour",
          onclick: (event) => { event.preventDefault(); site.choose({ v: version.since, b: next.b, at: "" }); } }, behaviour.n.replace(/^(refuse|large)\//, "")),
        behaviour.level === "required" ? null : el("span", { class: "quiet" }, ` ${behaviour.level}`), behaviour.edge ? el("span", { class: "quiet" }, " special values") : null),
        el("td", null, site.mark(state)),
        el("td", { class: "chips" }, chips),
      ];
      const made = [el("tr", null, row)];
      const settings = isOpen ? [...new Set(cases.map(([, , at]) => data.settings[at]).filter(Boolean))] : [];
      if (isOpen) made.push(el("tr", { class: "more" }, el("td", { colspan: "3" }, settings.length > 0 ? el("p", { class: "quiet" }, "Settings of the node: ", settings.slice(0, 12).map((text, at) => [at > 0 ? "; " : "", code(text)]), settings.length > 12 ? ` and ${settings.length - 12} more` : "") : null, site.sample(front, data, data.samples[behaviour.n]))));
      return made;
    };
    const titles = { 0: "Must run", 1: "Must run, large", 2: "Must be refused", 3: "Must be refused" };
    let last = -1;
    const body = rows.flatMap((entry) => {
      const group = order(entry);
      const head = group !== last ? [el("tr", { class: "group" }, el("th", { colspan: "3", scope: "colgroup" }, titles[group]))] : [];
      last = group;
      return [...head, ...line(entry)];
    });
    return el("section", { id: "cases" },
      el("div", { class: "line" }, el("h2", null, `Cases of ${data.name}-${version.since}`),
        site.select("on", "on", front.columns.map((column) => [column.key, front.title(column)]), front.columns[at].key),
        site.select("show", "only", [["", "all"], ["failing", "only failures"]], filter ? "failing" : "")),
      rows.length > 0 ? el("div", { class: "scroll" }, el("table", { class: "cases" }, el("thead", null, el("tr", null, ["behaviour", "", "types"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", null, body)))
        : el("p", null, filter ? "No failures." : "There are no cases."));
  }

  function findings(data) {
    if (data.findings.length === 0) return null;
    return el("section", { id: "findings" }, el("h2", null, "Findings"), data.findings.map((finding) => el("article", { class: "finding" },
      el("h3", null, link(site.findingHref(finding.runtime, finding.id), null, finding.title)),
      el("p", { class: "quiet" }, `${finding.runtime} ${finding.versions}`),
      el("p", null, el("span", { class: "quiet" }, "The standard: "), finding.proof),
      finding.text ? el("p", null, el("span", { class: "quiet" }, "So: "), finding.text) : null,
      el("p", null, el("span", { class: "quiet" }, "The runtime: "), finding.does),
      el("p", { class: "quiet" }, Object.entries(finding.behaviours).map(([since, names]) => el("span", null, `${data.name}-${since}: ${names.join(", ")}. `))))));
  }

  /** The version that an address asks for, which may be any opset; the newest by default. */
  function versionAt(data, wanted) {
    const version = wanted ? data.versions.findLast((one) => one.since <= wanted) || data.versions[0] : data.versions.at(-1);
    if (!wanted || version.since === wanted) return [version, null];
    const words = version.since < wanted ? `At opset ${wanted} of ${data.domain}, ${data.name}-${version.since} is in force.` : `Opset ${wanted} of ${data.domain} has no ${data.name}. This is its first version.`;
    return [version, el("p", { class: "notice" }, words)];
  }

  site.page("op", async (parts, chosen) => {
    const [domain, name] = parts;
    const front = await site.front();
    if (parts.length !== 2 || !front.byName.has(`${domain}/${name}`)) return site.otherOperator(front, parts, chosen);
    const data = await site.load(`op/${domain}/${name}`);
    const [version, remark] = versionAt(data, Number(chosen.get("v")));
    const columns = site.chosenColumns(front, chosen);
    const level = chosen.get("level") === "recommended" ? 1 : 0;
    const does = site.does(data);
    return [
      el("p", { class: "crumbs" }, link(site.href([], { domain }), null, domain), " · ", link(site.href([], { field: front.byName.get(`${domain}/${name}`).f }), null, front.byName.get(`${domain}/${name}`).f),
        " · versions ", versionChips(data, version, chosen)),
      el("h1", { "data-plain": `op/${domain}/${name}.html` }, `${name}-${version.since}`),
      remark,
      el("p", { class: "lead" }, data.summary),
      facts(data, version),
      site.contents(data, chosen, [["does", "What it does", does !== null], ["measured", "Measured", true], ["behaviours", "Behaviours", data.behaviours.length > 0], ["types", "Types", true], ["rules", "Rules", data.rules.length > 0], ["text", "Sentences", data.sentences.length > 0], ["accuracy", "Accuracy", true],
        ["changes", "Changes", data.versions.length > 1], ["conversions", "Conversions", data.conversions.length > 0], ["cases", "Cases", data.behaviours.length > 0], ["findings", `Findings (${data.findings.length})`, data.findings.length > 0]]),
      signature(version),
      does,
      el("section", { id: "measured" }, el("div", { class: "line" }, el("h2", null, "Measured"), site.select("cases", "level", [["", "required"], ["recommended", "and recommended"]], level ? "recommended" : "")),
        measured(front, data, version, columns, level), site.columnChooser(front, columns)),
      site.behaviours(front, data, version, chosen, columns),
      typeSection(front, data, version, chosen, columns, level),
      rules(data, version, chosen),
      sentences(data, version),
      el("section", { id: "accuracy" }, el("h2", null, "Accuracy"), el("dl", { class: "accuracy" }, data.accuracy.map(([of, rule]) => [el("dt", null, of), el("dd", null, rule)])), site.histograms(front, data, version, columns)),
      changes(data, version, chosen),
      site.conversions(data),
      caseTable(front, data, version, chosen, columns),
      site.playground(front, data, chosen),
      findings(data),
      data.also && data.also.length > 0 ? el("section", null, el("h2", null, "Also used in"), el("p", null, data.also.map((id) => [code(id), " "]))) : null,
    ];
  });
})();
