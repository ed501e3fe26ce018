"use strict";

/** The states of cells by key, and a parser for rows of them. `tables.js`, which is generated, has the states and the outcomes. */
site.STATE = Object.fromEntries(site.STATES.map((state, at) => [state.key, { ...state, rank: at }]));

/** A cell of a row: `w1/25` is state, behaviours in that state, and behaviours judged. */
site.cell = (text) => {
  if (!text) return { key: "?", bad: 0, total: 0 };
  const [bad, total] = text.slice(1).split("/").map(Number);
  return { key: text[0], bad: bad || 0, total: total === undefined ? bad || 0 : total };
};

/** Describes a cell in a sentence. It counts behaviours, or what `noun` says. */
site.cellWords = ({ key, bad, total }, noun = "behaviour") => {
  const state = site.STATE[key];
  if (key === "r") return `right in ${site.plural(total, noun)}`;
  if (key === "d") return `declined: all ${site.plural(total, noun)}`;
  if (total > 0) return `${state.name} in ${site.count(bad)} of ${site.plural(total, noun)}`;
  return state.one;
};

/** Returns true if one state is worse than another. */
site.isWorse = (a, b) => site.STATE[a].rank < site.STATE[b].rank;

/** The mark of a state. `text` follows its sign. */
site.mark = (cell, text, properties) => site.el("span", {
  class: `mark s-${site.STATE[cell.key].key === "?" ? "q" : cell.key}`, title: site.cellWords(cell), ...properties,
}, site.el("span", { "aria-hidden": "true" }, site.STATE[cell.key].sign),
site.el("span", { class: "unseen" }, site.STATE[cell.key].name), text ? ` ${text}` : "");

/** The numbers in a cell: bad behaviours of all behaviours. */
site.cellNumbers = ({ key, bad, total }) => (total > 0 && key !== "r" && key !== "d" ? `${bad}/${total}` : "");

/** The meaning of the numbers beside marks: the levels of the cases that decide. */
site.numbers = (level) => `A number such as 1/25 is 1 of 25 behaviours, by ${level ? "required and recommended" : "required"} cases.`;

/** Legend of the states, in one line. */
site.legend = () => site.el("p", { class: "legend" }, site.STATES.map((state) =>
  site.el("span", null, site.mark({ key: state.key, bad: 0, total: 0 }), ` ${state.name}`)));

/** The front data with lookup tables. */
site.front = async () => {
  const front = await site.load("front");
  if (front.ready) return front;
  front.ready = true;
  front.parsed = front.rows.map(() => null);
  front.row = (at) => {
    front.parsed[at] = front.parsed[at] || front.rows[at].split(" ").map(site.cell);
    return front.parsed[at];
  };
  front.byName = new Map(front.operators.map((operator) => [`${front.domains[operator.d].name}/${operator.n}`, operator]));
  /** The column of a key, or of the newest version of a runtime by its name. */
  front.column = (key) => {
    const at = front.columns.findIndex((column) => column.key === key);
    return at < 0 ? front.columns.findLastIndex((column) => column.runtime === key) : at;
  };
  front.title = (column) => `${column.runtime} ${column.version}${column.file ? ` (${column.file})` : ""}`;
  const newest = new Map();
  for (const [at, column] of front.columns.entries()) newest.set(column.file ? `${column.runtime}#${at}` : column.runtime, at);
  front.newest = [...newest.values()];
  front.newestOpset = front.domains.find((domain) => domain.name === "ai.onnx").newest;
  for (const operator of front.operators) {
    for (const rows of operator.v.flatMap((version) => [version, ...(version.before || [])])) {
      rows.byType = new Map(rows.types.map(([type, ...of]) => [type, of]));
    }
  }
  return front;
};

/** The opset of a domain that belongs to an opset of ONNX's own. */
site.opsetOf = (front, domain, opset) => {
  if (domain === "ai.onnx") return opset;
  const [, opsets] = front.releases[opset] || [];
  return (opsets && opsets[domain]) || 0;
};

