"use strict";

/** The front page: runtimes at an opset, then every operator. */
(() => {
  const MAIN_TYPES = ["float", "float16", "bfloat16", "double", "int64", "int32", "int8", "uint8", "bool", "string"];
  const open = new Set();

  /** The reader's choices. */
  function choices(front, chosen) {
    const opset = Number(chosen.get("opset")) || Math.min(21, front.newestOpset);
    return {
      opset: Math.min(Math.max(opset, 1), front.newestOpset),
      type: site.typeOf(front, chosen.get("type")),
      level: chosen.get("level") === "recommended" ? 1 : 0,
      domain: chosen.get("domain") || "",
      field: chosen.get("field") || "",
      states: (chosen.get("state") || "").split("").filter((key) => site.STATE[key]),
      on: chosen.get("on") || "",
      differ: chosen.get("differ") === "1",
      columns: site.chosenColumns(front, chosen),
      // The domain whose operators the numbers of the runtimes count.
      counted: chosen.get("domain") || "ai.onnx",
    };
  }

  /** Number of operators per state on a column, in a domain. */
  site.tally = (front, opset, at, type, level, domain = "ai.onnx") => {
    const counts = {};
    let all = 0;
    for (const operator of front.operators) {
      if (front.domains[operator.d].name !== domain) continue;
      const version = site.versionAt(front, operator, opset);
      if (!version || version.deprecated) continue;
      const cell = site.stateAt(front, operator, version, opset, at, type, level);
      if (!cell) continue;
      all += 1;
      counts[cell.key] = (counts[cell.key] || 0) + 1;
    }
    return { all, counts, measured: all - (counts["?"] || 0) - (counts.n || 0) - (counts.o || 0) };
  };

  /** Address of the operators behind a number. */
  const behind = (front, shown, at, type, state) => site.href([], {
    ...Object.fromEntries(site.address().chosen), type: site.typeKey(front, type), domain: shown.counted, state, on: front.columns[at].key, at: "operators",
  });

  function share(front, shown, at, type) {
    const { counts, measured } = site.tally(front, shown.opset, at, type, shown.level, shown.counted);
    const title = site.STATES.filter((state) => counts[state.key]).map((state) => `${counts[state.key]} ${state.name}`).join(", ");
    if (measured === 0) return site.el("td", { class: "share none", title }, counts.n ? "opset not accepted" : "–");
    const bar = site.el("span", { class: "bar", "aria-hidden": "true" }, site.STATES.slice().reverse().filter((state) => counts[state.key])
      .map((state) => site.el("span", { class: `s-${state.key === "?" ? "q" : state.key}`, style: `flex-grow:${counts[state.key]}` })));
    return site.el("td", { class: "share", title }, site.link(behind(front, shown, at, type, ""), null,
      site.el("b", null, String(counts.r || 0)), site.el("span", { class: "of" }, `/${measured}`), bar, site.el("span", { class: "unseen" }, ` ${title}`)));
  }

  function counter(front, shown, at, keys) {
    const { counts } = site.tally(front, shown.opset, at, shown.type, shown.level, shown.counted);
    const sum = keys.reduce((all, key) => all + (counts[key] || 0), 0);
    if (sum === 0) return site.el("td", { class: "number zero" }, counts["?"] || counts.r || counts.p ? "0" : "");
    return site.el("td", { class: "number" }, site.link(behind(front, shown, at, shown.type, keys.join("")), { class: `mark s-${keys[0]}` }, String(sum)));
  }

  /** Difference from the previous release, in operators. */
  function change(front, shown, at) {
    const column = front.columns[at];
    const before = front.columns.map((other, index) => ({ other, index })).filter(({ other, index }) =>
      index < at && !other.file && !column.file && other.runtime === column.runtime).at(-1);
    if (!before) return site.el("td", { class: "number zero" }, "");
    let better = 0;
    let worse = 0;
    for (const operator of front.operators) {
      const version = front.domains[operator.d].name === shown.counted && site.versionAt(front, operator, shown.opset);
      if (!version) continue;
      const cells = [before.index, at].map((one) => site.stateAt(front, operator, version, shown.opset, one, shown.type, shown.level));
      if (cells.some((cell) => !cell)) continue;
      const [a, b] = cells.map(({ key }) => key);
      if ("?no".includes(a) || "?no".includes(b) || a === b) continue;
      if (site.isWorse(b, a)) worse += 1;
      else better += 1;
    }
    return site.el("td", { class: "number" }, site.link(site.href(["compare", before.other.key, column.key], { opset: shown.opset, type: site.typeKey(front, shown.type) }),
      { title: `${better} operators better and ${worse} worse than in ${before.other.version}` }, `+${better} −${worse}`));
  }

  function runtimesTable(front, shown) {
    const main = MAIN_TYPES.map((name) => (name === "float" ? site.FLOAT : front.types.indexOf(name))).filter((type) => type !== -1);
    const types = [...main, site.ALL_TYPES].filter((type) => type !== shown.type);
    const chosen = site.typeWords(front, shown.type);
    const head = ["Runtime", "Opsets", "IR", `right in ${chosen}`, "wrong", "crash", "since last", ...types.map((type) => site.typeWords(front, type))];
    const rows = shown.columns.map((at) => {
      const column = front.columns[at];
      const range = column.opsets && column.opsets["ai.onnx"];
      return [
        site.el("th", { scope: "row" }, site.link(site.href(["runtime", column.key]), null, column.runtime), " ",
          site.el("span", { class: "quiet" }, column.version), column.file ? site.el("span", { class: "own" }, column.file) : null,
          column.remarks.length > 0 ? site.el("span", { class: "warning", title: column.remarks.join("\n") }, " note") : null),
        range ? `${range[0]}–${range[1]}` : site.el("span", { class: "quiet", title: "not said" }, "–"),
        column.ir ? `${column.ir[0]}–${column.ir[1]}` : site.el("span", { class: "quiet", title: "not said" }, "–"),
        share(front, shown, at, shown.type),
        counter(front, shown, at, ["w", "s"]),
        counter(front, shown, at, ["c"]),
        change(front, shown, at),
        ...types.map((type) => share(front, shown, at, type)),
      ];
    });
    return site.el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "runtimes-title" },
      site.table({ class: "runtimes" }, head, rows));
  }

  /** The definition of the numbers of the table. */
  function definition(front, shown) {
    const [name, level] = [site.typeWords(front, shown.type), shown.level ? "required and recommended" : "required"];
    const cases = shown.type === site.ALL_TYPES ? `all its ${level} cases` : shown.type === site.FLOAT ? `all its ${level} cases in float, or in its own types if it has no float,` : `all its ${level} cases of ${name}`;
    const sums = shown.columns.map((at) => site.tally(front, shown.opset, at, shown.type, shown.level, shown.counted)).find(({ measured }) => measured > 0);
    const example = sums ? `${sums.counts.r || 0}/${sums.measured} means that ${sums.counts.r || 0} of ${sums.measured} measured operators of ${shown.counted} at opset ${shown.opset} are right. ` : "";
    return site.el("p", { class: "quiet" }, `${example}An operator is right if ${cases} pass.`);
  }

  /** The shown operators, each with its version and its state per column. */
  function listed(front, shown) {
    const rows = [];
    for (const operator of front.operators) {
      const domain = front.domains[operator.d].name;
      if (shown.domain && domain !== shown.domain) continue;
      if (shown.field && operator.f !== shown.field) continue;
      const version = site.versionAt(front, operator, shown.opset);
      if (!version || (shown.type >= 0 && !version.byType.has(shown.type))) continue;
      const cells = shown.columns.map((at) => site.stateAt(front, operator, version, shown.opset, at, shown.type, shown.level));
      const on = shown.on ? front.column(shown.on) : -1;
      const looked = on >= 0 ? [site.stateAt(front, operator, version, shown.opset, on, shown.type, shown.level)] : cells;
      if (shown.states.length > 0 && !looked.some((cell) => cell && shown.states.includes(cell.key))) continue;
      const known = cells.filter((cell) => cell && !"?no".includes(cell.key));
      if (shown.differ && new Set(known.map((cell) => cell.key)).size < 2) continue;
      rows.push({ operator, domain, version, cells });
    }
    return rows;
  }

  function filters(front, shown) {
    const fields = [...new Set(front.operators.map((operator) => operator.f))].sort();
    const types = front.types.filter((name) => name !== "float").sort((a, b) => (MAIN_TYPES.indexOf(a) + 1 || 99) - (MAIN_TYPES.indexOf(b) + 1 || 99) || a.localeCompare(b));
    const toggle = (key) => {
      const next = shown.states.includes(key) ? shown.states.filter((one) => one !== key) : [...shown.states, key];
      site.choose({ state: next.join("") });
    };
    return site.el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      site.select("Type", "type", [["", "float where allowed"], ["all", "all types"], ...types.map((name) => [name, name])], site.typeKey(front, shown.type)),
      site.select("Domain", "domain", [["", "all"], ...front.domains.map(({ name }) => [name, name])], shown.domain),
      site.select("Field", "field", [["", "all"], ...fields.map((name) => [name, name])], shown.field),
      site.select("State of", "on", [["", "any runtime shown"], ...front.columns.map((column) => [column.key, front.title(column)])], shown.on),
      site.el("div", { class: "chips", role: "group", "aria-label": "States" }, site.STATES.map((state) => site.el("button", {
        type: "button", class: `chip s-${state.key === "?" ? "q" : state.key}`, "aria-pressed": String(shown.states.includes(state.key)),
        "data-focus": `state-${state.key}`, title: state.one, onclick: () => toggle(state.key),
      }, `${state.sign} ${state.name}`))),
      site.el("label", { class: "choice" }, site.el("input", {
        type: "checkbox", checked: shown.differ, "data-focus": "differ", id: "choose-differ",
        onchange: (event) => site.choose({ differ: event.target.checked ? "1" : "" }),
      }), " only where they differ"));
  }

  /** One row per runtime, over all opsets. */
  function timeline(front, shown, operator, domain) {
    const newest = front.domains[operator.d].newest;
    const opsets = Array.from({ length: newest }, (_, at) => at + 1);
    if (window.matchMedia("(max-width: 760px)").matches) opsets.reverse();
    const rows = shown.columns.map((at) => {
      const column = front.columns[at];
      return [front.title(column), ...opsets.map((opset) => {
        const version = [...operator.v].reverse().find((one) => one.since <= opset);
        if (!version) return site.el("td", null, "");
        const there = site.rowsAt(version, opset);
        const rowsOf = site.rowsOfType(there, shown.type);
        if (!rowsOf) return site.el("td", { class: "absent", title: "not a type of this version" }, "");
        const cell = site.takes(column, domain, opset) ? front.row(rowsOf[shown.level])[at] || site.cell("?") : site.cell("n");
        return site.el("td", { class: "time" }, site.link(site.operatorHref(domain, operator.n, { v: version.since, on: column.key }), {
          class: `mark s-${cell.key === "?" ? "q" : cell.key}`, title: `${operator.n}-${version.since} at opset ${opset}: ${site.cellWords(cell)}`,
        }, site.el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign), site.el("span", { class: "unseen" }, site.cellWords(cell)),
        version.since === opset ? ` ${opset}` : ""));
      })];
    });
    return site.table({ class: "timeline" }, ["", ...opsets.map(String)], rows);
  }

  function grid(front, shown, rows) {
    const head = site.el("tr", { role: "row" }, site.el("th", { scope: "col" }, "Operator"), site.el("th", { scope: "col", class: "since" }, "since"),
      shown.columns.map((at) => site.el("th", { scope: "col" }, site.link(site.href(["runtime", front.columns[at].key]), null, front.columns[at].runtime),
        " ", site.el("span", { class: "quiet" }, front.columns[at].version), front.columns[at].file ? site.el("span", { class: "own" }, front.columns[at].file) : null)));
    const body = site.el("tbody");
    const toggle = (row, { operator, domain }) => {
      const name = `${domain}/${operator.n}`;
      const isOpen = row.nextElementSibling && row.nextElementSibling.classList.contains("more");
      row.querySelector(".open").setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) {
        row.nextElementSibling.remove();
        open.delete(name);
        return;
      }
      open.add(name);
      row.after(site.el("tr", { class: "more" }, site.el("td", { colspan: String(shown.columns.length + 2) },
        site.el("p", null, operator.s, " ", site.link(site.operatorHref(domain, operator.n), null, `All about ${operator.n}`)),
        site.el("div", { class: "scroll" }, timeline(front, shown, operator, domain)))));
    };
    for (const entry of rows) {
      const { operator, domain, version, cells } = entry;
      const name = `${domain}/${operator.n}`;
      const row = site.el("tr", { "data-operator": name },
        site.el("th", { scope: "row" },
          site.el("button", { type: "button", class: "open", tabindex: "-1", "aria-expanded": "false", "aria-label": `${operator.n} on every opset`, onclick: () => toggle(row, entry) }, ""),
          site.link(site.operatorHref(domain, operator.n), { class: "cell", tabindex: "-1", title: operator.s }, operator.n),
          domain === "ai.onnx" ? null : site.el("span", { class: "quiet" }, ` ${domain.replace("ai.onnx.", "")}`)),
        site.el("td", { class: "since" }, String(version.since), version.deprecated ? site.el("span", { title: "deprecated" }, " †") : null),
        cells.map((cell, index) => {
          const column = front.columns[shown.columns[index]];
          if (!cell) return site.el("td", { class: "absent" }, "");
          return site.el("td", null, site.link(site.operatorHref(domain, operator.n, { v: version.since, on: column.key, at: "cases" }), {
            class: `cell mark s-${cell.key === "?" ? "q" : cell.key}`, tabindex: "-1", title: `${operator.n}-${version.since}, ${front.title(column)}: ${site.cellWords(cell)}`,
          }, site.el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign), site.el("span", { class: "unseen" }, site.STATE[cell.key].name),
          " ", site.el("span", { class: "of" }, site.cellNumbers(cell))));
        }));
      body.append(row);
      if (open.has(name)) toggle(row, entry);
    }
    return site.el("div", { class: "scroll tall" }, site.el("table", { class: "grid", id: "grid", "aria-labelledby": "operators-title" }, site.el("thead", null, head), body));
  }

  site.page("front", async (_, chosen) => {
    const front = await site.front();
    const shown = choices(front, chosen);
    const rows = listed(front, shown);
    const opsets = Array.from({ length: front.newestOpset }, (_, at) => front.newestOpset - at)
      .map((opset) => [opset, front.releases[opset] ? `${opset} (ONNX ${front.releases[opset][0]})` : String(opset)]);
    const isFiltered = shown.states.length > 0 || shown.on || shown.type !== site.FLOAT || shown.differ || shown.domain || shown.field;
    const content = [
      site.doors(front),
      front.elsewhere.map(([title, remarks]) => site.el("p", { class: "notice" }, site.el("b", null, title), ": ", remarks.join("; "))),
      front.columns.filter((column) => column.file && column.remarks.length > 0).map((column) => site.el("p", { class: "notice" }, site.el("b", null, front.title(column)), ": ", column.remarks.join("; "))),
      site.el("div", { class: "line" }, site.el("h2", { id: "runtimes-title" }, "Runtimes"),
        site.select("at opset", "opset", opsets, shown.opset),
        site.select("cases", "level", [["", "required"], ["recommended", "and recommended"]], shown.level ? "recommended" : "")),
      site.releases(front, shown),
      definition(front, shown),
      runtimesTable(front, shown),
      site.columnChooser(front, shown.columns),
      site.el("h2", { id: "operators-title" }, site.el("span", { id: "operators" }, `Operators at opset ${shown.opset}`)),
      filters(front, shown),
      site.el("p", { role: "status" }, `${site.plural(rows.length, "operator")}, ${shown.type === site.FLOAT ? "in float where they allow it" : `in ${site.typeWords(front, shown.type)}`}`,
        shown.on ? `, ${front.title(front.columns[front.column(shown.on)] || front.columns[0])}` : "", ". ",
        isFiltered ? site.link(site.href([], { opset: shown.opset, cols: chosen.get("cols"), at: "operators" }), null, "Show all") : null),
      site.el("p", { class: "quiet" }, `A mark has the worst outcome. ${site.numbers(shown.level)}`),
      grid(front, shown, rows),
      site.legend(),
    ];
    return content;
  });
})();
