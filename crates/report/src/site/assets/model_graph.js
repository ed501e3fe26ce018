"use strict";

/** The graph of the reader's model on a chosen runtime: a strip of runtimes, the drawing, and the facts of a chosen node. */
(() => {
  const { el, link, code, plural, count } = site;

  /** State whose sign and colour a verdict has. */
  const STATES = {
    runs: "r", "runs, inexact": "i", "likely runs": "p", unknown: "?", loads: "?", "wrong somewhere": "w", "may fail": "e", "fails when run": "e", "will not load": "d", "wrong on some processors": "w",
    "runs-but-for-special-values": "s", inexact: "i", "likely-runs": "p", "wrong-on-some-processors": "w", "partly-not-here": "d", "not-here": "d", "partly-fails": "e", fails: "e", wrong: "w", crashes: "c",
  };
  const NOT_MEASURED = { key: "?", words: "not measured" };
  const RUNS = ["r", "i", "s"];
  site.verdictState = (verdict) => STATES[verdict] || "?";

  /** The text of a name in a table; names of a model may be anything. */
  const textOf = (table, name) => (Object.hasOwn(table, name) ? table[name] : "");
  const keyOf = (report) => `${report.runtime}-${report.version}`;
  const labelOf = ([kind, settings]) => `${kind}|${settings}`;

  /** The answers of a runtime by kind of node. */
  function answers(report) {
    return new Map(report.kinds.map((kind) => [labelOf([kind.kind, kind.settings]), kind]));
  }

  /** Counts kinds of nodes: how many run, are unknown, or do not run. */
  function sums(report) {
    const keys = report.kinds.map((kind) => site.verdictState(kind.verdict));
    const runs = keys.filter((key) => RUNS.includes(key)).length;
    const likely = keys.filter((key) => key === "p").length;
    const unknown = keys.filter((key) => key === "?").length;
    return { all: keys.length, runs, likely, unknown, fail: keys.length - runs - likely - unknown };
  }

  /** One sentence: `40 of 43 kinds of nodes run, 3 unknown`. */
  site.kindsSentence = (report) => {
    const { all, runs, likely, unknown, fail } = sums(report);
    const parts = [`${count(runs)} of ${plural(all, "kind")} of nodes run`, likely > 0 ? `${count(likely)} likely` : "", unknown > 0 ? `${count(unknown)} unknown` : "", fail > 0 ? `${count(fail)} do not` : ""];
    return parts.filter(Boolean).join(", ");
  };

  /** A square for each measured runtime; the chosen one colours the graph. */
  function strip(runtimes, chosen, choose) {
    return el("div", { class: "runtime-strip", role: "group", "aria-label": "Measured runtimes" }, runtimes.map((report) => {
      const key = site.verdictState(report.verdict);
      return el("button", { type: "button", class: `mark s-${key === "?" ? "q" : key}`, "aria-pressed": String(report === chosen), "data-focus": `strip-${keyOf(report)}`,
        title: `${report.runtime} ${report.version}: ${report.verdict}. ${site.kindsSentence(report)}`, onclick: () => choose(report) },
      el("span", { "aria-hidden": "true" }, site.STATE[key].sign), ` ${report.runtime} ${report.version}`, el("span", { class: "unseen" }, `: ${report.verdict}`));
    }));
  }

  function operatorLink(op) {
    const [, domain, name, since] = /^(?:(.*)\/)?(.+?)(?:-(\d+))?$/.exec(op);
    return since ? link(site.operatorHref(domain || "ai.onnx", name, { v: since }), null, `${name}-${since}`) : code(op);
  }

  /** The inputs or outputs of a node, each with its type and a button to its other end. */
  function values(graph, names, go) {
    const makers = new Set(graph.nodes.flatMap((node) => node.out));
    return el("ul", null, names.map((name) => el("li", null, name === "" ? el("span", { class: "quiet" }, "omitted") : [code(name), " ",
      el("span", { class: "quiet" }, textOf(graph.weights, name) ? `${textOf(graph.weights, name)}, a constant` : textOf(graph.values, name) || "type unknown"),
      go && makers.has(name) ? [" ", el("button", { type: "button", class: "small", onclick: () => go(name) }, "Go to its node")] : null])));
  }

  /** The facts of a chosen box. */
  function facts(report, all, graph, { kind, node, name }, runtime, byKind, go) {
    if (kind !== "node") return [el("h3", null, kind === "input" ? "Input of the graph" : "Output of the graph"), el("p", null, code(name), " ", textOf(graph.values, name))];
    const answer = node.kind === null || node.kind === undefined ? null : byKind.get(labelOf(all.kinds[node.kind]));
    const about = report.findings.filter(({ place }) => place === node.place || place.startsWith(`${node.place},`) || place.startsWith(`${node.place}:`));
    const key = answer ? site.verdictState(answer.verdict) : "?";
    return [
      el("h3", null, operatorLink(node.op), node.name ? [" ", code(node.name)] : null),
      runtime ? el("p", null, el("span", { class: `mark s-${key === "?" ? "q" : key}` }, el("span", { "aria-hidden": "true" }, site.STATE[key].sign), ` ${runtime.runtime} ${runtime.version}`), " ", answer ? answer.says : "not measured",
        answer && answer.case ? [": ", link(site.caseHref(answer.case), null, answer.case)] : null) : null,
      node.kind === null || node.kind === undefined ? null : el("p", { class: "quiet" }, all.kinds[node.kind].filter(Boolean).join(", ")),
      el("h3", null, "Inputs"), values(graph, node.in, go),
      el("h3", null, "Outputs"), values(graph, node.out, null),
      node.attributes.length > 0 ? [el("h3", null, "Attributes"), el("ul", null, node.attributes.map(([attribute, text]) => el("li", null, code(attribute), " = ", code(text))))] : null,
      about.length > 0 ? [el("h3", null, "Problems"), el("ul", null, about.map((one) => el("li", null, code(one.rule), ` ${one.message}`)))] : null,
    ];
  }

  /** The runtime of the address, or the newest version of the first one. */
  function chosenRuntime(runtimes) {
    const key = site.address().chosen.get("on") || "";
    return runtimes.find((report) => keyOf(report) === key) || runtimes.findLast((report) => report.runtime === key) || runtimes.findLast((report) => report.runtime === "onnxruntime") || runtimes.at(-1) || null;
  }

  /** A button that leads from problem to problem, the worst first: the nodes that are not right on the chosen runtime. */
  function problemsButton(graph, stateOf, drawn, remembered, redraw) {
    const ranks = graph.nodes.map((node) => site.STATE[stateOf(node).key].rank);
    const problems = [...ranks.keys()].filter((at) => ranks[at] !== site.STATE.r.rank).sort((a, b) => ranks[a] - ranks[b] || a - b);
    if (problems.length === 0) return null;
    return el("button", { type: "button", class: "small next-problem", onclick: () => {
      const next = problems[(problems.indexOf(remembered.node) + 1) % problems.length];
      if (drawn.showNode(next)) return;
      Object.assign(remembered, { from: Math.floor(next / drawn.size) * drawn.size, node: next, scroll: null });
      redraw();
    } }, `Next of ${plural(problems.length, "node")} not right`);
  }

  /** A drawing with its buttons and the facts of the chosen node. `isChanged` marks nodes. */
  function panel(report, all, graph, { title, runtime, remembered, isChanged, redraw }) {
    const byKind = runtime ? answers(runtime) : new Map();
    const stateOf = (node) => {
      // Without a runtime a box has no colour: an invalid model, or the two sides of a conversion.
      if (!runtime) return { key: null, words: isChanged ? (isChanged(node) ? "changed" : "unchanged") : "no results", isChanged: Boolean(isChanged && isChanged(node)) };
      const answer = node.kind === null || node.kind === undefined ? null : byKind.get(labelOf(all.kinds[node.kind]));
      return { ...(answer ? { key: site.verdictState(answer.verdict), words: answer.says } : NOT_MEASURED), isChanged: false };
    };
    const shown = el("div", { class: "node-facts", "aria-live": "polite" }, el("p", { class: "quiet" }, "Choose a node to see its types, attributes and results."));
    const choose = (one) => {
      remembered.node = one.at;
      shown.replaceChildren(...[facts(report, all, graph, one, runtime, byKind, drawn.show)].flat(Infinity).filter(Boolean));
    };
    const drawn = site.drawing(graph, { label: `Nodes of ${title}`, stateOf, choose, remembered });
    const at = graph.nodes[remembered.node];
    if (at) choose({ kind: "node", node: at, at: remembered.node });
    const more = drawn.part ? el("p", { role: "status" }, drawn.part, " ", el("button", { type: "button", class: "small", onclick: () => { Object.assign(remembered, { from: drawn.next, node: undefined, scroll: null }); redraw(); } }, drawn.next > 0 ? "Next part" : "First part")) : null;
    const settle = () => {
      if (!drawn.frame.isConnected) return;
      const [left, top] = remembered.scroll || [(drawn.frame.scrollWidth - drawn.frame.clientWidth) / 2, 0];
      drawn.frame.scrollTo(left, top);
      if (at) drawn.showNode(remembered.node);
      drawn.frame.addEventListener("scroll", () => { remembered.scroll = [drawn.frame.scrollLeft, drawn.frame.scrollTop]; });
    };
    requestAnimationFrame(settle);
    return el("div", { class: "graph-panel" }, el("div", { class: "line" }, el("h3", null, title), drawn.buttons, runtime ? problemsButton(graph, stateOf, drawn, remembered, redraw) : null), more, drawn.frame, shown);
  }

  /** Most parts of names that a block has, and fewest nodes of a block. */
  const MAX_DEPTH = 4;
  const MIN_NODES = 2;

  /** Blocks of a graph by the paths in the names of its nodes, `/layers.0/attention/MatMul`; none if names have no such paths. */
  site.blocksOf = (graph) => {
    const paths = graph.nodes.map((node) => node.name.split("/").filter(Boolean));
    for (let depth = 1; depth <= MAX_DEPTH; depth += 1) {
      const blocks = new Map();
      paths.forEach((path, at) => {
        const name = path.length > depth ? path.slice(0, depth).join("/") : "";
        if (!name) return;
        if (!blocks.has(name)) blocks.set(name, []);
        blocks.get(name).push(at);
      });
      const large = [...blocks].filter(([, all]) => all.length >= MIN_NODES);
      if (large.length > 1) return large;
    }
    return [];
  };

  /** A block as a graph of its own: values from outside are its inputs, and values for others its outputs. */
  function blockGraph(graph, [name, positions]) {
    const own = new Set(positions);
    const nodes = positions.map((at) => graph.nodes[at]);
    const made = new Set(nodes.flatMap((node) => node.out));
    const used = new Set(graph.nodes.flatMap((node, at) => (own.has(at) ? [] : node.in)).concat(graph.outputs));
    return { ...graph, title: `${graph.title}, block ${name}`, total: nodes.length, nodes,
      inputs: [...new Set(nodes.flatMap((node) => node.in))].filter((value) => value && !made.has(value) && !textOf(graph.weights, value)), outputs: [...made].filter((value) => used.has(value)) };
  }

  /** A list of blocks, each with the worst state of its nodes on the runtime. */
  function blockChoice(all, graph, blocks, chosen, runtime, change) {
    const byKind = runtime ? answers(runtime) : new Map();
    const keyOfNode = (node) => {
      const answer = node.kind === null || node.kind === undefined ? null : byKind.get(labelOf(all.kinds[node.kind]));
      return answer ? site.verdictState(answer.verdict) : "?";
    };
    const worst = (positions) => positions.map((at) => keyOfNode(graph.nodes[at])).reduce((a, b) => (site.isWorse(b, a) ? b : a));
    return el("label", { class: "choice" }, "Block ", el("select", { id: "choose-block", onchange: (event) => change(event.target.value) },
      el("option", { value: "", selected: !chosen }, `the whole graph (${plural(graph.total, "node")})`),
      blocks.map(([name, positions]) => el("option", { value: name, selected: name === chosen }, `${runtime ? `${site.STATE[worst(positions)].sign} ` : ""}${name} (${plural(positions.length, "node")})`))));
  }

  /** The section of the graph. It redraws itself when another runtime or graph is chosen. */
  site.modelGraph = (report, remembered) => {
    const all = report.graph;
    if (!all || all.graphs.length === 0 || all.graphs[0].nodes.length === 0) return null;
    const section = el("section", { id: "graph" });
    const draw = () => {
      const runtime = chosenRuntime(report.runtimes);
      const at = Math.min(remembered.graph || 0, all.graphs.length - 1);
      const whole = all.graphs[at];
      const blocks = site.blocksOf(whole);
      const block = blocks.find(([name]) => name === remembered.block);
      const graph = block ? blockGraph(whole, block) : whole;
      const choices = all.graphs.length > 1 ? el("label", { class: "choice" }, "Graph ", el("select", { id: "choose-graph", onchange: (event) => { Object.assign(remembered, { graph: Number(event.target.value), block: "", node: undefined, from: 0, zoom: 1, scroll: null }); draw(); } },
        all.graphs.map((one, index) => el("option", { value: index, selected: index === at }, `${one.title} (${plural(one.total, "node")})`)))) : null;
      const choose = (other) => {
        site.keepChoice({ on: keyOf(other) });
        draw();
        section.querySelector(`[data-focus="strip-${CSS.escape(keyOf(other))}"]`)?.focus();
      };
      section.replaceChildren(...[
        el("h2", null, "Graph"),
        report.runtimes.length > 0 ? [el("p", { class: "quiet" }, "Colours and signs show what each node does on the chosen runtime."), strip(report.runtimes, runtime, choose),
          el("p", { id: "kinds-sentence", role: "status" }, el("b", null, `${runtime.runtime} ${runtime.version}: ${runtime.verdict}.`), ` ${site.kindsSentence(runtime)}.`)] : null,
        choices,
        blocks.length > 0 ? blockChoice(all, whole, blocks, remembered.block, runtime, (name) => {
          Object.assign(remembered, { block: name, node: undefined, from: 0, zoom: 1, scroll: null });
          draw();
          document.getElementById("choose-block").focus();
        }) : null,
        panel(report, all, graph, { title: graph.title, runtime, remembered, redraw: draw }),
        el("p", { class: "quiet" }, "Arrow keys walk along the edges. Keys +, − and 0 zoom. Drag or scroll to move."),
        site.legend(),
      ].flat(Infinity).filter(Boolean));
    };
    draw();
    return section;
  };

  const written = (node) => JSON.stringify([node.op, node.in, node.out, node.attributes]);

  /** The graph before and after a conversion, side by side; changed nodes have a mark. */
  site.graphPair = (report, before, after, [titleBefore, titleAfter]) => {
    const [old, fresh] = [before.graphs[0], after.graphs[0]];
    if (!old || !fresh || old.nodes.length === 0 || fresh.nodes.length === 0) return null;
    const sides = [[before, old, fresh, titleBefore], [after, fresh, old, titleAfter]].map(([all, graph, other, title]) => {
      const known = new Set(other.nodes.map(written));
      const isChanged = (node) => !known.has(written(node));
      const remembered = {};
      const sum = graph.nodes.filter(isChanged).length;
      const holder = el("div");
      const redraw = () => holder.replaceChildren(panel(report, all, graph, { title: `${title}: ${plural(graph.total, "node")}, ${count(sum)} changed (Δ)`, runtime: null, remembered, isChanged, redraw }));
      redraw();
      return holder;
    });
    return el("section", { id: "graph-pair" }, el("h3", null, "Before and after"), el("div", { class: "graph-pair" }, sides));
  };

  /** The operator versions of a model, as the address has them. */
  site.kindsOfModel = (report) => Object.keys(report.facts?.operators || {}).map((name) => name.replace(/^ai\.onnx\//, "")).join(",");

  /** A table of operator versions from an address, on the newest version of each runtime: what a shared link says without the model. */
  site.kindsOfAddress = (front, text) => {
    const names = text.split(",").slice(0, 300);
    const rows = names.map((name) => {
      const [, domain = "ai.onnx", operator, since] = /^(?:(.*)\/)?(.+)-(\d+)$/.exec(name) || [];
      const found = operator && front.byName.get(`${domain}/${operator}`);
      const version = found && found.v.find((one) => one.since === Number(since));
      if (!version) return [el("th", { scope: "row" }, code(name)), ...front.newest.map(() => "")];
      return [el("th", { scope: "row" }, link(site.operatorHref(domain, operator, { v: since }), null, `${domain === "ai.onnx" ? "" : `${domain}/`}${operator}-${since}`)),
        ...front.newest.map((at) => {
          const cell = site.takes(front.columns[at], domain, version.since) ? front.row(version.all[0])[at] || site.cell("?") : site.cell("n");
          return el("td", null, site.mark(cell, site.cellNumbers(cell)));
        })];
    });
    return el("section", { id: "kinds-of-address" }, el("h2", null, plural(names.length, "operator version")),
      el("p", null, "The address names these operator versions of a model. It does not contain the model. A mark sums up all cases of the version, in all types."),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Operator versions" }, site.table({ class: "grid address-kinds" }, ["operator version", ...front.newest.map((at) => front.title(front.columns[at]))], rows)));
  };
})();
