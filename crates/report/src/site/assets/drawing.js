"use strict";

/** Drawing of a model's graph: boxes of nodes in layers, which scroll, zoom and are walked through with arrow keys. */
(() => {
  const { el, count, plural } = site;
  /** Most nodes of a drawing. A larger graph is drawn in parts. */
  const MAX_NODES = 2_000;
  const CHARACTER = 7.3;
  /** Height of the frame, as the style has it. */
  const MAX_HEIGHT = 560;
  const ZOOMS = [0.1, 0.17, 0.25, 0.4, 0.55, 0.75, 1, 1.3, 1.7];
  let drawings = 0;

  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value !== undefined && value !== null) made.setAttribute(name, value);
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  }
  site.svg = svg;

  const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  /** The boxes of a part of a graph, and its edges: inputs of the graph, nodes, outputs of the graph. */
  function boxes(graph, from) {
    const nodes = graph.nodes.slice(from, from + MAX_NODES);
    const all = nodes.map((node, at) => ({ kind: "node", node, at: from + at, name: node.op.replace(/^.*\//, "").replace(/-\d+$/, "") }));
    const makers = new Map();
    nodes.forEach((node, at) => node.out.forEach((name) => { if (name) makers.set(name, at); }));
    const used = new Set(nodes.flatMap((node) => node.in));
    for (const name of graph.inputs) {
      if (used.has(name) && !makers.has(name)) {
        makers.set(name, all.length);
        all.push({ kind: "input", name });
      }
    }
    const edges = [];
    const add = (name, to) => { if (makers.has(name) && makers.get(name) !== to) edges.push([makers.get(name), to, name]); };
    nodes.forEach((node, at) => new Set(node.in).forEach((name) => add(name, at)));
    for (const name of graph.outputs) {
      if (makers.has(name)) {
        all.push({ kind: "output", name });
        add(name, all.length - 1);
      }
    }
    return { all, edges };
  }

  /** The outline of a box. Its form says what its colour says: corners are cut for failures, and broken lines stand for unknown. */
  function outline(width, height, form) {
    const [x, y] = [width / 2, height / 2];
    if (form === "cut") return svg("path", { class: "outline", d: `M${-x + 8} ${-y}H${x - 8}L${x} ${-y + 8}V${y - 8}L${x - 8} ${y}H${-x + 8}L${-x} ${y - 8}V${-y + 8}Z` });
    return svg("rect", { class: `outline ${form}`, x: -x, y: -y, width, height, rx: form === "end" ? y : 5 });
  }

  const formOf = (key) => (site.STATE[key].bad && key !== "i" ? "cut" : "?no".includes(key) ? "dashed" : "plain");

  /** A smooth line through points that lie one below the other. */
  function line(route, half) {
    const path = route.map((point, at) => ({ x: point.x, y: point.y + (at === 0 ? half : at === route.length - 1 ? -half : 0) }));
    return path.slice(1).reduce((text, { x, y }, at) => {
      const middle = (path[at].y + y) / 2;
      return `${text}C${path[at].x.toFixed(1)} ${middle.toFixed(1)} ${x.toFixed(1)} ${middle.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)}`;
    }, `M${path[0].x.toFixed(1)} ${path[0].y.toFixed(1)}`);
  }

  /** The box of a node, with its state; of an input or output, with its name. */
  function box(one, place, id, height, stateOf) {
    const state = one.kind === "node" ? stateOf(one.node) : null;
    const words = one.kind === "node" ? `${one.node.name ? `${one.name} '${one.node.name}'` : `${one.name}, node ${one.at}`}: ${state.words}` : `${one.kind} '${one.name}'`;
    const text = one.kind === "node" ? `${state.isChanged ? "Δ " : ""}${state.key ? `${site.STATE[state.key].sign} ` : ""}${shorten(one.name, 24)}` : shorten(one.name, 24);
    const colour = state && state.key ? `s-${state.key === "?" ? "q" : state.key}` : "neutral";
    const name = state ? `box ${colour}${state.isChanged ? " changed" : ""}` : "box end";
    return svg("g", { id, class: name, role: "option", "aria-selected": "false", transform: `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})` },
      svg("title", null, words), outline(place.width, height, state ? (state.key ? formOf(state.key) : "plain") : "end"), svg("text", { "text-anchor": "middle", y: 4.5 }, text));
  }

  const widthOf = (one) => Math.max(56, (Math.min(one.name.length, 24) + (one.kind === "node" ? 6 : 2)) * CHARACTER);

  /** The box that an arrow key leads to: along an edge, or to the side in a layer. */
  function step(key, at, layout, edges) {
    const sideways = (by) => layout.rows[layout.nodes[at].layer][layout.rows[layout.nodes[at].layer].indexOf(at) + by];
    switch (key) {
      case "ArrowDown": return edges.find(([from]) => from === at)?.[1];
      case "ArrowUp": return edges.find(([, to]) => to === at)?.[0];
      case "ArrowRight": return sideways(1);
      case "ArrowLeft": return sideways(-1);
      case "Home": return layout.rows[0]?.[0];
      case "End": return layout.rows.at(-1)?.at(-1);
      default: return undefined;
    }
  }

  /** Lets a mouse pull the drawing. A finger scrolls it anyway. */
  function pull(frame) {
    let start = null;
    frame.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      start = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop };
    });
    frame.addEventListener("pointermove", (event) => {
      if (!start || event.buttons === 0) start = null;
      else frame.scrollTo(start.x - event.clientX, start.y - event.clientY);
    });
  }

  /** Buttons and keys that zoom; the middle of what is seen stays. */
  function zooming(picture, frame, layout, remembered) {
    let zoom = remembered.zoom || 1;
    const set = (next) => {
      const [x, y] = [(frame.scrollLeft + frame.clientWidth / 2) / zoom, (frame.scrollTop + frame.clientHeight / 2) / zoom];
      zoom = next;
      remembered.zoom = next;
      picture.setAttribute("width", Math.ceil(layout.width * zoom));
      picture.setAttribute("height", Math.ceil(layout.height * zoom));
      frame.scrollTo(x * zoom - frame.clientWidth / 2, y * zoom - frame.clientHeight / 2);
    };
    const larger = () => set(ZOOMS.find((one) => one > zoom) || zoom);
    const smaller = () => set(ZOOMS.findLast((one) => one < zoom) || zoom);
    const room = () => Math.max(frame.clientHeight, Math.min(MAX_HEIGHT, window.innerHeight * 0.7)) - 4;
    const fit = () => set(Math.min(1, (frame.clientWidth - 4) / layout.width, Math.max(room() / layout.height, 0.1)));
    const button = (words, text, act) => el("button", { type: "button", class: "small", "aria-label": words, onclick: act }, text);
    set(zoom);
    return { larger, smaller, fit, at: () => zoom, buttons: [button("Larger", "+", larger), button("Smaller", "−", smaller), button("Fit the graph into its frame", "Fit", fit)] };
  }

  /**
   * A drawing of a graph. `stateOf` gives the key and the words of a node's state; `choose` is called with the chosen box. The
   * position of the chosen node and the zoom are kept in `remembered`.
   */
  site.drawing = (graph, { label, stateOf, choose, remembered }) => {
    const from = Math.min(remembered.from || 0, Math.max(graph.nodes.length - 1, 0));
    const { all, edges } = boxes(graph, from);
    const layout = site.layout(all.map(widthOf), edges);
    const prefix = `drawing-${drawings += 1}`;
    const places = (at) => layout.nodes[at];
    const drawnEdges = layout.routes.map((route) => svg("path", { d: line(route, layout.node / 2) }));
    const drawn = all.map((one, at) => box(one, places(at), `${prefix}-${at}`, layout.node, stateOf));
    const list = svg("g", { role: "listbox", "aria-label": label, tabindex: "0", class: "boxes" }, drawn);
    const picture = svg("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, class: "graph" }, svg("g", { class: "edges", "aria-hidden": "true" }, drawnEdges), list);
    const frame = el("div", { class: "graph-frame" }, picture);
    const zoom = zooming(picture, frame, layout, remembered);
    let chosen = -1;
    const select = (at, isSilent) => {
      if (chosen >= 0) drawn[chosen].setAttribute("aria-selected", "false");
      chosen = at;
      drawn[at].setAttribute("aria-selected", "true");
      list.setAttribute("aria-activedescendant", drawn[at].id);
      layout.routes.forEach((_, index) => drawnEdges[index].classList.toggle("near", edges[index][0] === at || edges[index][1] === at));
      if (isSilent) return;
      const { x, y, width } = places(at);
      const [left, top] = [x * zoom.at(), y * zoom.at()];
      const margin = (width / 2 + 20) * zoom.at();
      if (left - margin < frame.scrollLeft || left + margin > frame.scrollLeft + frame.clientWidth) frame.scrollLeft = left - frame.clientWidth / 2;
      if (top - 40 < frame.scrollTop || top + 40 > frame.scrollTop + frame.clientHeight) frame.scrollTop = top - frame.clientHeight / 2;
      choose(all[at]);
    };
    list.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const act = { "+": zoom.larger, "=": zoom.larger, "-": zoom.smaller, 0: zoom.fit }[event.key];
      const isArrow = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
      if (!act && !isArrow) return;
      event.preventDefault();
      if (act) act();
      else {
        const next = chosen < 0 ? layout.rows[0]?.[0] : step(event.key, chosen, layout, edges);
        if (next !== undefined) select(next);
      }
    });
    list.addEventListener("click", (event) => {
      const at = drawn.indexOf(event.target.closest(".box"));
      if (at >= 0) select(at);
    });
    pull(frame);
    const first = all.findIndex((one) => one.kind === "node" && one.at === remembered.node);
    if (first >= 0) select(first, true);
    /** Chooses the first box that fits; false if there is none in this part. */
    const find = (fits) => {
      const at = all.findIndex(fits);
      if (at >= 0) select(at);
      return at >= 0;
    };
    const show = (name) => find((one) => one.kind === "node" && one.node.out.includes(name));
    const showNode = (position) => find((one) => one.kind === "node" && one.at === position);
    return { frame, size: MAX_NODES, buttons: zoom.buttons, part: partOf(graph, from), fit: zoom.fit, show, showNode, next: from + MAX_NODES < graph.nodes.length ? from + MAX_NODES : 0 };
  };

  /** Says which part of a large graph is drawn; nothing for a whole graph. */
  function partOf(graph, from) {
    const last = Math.min(from + MAX_NODES, graph.nodes.length);
    if (graph.total <= MAX_NODES) return null;
    const sent = graph.nodes.length < graph.total ? ` Only the first ${count(graph.nodes.length)} are read.` : "";
    return `Nodes ${count(from + 1)} to ${count(last)} of ${plural(graph.total, "node")} are drawn.${sent}`;
  }
})();
