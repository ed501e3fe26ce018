"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const signs = Object.fromEntries(data.states.map((state) => [state.name, state.sign]));
const number = new Intl.NumberFormat("en");
const shown = { words: [], type: -1, runtime: 0, states: new Set() };
const entries = [];
const byName = new Map();
let selected = null;
let opener = null;

/** An element with properties and children; text is only ever set as text. */
function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function stateOf([passed, failed, unsupported]) {
  if (passed + failed + unsupported === 0) return "untested";
  if (failed + unsupported === 0) return "passed";
  if (passed > 0) return "mixed";
  return failed > 0 ? "failed" : "unsupported";
}

const cellType = (cell) => (typeof cell === "number" ? cell : cell[0]);
const cellCounts = (cell) => (typeof cell === "number" ? [0, 0, 0] : cell[1][shown.runtime]);
const cellsOf = (version) => version.parameters.flatMap(([, cells]) => cells);
const plural = (count, noun) => `${number.format(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What the chosen runtime did with a version, or with the chosen type in it; null where the type is not allowed. */
function countsOf(version) {
  if (shown.type < 0) return version.counts[shown.runtime];
  const cells = cellsOf(version).filter((cell) => cellType(cell) === shown.type).map(cellCounts);
  return cells.length === 0 ? null : cells.reduce((a, b) => a.map((count, at) => count + b[at]));
}

function sentence([passed, failed, unsupported]) {
  const parts = [[passed, "passed"], [failed, "failed"], [unsupported, "unsupported"]];
  const said = parts.filter(([count]) => count > 0).map(([count, word]) => `${number.format(count)} ${word}`);
  if (said.length === 0) return "no case says anything";
  return `${plural(passed + failed + unsupported, "case")}, ${said.join(", ")}`;
}

function drawTotals() {
  const runtime = data.runtimes[shown.runtime];
  const total = (label, states, note) => {
    const all = data.states.reduce((sum, { name }) => sum + states[name], 0);
    const tested = all - states.untested;
    const bar = element("div", { className: "bar", ariaHidden: "true" });
    for (const { name } of data.states) {
      if (states[name] > 0) bar.append(element("span", { className: name, style: `flex: ${states[name]} 0 0` }));
    }
    const counts = data.states.filter(({ name }) => states[name] > 0);
    const text = counts.map(({ name }) => `${number.format(states[name])} ${name}`).join(", ");
    return element("div", { className: "total" },
      element("span", { className: "number" }, `${number.format(tested)} of ${number.format(all)}`),
      ` ${label}`, bar, element("div", { className: "quiet" }, text + (note || "")));
  };
  byId("totals").replaceChildren(
    total("cases judged", runtime.cases),
    total("operator versions tested", runtime.versions),
    total("type cells tested", runtime.cells, `; ${data.deprecated_cells} belong to deprecated versions`));
  byId("subtitle").textContent = `${runtime.name} ${runtime.version}, suite ${data.suite}: measured, not declared. `
    + "Untested is neither yes nor no.";
}

/** How far the suite reaches and what confirms it, whatever the runtime. */
function drawReach() {
  const row = (cells, tag) => element("tr", null, ...cells.map((cell) => element(tag, null, String(cell))));
  const rows = data.reach.map(([title, counts]) => row([title, ...counts.map((count) => number.format(count))], "td"));
  byId("reach").hidden = rows.length === 0;
  byId("reach").querySelector("table").replaceChildren(row(["", "reached", "excused", "of"], "th"), ...rows);
  const confirmed = data.evidence.map(([source, count]) => row([source, number.format(count)], "td"));
  byId("evidence").hidden = confirmed.length === 0;
  byId("evidence").querySelector("table").replaceChildren(row(["", "cases"], "th"), ...confirmed);
}

function drawControls() {
  const order = data.types.map((name, at) => [name, at]);
  const simple = ([name]) => (name.startsWith("tensor(") ? 0 : 1);
  order.sort((a, b) => simple(a) - simple(b) || (a[0] < b[0] ? -1 : 1));
  byId("type").append(...order.map(([name, at]) => element("option", { value: at }, name)));
  byId("runtime").append(...data.runtimes.map(({ name }, at) => element("option", { value: at }, name)));
  byId("runtime-choice").hidden = data.runtimes.length < 2;
  for (const { name, sign } of data.states) {
    const button = element("button", { type: "button", className: name, ariaPressed: "false" }, `${sign} ${name}`);
    button.addEventListener("click", () => {
      const on = !shown.states.delete(name);
      if (on) shown.states.add(name);
      button.ariaPressed = String(on);
      refresh();
    });
    byId("states").append(button);
  }
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", (event) => {
    shown.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    refresh();
  });
  byId("type").addEventListener("change", (event) => {
    shown.type = event.target.value === "" ? -1 : Number(event.target.value);
    refresh();
  });
  byId("runtime").addEventListener("change", (event) => {
    shown.runtime = Number(event.target.value);
    drawTotals();
    refresh();
    if (selected) drawDetail();
  });
}

function drawGrids() {
  for (const [at, domain] of data.domains.entries()) {
    const operators = data.operators.filter((operator) => operator.domain === at);
    const opsets = Array.from({ length: domain.newest }, (_, opset) => opset + 1);
    const head = element("tr", {}, element("th", { className: "name", scope: "col" }, "opset"),
      ...opsets.map((opset) => element("th", { className: "opset", scope: "col" }, String(opset))));
    const body = element("tbody", {}, ...operators.map((operator) => drawRow(domain, operator)));
    const size = domain.newest > 8 ? "many" : "few";
    byId("grids").append(element("section", { className: size },
      element("div", { className: "grid-title" }, element("h2", {}, domain.name)),
      element("table", {}, element("thead", {}, head), body)));
  }
}

function drawRow(domain, operator) {
  const row = element("tr", {},
    element("th", { className: "name", scope: "row", title: operator.name }, operator.name));
  const first = operator.versions[0].since;
  if (first > 1) row.append(element("td", { colSpan: first - 1 }));
  for (const [at, version] of operator.versions.entries()) {
    const name = `${domain.name}/${operator.name}-${version.since}`;
    const block = element("button", { type: "button" }, element("span"));
    const text = [name, ...cellsOf(version).map((cell) => data.types[cellType(cell)])].join(" ").toLowerCase();
    const entry = { name, domain, operator, version, at, block, row, text };
    block.addEventListener("click", () => open(entry));
    block.addEventListener("keydown", (event) => move(event, entry));
    entries.push(entry);
    byName.set(name, entry);
    row.append(element("td", { colSpan: version.last - version.since + 1 }, block));
  }
  return row;
}

/** Colours every block anew, and hides the operators of which nothing is left. */
function refresh() {
  const rows = new Map();
  let found = 0;
  for (const entry of entries) {
    const { version, block } = entry;
    const counts = countsOf(version);
    const state = counts ? stateOf(counts) : "outside";
    const wanted = counts !== null && shown.words.every((word) => entry.text.includes(word))
      && (shown.states.size === 0 || shown.states.has(state));
    found += wanted ? 1 : 0;
    rows.set(entry.row, rows.get(entry.row) || wanted);
    block.className = `block ${state}${wanted ? "" : " dim"}${version.deprecated ? " deprecated" : ""}`;
    block.firstChild.textContent = counts ? `${signs[state]} ${version.since}` : "";
    const what = counts ? `${state}: ${sentence(counts)}` : `does not take ${data.types[shown.type]}`;
    block.title = `${entry.operator.name}-${version.since}${version.deprecated ? " (deprecated)" : ""}, ${what}`;
    block.ariaLabel = block.title;
    block.ariaCurrent = String(entry === selected);
  }
  for (const [row, wanted] of rows) row.hidden = !wanted;
  for (const section of byId("grids").children) {
    section.hidden = section.querySelector("tbody tr:not([hidden])") === null;
  }
  const operators = [...rows.values()].filter(Boolean).length;
  byId("found").textContent = found === 0
    ? "Nothing matches; take a word or a filter away."
    : `${plural(found, "operator version")} of ${plural(operators, "operator")}`;
}

/** Arrow keys go from block to block. */
function move(event, entry) {
  const opset = entry.version.since;
  const holds = (row) => entries.find(({ row: other, version }) =>
    other === row && version.since <= opset && opset <= version.last) || entries.find(({ row: other }) => other === row);
  const beside = (step) => entries.find(({ row, at }) => row === entry.row && at === entry.at + step);
  const below = (step) => {
    let row = entry.row;
    do row = row[step]; while (row && row.hidden);
    return row && holds(row);
  };
  const target = {
    ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
    ArrowUp: () => below("previousElementSibling"), ArrowDown: () => below("nextElementSibling"),
  }[event.key];
  if (!target) return;
  event.preventDefault();
  const found = target();
  if (found) found.block.focus();
}

function open(entry) {
  opener = entry.block;
  if (location.hash === `#${entry.name}`) select(entry);
  else location.hash = entry.name;
}