/** The version of an operator at an opset; nothing if there is none yet. */
site.versionAt = (front, operator, opset) => {
  const at = site.opsetOf(front, front.domains[operator.d].name, opset);
  return [...operator.v].reverse().find((version) => version.since <= at) || null;
};

/** Returns true if a runtime accepts an opset of a domain, or does not state its opsets. */
site.takes = (column, domain, opset) => {
  if (!column.opsets) return true;
  const range = column.opsets[domain];
  return Boolean(range) && range[0] <= opset && opset <= range[1];
};

/** The rows of a version at an opset of its domain. A case counts from its own opset on. */
site.rowsAt = (version, opset) => (version.before || []).find((rows) => opset <= rows.until) || version;

/** Views that are no single type: in float wherever an operator allows it, and in all types. */
site.FLOAT = -2;
site.ALL_TYPES = -1;

/** The type of an address, by its position or as a view; float by default. */
site.typeOf = (front, name) => {
  if (name === "all") return site.ALL_TYPES;
  const at = name === "float" ? -1 : front.types.indexOf(name || "");
  return at >= 0 ? at : site.FLOAT;
};

/** The type as an address has it, and as words. */
site.typeKey = (front, type) => (type === site.FLOAT ? "" : type === site.ALL_TYPES ? "all" : front.types[type]);
site.typeWords = (front, type) => (type === site.FLOAT ? "float" : type === site.ALL_TYPES ? "all types" : front.types[type]);

/** State of a version on a column at an opset, in a type or a view; nothing if the version does not have the type. */
site.stateAt = (front, operator, version, opset, at, type, level) => {
  const domain = front.domains[operator.d].name;
  const own = site.opsetOf(front, domain, opset);
  if (!site.takes(front.columns[at], domain, own)) return { key: "n", bad: 0, total: 0 };
  const there = site.rowsAt(version, own);
  const rows = site.rowsOfType(there, type);
  return rows ? front.row(rows[level])[at] || site.cell("?") : null;
};

/** Rows of a type or a view. */
site.rowsOfType = (rows, type) => (type === site.FLOAT ? rows.float : type === site.ALL_TYPES ? rows.all : rows.byType.get(type));

/** Positions of the chosen columns; by default the newest of each runtime. */
site.chosenColumns = (front, chosen) => {
  const keys = (chosen.get("cols") || "").split(",").filter(Boolean);
  const found = keys.map(front.column).filter((at) => at >= 0);
  return found.length > 0 ? found : front.newest;
};

/** Checkboxes for columns, kept in the address. */
site.columnChooser = (front, columns) => {
  const runtimes = new Map();
  for (const [at, column] of front.columns.entries()) {
    if (!runtimes.has(column.runtime)) runtimes.set(column.runtime, []);
    runtimes.get(column.runtime).push(at);
  }
  const toggle = (at) => {
    const next = columns.includes(at) ? columns.filter((other) => other !== at) : [...columns, at].sort((a, b) => a - b);
    site.choose({ cols: next.map((one) => front.columns[one].key).join(",") });
  };
  return site.el("details", { class: "chooser", open: site.chooserOpen, ontoggle: (event) => { site.chooserOpen = event.target.open; } },
    site.el("summary", { "data-focus": "columns" }, `Runtimes: ${columns.length} of ${front.columns.length} shown`),
    [...runtimes].map(([runtime, all]) => site.el("fieldset", null, site.el("legend", null, runtime), all.map((at) =>
      site.el("label", null, site.el("input", {
        type: "checkbox", checked: columns.includes(at), "data-focus": `col-${front.columns[at].key}`, onchange: () => toggle(at),
      }), ` ${front.columns[at].version}${front.columns[at].file ? ` (${front.columns[at].file})` : ""}`)))),
    site.el("button", { type: "button", class: "small", onclick: () => site.choose({ cols: "" }) }, "The newest of each"));
};

/** A selection list, kept in the address. */
site.select = (label, name, options, value) => site.el("label", { class: "choice" }, `${label} `,
  site.el("select", { "data-focus": name, id: `choose-${name}`, onchange: (event) => site.choose({ [name]: event.target.value }) },
    options.map(([key, text]) => site.el("option", { value: key, selected: String(key) === String(value) }, text))));
