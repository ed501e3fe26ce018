"use strict";

/**
 * Layered layout of a graph: every edge points down. Nodes are layered by the longest path, ordered by the mean place of their
 * neighbours, and moved towards them with a least distance in a layer.
 */
site.layout = (() => {
  const GAP = 18;
  const LAYER = 66;
  const NODE = 34;
  /** Most points that bend long edges. Beyond it, an edge is one curve. */
  const MAX_BENDS = 20_000;
  const SWEEPS = 6;

  /** The layer of each node. A node of a cycle, which no valid model has, stays where its predecessors let it. */
  function layers(sum, edges) {
    const [layer, waits, after] = [new Array(sum).fill(0), new Array(sum).fill(0), Array.from({ length: sum }, () => [])];
    for (const [from, to] of edges) {
      after[from].push(to);
      waits[to] += 1;
    }
    const ready = [...layer.keys()].filter((node) => waits[node] === 0);
    for (let at = 0; at < ready.length; at += 1) {
      for (const to of after[ready[at]]) {
        layer[to] = Math.max(layer[to], layer[ready[at]] + 1);
        waits[to] -= 1;
        if (waits[to] === 0) ready.push(to);
      }
    }
    return layer;
  }

  /** A node without predecessors moves down to its first successor, so that its edges are short. */
  function lower(layer, edges) {
    const [first, hasBefore] = [new Map(), new Set(edges.map(([, to]) => to))];
    for (const [from, to] of edges) first.set(from, Math.min(first.get(from) ?? Infinity, layer[to]));
    for (const [node, next] of first) if (!hasBefore.has(node)) layer[node] = Math.max(next - 1, 0);
  }

  /** The points of a layered graph: the nodes, and a bend for each layer that an edge crosses. */
  function points(widths, layer, edges) {
    const all = widths.map((width, at) => ({ width, layer: layer[at], up: [], down: [] }));
    let bends = 0;
    const routes = edges.map(([from, to]) => {
      const route = [from];
      const crossed = layer[to] - layer[from] - 1;
      if (crossed > 0 && bends + crossed <= MAX_BENDS) {
        bends += crossed;
        for (let between = layer[from] + 1; between < layer[to]; between += 1) {
          route.push(all.length);
          all.push({ width: 6, layer: between, up: [], down: [] });
        }
      }
      route.push(to);
      for (let at = 1; at < route.length; at += 1) {
        all[route[at - 1]].down.push(route[at]);
        all[route[at]].up.push(route[at - 1]);
      }
      return route;
    });
    return { all, routes };
  }

  const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

  /** Orders the points of each layer by the mean position of their neighbours, down and up in turn. */
  function order(all, rows) {
    const position = new Array(all.length).fill(0);
    const number = (row) => row.forEach((point, at) => { position[point] = at; });
    rows.forEach(number);
    for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
      const [side, path] = sweep % 2 === 0 ? ["up", rows] : ["down", [...rows].reverse()];
      for (const row of path) {
        const wanted = new Map(row.map((point) => [point, all[point][side].length > 0 ? mean(all[point][side].map((one) => position[one])) : position[point]]));
        row.sort((a, b) => wanted.get(a) - wanted.get(b) || position[a] - position[b]);
        number(row);
      }
    }
  }

  /** Places with the given distances that are nearest to the wanted ones: neighbours that are too near form a block at their mean. */
  function spaced(wanted, distances) {
    const blocks = [];
    let offset = 0;
    wanted.forEach((place, at) => {
      offset += distances[at];
      blocks.push({ sum: place - offset, count: 1 });
      while (blocks.length > 1 && blocks.at(-2).sum / blocks.at(-2).count > blocks.at(-1).sum / blocks.at(-1).count) {
        const last = blocks.pop();
        blocks.at(-1).sum += last.sum;
        blocks.at(-1).count += last.count;
      }
    });
    offset = 0;
    return blocks.flatMap(({ sum, count }) => new Array(count).fill(sum / count)).map((base, at) => {
      offset += distances[at];
      return base + offset;
    });
  }

  function places(all, rows) {
    const x = new Array(all.length).fill(0);
    const distances = rows.map((row) => row.map((point, at) => (at === 0 ? 0 : (all[row[at - 1]].width + all[point].width) / 2 + GAP)));
    const put = (row, at, wanted) => spaced(wanted, distances[at]).forEach((place, index) => { x[row[index]] = place; });
    rows.forEach((row, at) => put(row, at, row.map(() => 0)));
    for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
      const path = [...rows.keys()];
      if (sweep % 2 === 1) path.reverse();
      for (const at of path) {
        put(rows[at], at, rows[at].map((point) => {
          const near = sweep >= SWEEPS - 2 ? [...all[point].up, ...all[point].down] : all[point][sweep % 2 === 0 ? "up" : "down"];
          return near.length > 0 ? mean(near.map((one) => x[one])) : x[point];
        }));
      }
    }
    return x;
  }

  /** Places nodes of the given widths. An edge is `[from, to]`; its route is a list of points. */
  return (widths, edges) => {
    const given = edges.filter(([from, to]) => from !== to);
    const layer = layers(widths.length, given);
    lower(layer, given);
    // An edge of a cycle may point up; it has no part in the layout.
    const { all, routes } = points(widths, layer, given.filter(([from, to]) => layer[from] < layer[to]));
    const rows = [];
    all.forEach((point, at) => { (rows[point.layer] ||= []).push(at); });
    for (let at = 0; at < rows.length; at += 1) rows[at] ||= [];
    order(all, rows);
    const x = places(all, rows);
    const left = Math.min(0, ...rows.map((row) => (row.length > 0 ? x[row[0]] - all[row[0]].width / 2 : 0)));
    const right = Math.max(0, ...rows.map((row) => (row.length > 0 ? x[row.at(-1)] + all[row.at(-1)].width / 2 : 0)));
    const place = (at) => ({ x: x[at] - left + GAP, y: all[at].layer * LAYER + GAP + NODE / 2 });
    return {
      width: right - left + 2 * GAP, height: rows.length * LAYER - (LAYER - NODE) + 2 * GAP, node: NODE,
      nodes: widths.map((width, at) => ({ ...place(at), width, layer: layer[at], order: rows[layer[at]].indexOf(at) })),
      routes: routes.map((route) => route.map(place)),
      rows: rows.map((row) => row.filter((point) => point < widths.length)),
    };
  };
})();