function select(entry) {
  const before = selected;
  selected = entry;
  for (const changed of [before, selected]) if (changed) changed.block.ariaCurrent = String(changed === selected);
  byId("detail").hidden = entry === null;
  if (entry === null) return;
  drawDetail();
  byId("detail").scrollTop = 0;
  byId("detail").focus({ preventScroll: true });
  entry.block.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function close() {
  history.replaceState(null, "", location.pathname + location.search);
  select(null);
  if (opener) opener.focus();
}

function drawDetail() {
  const { name, domain, operator, version, at } = selected;
  const counts = version.counts[shown.runtime];
  const state = stateOf(counts);
  const neighbour = (step, sign, label) => {
    const other = operator.versions[at + step];
    const button = element("button", { type: "button", className: "icon", title: label, ariaLabel: label }, sign);
    button.disabled = !other;
    if (other) button.addEventListener("click", () => open(byName.get(`${domain.name}/${operator.name}-${other.since}`)));
    return button;
  };
  const shut = element("button", { type: "button", className: "icon", title: "Close (Esc)", ariaLabel: "Close" }, "✕");
  shut.addEventListener("click", close);
  const opsets = version.since === version.last ? `opset ${version.since}` : `opsets ${version.since} to ${version.last}`;
  const withdrawn = version.deprecated ? ", deprecated" : "";
  byId("detail").replaceChildren(
    element("div", { className: "top" },
      element("h2", { id: "detail-name" }, `${operator.name}-${version.since}`),
      neighbour(-1, "‹", "Version before"), neighbour(1, "›", "Version after"), shut),
    element("div", { className: "quiet" }, `${domain.name}, ${opsets}${withdrawn}`),
    element("div", { className: `verdict ${state}` }, `${signs[state]} ${state}: ${sentence(counts)}`),
    ...drawChanges(), ...drawTypes(), ...drawCases(name));
}

function drawChanges() {
  const { operator, version, at } = selected;
  if (!version.changes) return [element("h3", {}, "Changes"), element("p", {}, "The first version of the operator.")];
  const title = `Changes from ${operator.name}-${operator.versions[at - 1].since}`;
  if (version.changes.length === 0) return [element("h3", {}, title), element("p", {}, "None in the signature.")];
  return [element("h3", {}, title), element("ul", {}, ...version.changes.map((change) => element("li", {}, change)))];
}

function drawTypes() {
  const { version } = selected;
  const all = cellsOf(version);
  if (all.length === 0) return [];
  const tested = all.filter((cell) => stateOf(cellCounts(cell)) !== "untested").length;
  const chip = (cell) => {
    const counts = cellCounts(cell);
    const state = stateOf(counts);
    const name = data.types[cellType(cell)];
    return element("span", { className: state, title: `${name}: ${sentence(counts)}` }, `${signs[state]} ${name}`);
  };
  return [element("h3", {}, `Types: ${tested} of ${all.length} tested`),
    ...version.parameters.flatMap(([parameter, cells]) =>
      [element("div", {}, parameter), element("div", { className: "types" }, ...cells.map(chip))])];
}

function drawCases(name) {
  const { version } = selected;
  const listed = version.cases.map((at) => data.cases[at]).filter(([, results]) => results[shown.runtime]);
  const line = ([id, results, rule]) => {
    const [state, outcome, message] = results[shown.runtime];
    const body = element("div", { className: "body" }, message || (state === "passed" ? "As expected." : outcome));
    if (rule !== null) body.append(element("div", { className: "quiet" }, `Rule ${data.rules[rule]}`));
    body.append(element("pre", {}, element("code", {}, data.command.replace("{}", () => id))));
    return element("li", {}, element("details", {},
      element("summary", {},
        element("span", { className: `sign ${state}`, title: state }, signs[state]),
        element("code", { className: "id" }, id),
        element("span", { className: "quiet" }, outcome)),
      body));
  };
  const parts = [element("h3", {}, `Cases that touched it: ${number.format(version.touched)}`)];
  if (listed.length > 0) parts.push(element("ul", { className: "cases" }, ...listed.map(line)));
  const left = version.touched - version.cases.length;
  if (left > 0) parts.push(element("p", { className: "quiet" }, `${number.format(left)} more in results.jsonl`));
  return parts;
}

function followHash() {
  select(byName.get(location.hash.slice(1)) || null);
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, select");
  if (event.key === "Escape" && selected && !typing) close();
  if (event.key === "/" && !typing) {
    event.preventDefault();
    byId("search").focus();
  }
});
window.addEventListener("hashchange", followHash);
drawTotals();
drawReach();
drawControls();
drawGrids();
refresh();
followHash();
