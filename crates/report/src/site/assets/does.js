"use strict";

/** Pictures of what an operator does, drawn from cases: padding by mode, the windows of pooling, the coordinates of Resize, and the rows of Softmax. */
(() => {
  const { el, link, code } = site;
  const [CELL, ROW] = [38, 26];

  /** The tensors in a part of the text of a case, by name: shape and values. */
  function tensors(text, part) {
    const lines = (text.split(`\n${part}\n`)[1] || "").split("\n\n")[0].split("\n");
    const found = lines.map((line) => /^ {2}(\S+) = tensor\(\w+\)\[([\d, ]*)\] \[(.*)\]$/.exec(line)).filter(Boolean);
    const numbers = (list) => list.split(", ").filter(Boolean).map(Number);
    return new Map(found.map(([, name, shape, values]) => [name, { shape: numbers(shape), values: numbers(values) }]));
  }

  /** The attributes in the call of make_node: numbers, lists and text. */
  function attributes(node) {
    const all = [...node.matchAll(/, (\w+)=(\[[^\]]*\]|"[^"]*"|[^,)]+)/g)];
    return Object.fromEntries(all.flatMap(([, name, value]) => { try { return [[name, JSON.parse(value)]]; } catch { return []; } }));
  }

  const short = (value) => String(Number(value.toPrecision(3)));
  /** True for values that fit into cells. */
  const isPlain = ({ values }) => values.length > 0 && values.every((value) => Number.isFinite(value) && short(value).length <= 5);
  const distinct = ({ values }) => new Set(values).size;

  function cell(x, y, state, text) {
    const [width, height] = [CELL - 2, ROW - 2];
    return site.svg("g", { class: state, transform: `translate(${x * CELL} ${y})` }, site.svg("rect", { width, height, rx: 3 }),
      text === undefined ? null : site.svg("text", { x: width / 2, y: height / 2 + 4, "text-anchor": "middle" }, text));
  }

  function figure(data, name, sample, words, label, [width, height], drawn) {
    const picture = site.svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, drawn);
    return el("figure", { class: "does" }, picture, el("figcaption", null, code(words), " ", link(site.caseHref(sample.id), null, name)));
  }

  /** The output of Pad: elements of the input, and padding around them. */
  function padded(data, mode) {
    const fits = ([name, sample]) => {
      if (name.startsWith("refuse/") || !sample.node || (attributes(sample.node).mode || "constant") !== mode) return [];
      const [inputs, outputs] = [tensors(sample.text, "inputs"), tensors(sample.text, "expected")];
      const [input, pads, output] = [inputs.get("data"), inputs.get("pads"), [...outputs.values()][0]];
      if (!input || !pads || !output || inputs.has("axes") || ![input, output].every(isPlain) || input.shape.length !== 2 || output.shape.length !== 2) return [];
      const [top, left, bottom, right] = pads.values;
      const [rows, columns] = output.shape;
      const isRight = Math.min(top, left, bottom, right) >= 0 && Math.max(top, left, bottom, right) > 0 && rows === input.shape[0] + top + bottom && columns === input.shape[1] + left + right;
      return isRight && columns <= 9 && rows <= 8 ? [{ name, sample, input, output, top, left }] : [];
    };
    const [found] = Object.entries(data.samples).flatMap(fits).sort((a, b) => distinct(b.input) - distinct(a.input) || b.output.values.length - a.output.values.length);
    if (!found) return null;
    const { name, sample, input, output, top, left } = found;
    const [rows, columns] = output.shape;
    const isInput = (at) => {
      const [row, column] = [Math.floor(at / columns) - top, (at % columns) - left];
      return row >= 0 && row < input.shape[0] && column >= 0 && column < input.shape[1];
    };
    const cells = output.values.map((value, at) => cell(at % columns, Math.floor(at / columns) * ROW, isInput(at) ? "s-r" : "s-p", short(value)));
    const lines = Array.from({ length: rows }, (_, row) => output.values.slice(row * columns, (row + 1) * columns).map(short).join(" "));
    return figure(data, name, sample, `mode="${mode}"`, `Output with ${top} rows of padding above and ${left} columns to the left of the input: ${lines.join("; ")}`, [columns * CELL, rows * ROW], cells);
  }

  const DEFAULTS = { strides: [1], pads: [0, 0], dilations: [1], ceil_mode: 0, auto_pad: "NOTSET", count_include_pad: 0, storage_order: 0, p: 2 };
  const POOLS = {
    MaxPool: (values) => Math.max(...values),
    AveragePool: (values, count) => values.reduce((sum, value) => sum + value, 0) / count,
    LpPool: (values, _, { p }) => values.reduce((sum, value) => sum + Math.abs(value) ** p, 0) ** (1 / p),
  };

  /** The windows of a case of pooling over one axis; `null` if they do not give the expected outputs. */
  function windows(operator, given, input, output) {
    const all = { ...DEFAULTS, ...given };
    const [[kernel], [stride], [dilation], length, count] = [all.kernel_shape, all.strides, all.dilations, input.values.length, output.values.length];
    let [before, after] = all.pads;
    if (all.auto_pad.startsWith("SAME")) {
      const total = Math.max((count - 1) * stride + (kernel - 1) * dilation + 1 - length, 0);
      before = all.auto_pad === "SAME_UPPER" ? Math.floor(total / 2) : Math.ceil(total / 2);
      after = total - before;
    }
    const made = output.values.map((value, at) => {
      const taps = Array.from({ length: kernel }, (_, tap) => at * stride - before + tap * dilation);
      const inside = taps.filter((tap) => tap >= 0 && tap < length);
      const counted = all.count_include_pad ? taps.filter((tap) => tap < length + after).length : inside.length;
      return { taps, inside, value, isRight: Math.abs(POOLS[operator](inside.map((tap) => input.values[tap]), counted, all) - value) <= 1e-3 * Math.max(Math.abs(value), 1) };
    });
    return made.every(({ isRight }) => isRight) ? { made, before, after, length } : null;
  }

  /** Cases of pooling over one axis that differ in one setting each. */
  function pools(data) {
    const found = new Map();
    for (const [name, sample] of Object.entries(data.samples)) {
      if (name.startsWith("refuse/") || !sample.node) continue;
      const [input, output] = [tensors(sample.text, "inputs").get("X"), [...tensors(sample.text, "expected").values()][0]];
      const given = attributes(sample.node);
      if (!input || !output || ![input, output].every(isPlain) || input.shape.length !== 3 || input.shape[0] * input.shape[1] !== 1 || input.values.length > 8) continue;
      const drawn = given.kernel_shape?.[0] > 1 ? windows(data.name, given, input, output) : null;
      if (!drawn) continue;
      const key = Object.entries(given).filter(([one, value]) => one in DEFAULTS && one !== "strides" && String(value) !== String(DEFAULTS[one])).map(([one, value]) => `${one}=${value}`).sort().join(" ");
      const known = found.get(key);
      if (!known || known.drawn.made.length < drawn.made.length) found.set(key, { name, sample, given, input, drawn });
    }
    const parts = (key) => (key ? key.split(" ").length : 0);
    return [...found].sort(([a], [b]) => parts(a) - parts(b) || a.localeCompare(b)).slice(0, 8).map(([, one]) => pool(data, one));
  }

  function pool(data, { name, sample, given, input, drawn: { made, before, after, length } }) {
    const last = Math.max(length + after - 1, ...made.flatMap(({ taps }) => taps));
    const row = Array.from({ length: before + last + 1 }, (_, at) => at - before)
      .map((at) => (at >= 0 && at < length ? cell(at + before, 0, "s-r", short(input.values[at])) : cell(at + before, 0, "beside")));
    const y = (at) => (at + 1) * (ROW + 2) + 6;
    const lines = made.flatMap(({ taps, value }, at) => [
      ...taps.map((tap) => cell(tap + before, y(at), tap >= 0 && tap < length ? "s-p" : "beside")),
      site.svg("text", { x: (before + last + 1) * CELL + 6, y: y(at) + ROW / 2 + 3, class: "given" }, `→ ${short(value)}`)]);
    const words = Object.entries(given).filter(([one]) => one === "kernel_shape" || String(given[one]) !== String(DEFAULTS[one])).map(([one, value]) => `${one}=${JSON.stringify(value)}`).join(", ");
    const label = made.map(({ taps, inside, value }, at) => `window ${at + 1} has ${inside.length > 0 ? `elements ${inside.join(", ")}` : "no element"}${inside.length < taps.length ? " and padding" : ""}, and gives ${short(value)}`);
    return figure(data, name, sample, words, `Input ${input.values.map(short).join(" ")}: ${label.join("; ")}`, [(before + last + 1) * CELL + 64, y(made.length)], [...row, ...lines]);
  }

  /** Coordinate in the input of an output element, by mode. */
  const COORDINATES = {
    half_pixel: (at, scale) => (at + 0.5) / scale - 0.5,
    asymmetric: (at, scale) => at / scale,
    align_corners: (at, _, length, count) => (count > 1 ? at * (length - 1) / (count - 1) : 0),
    pytorch_half_pixel: (at, scale, _, count) => (count > 1 ? (at + 0.5) / scale - 0.5 : 0),
  };

  /** Linear interpolation of the input at a coordinate. Beyond the ends it has the value of the end. */
  function between(values, coordinate) {
    const at = Math.min(Math.max(coordinate, 0), values.length - 1);
    const low = Math.min(Math.floor(at), values.length - 1);
    return values[low] + (at - low) * ((values[low + 1] ?? values[low]) - values[low]);
  }

  /** The coordinates of the outputs of Resize over one axis, where linear interpolation there gives the expected outputs. */
  function resized(data, mode) {
    const fits = ([name, sample]) => {
      const given = attributes(sample.node || "");
      if (name.startsWith("refuse/") || given.mode !== "linear" || given.antialias || given.axes || (given.coordinate_transformation_mode || "half_pixel") !== mode) return [];
      const [inputs, outputs] = [tensors(sample.text, "inputs"), tensors(sample.text, "expected")];
      const [input, output] = [inputs.get("X"), [...outputs.values()][0]];
      if (!input || !output || ![input, output].every(isPlain) || input.shape.at(-1) !== input.values.length || input.values.length < 3 || input.values.length > 6 || output.values.length > 10) return [];
      const [length, count] = [input.values.length, output.values.length];
      const scale = inputs.get("scales")?.values.at(-1) || count / length;
      const points = output.values.map((value, at) => ({ value, at: COORDINATES[mode](at, scale, length, count) }));
      return points.every(({ value, at }) => Math.abs(between(input.values, at) - value) <= 1e-3 * Math.max(Math.abs(value), 1)) ? [{ name, sample, input, points }] : [];
    };
    const [found] = Object.entries(data.samples).flatMap(fits).sort((a, b) => b.points.length - a.points.length);
    if (!found) return null;
    const { name, sample, input, points } = found;
    const step = 74;
    const x = (at) => (at + 0.75) * step;
    const width = x(input.values.length - 1) + 0.75 * step;
    const drawn = [
      site.svg("line", { x1: 0, x2: width, y1: 42, y2: 42 }),
      input.values.map((value, at) => [site.svg("g", { class: "s-r", transform: `translate(${x(at) - CELL / 2} 0)` }, site.svg("rect", { width: CELL, height: ROW - 2, rx: 3 }), site.svg("text", { x: CELL / 2, y: 16, "text-anchor": "middle" }, short(value))),
        site.svg("line", { x1: x(at), x2: x(at), y1: ROW - 2, y2: 42 })]),
      points.map(({ value, at }) => [site.svg("circle", { cx: x(at), cy: 42, r: 4.5 }), site.svg("text", { x: x(at), y: 64, "text-anchor": "middle", class: "given" }, short(value))]),
    ].flat(3);
    const label = points.map(({ value, at }) => `${short(value)} at ${short(at)}`).join("; ");
    return figure(data, name, sample, `coordinate_transformation_mode="${mode}"`, `Input ${input.values.map(short).join(" ")}: outputs ${label}`, [width, 70], drawn);
  }

  /** The shares of the elements of a lane. The largest is subtracted first, so that nothing overflows. */
  function shares(values) {
    const most = Math.max(...values);
    const powers = values.map((value) => Math.exp(value - most));
    const sum = powers.reduce((total, one) => total + one, 0);
    return powers.map((one) => one / sum);
  }

  /** The positions of the elements of each lane of a matrix along an axis. */
  function lanesOf([rows, columns], axis) {
    const [lanes, length] = axis === 1 ? [rows, columns] : [columns, rows];
    return Array.from({ length: lanes }, (_, lane) => Array.from({ length }, (__, at) => (axis === 1 ? lane * columns + at : at * columns + lane)));
  }

  /** A case of Softmax with the attributes of a node in words, on a matrix whose lanes give the expected outputs. */
  function softmaxCase([name, sample]) {
    if (name.startsWith("refuse/") || !sample.node) return [];
    const { axis: given } = attributes(sample.node);
    const axis = given === undefined || given === -1 ? 1 : given;
    const [input, output] = [tensors(sample.text, "inputs").get("input"), [...tensors(sample.text, "expected").values()][0]];
    if (!input || !output || input.shape.length !== 2 || output.shape.join() !== input.shape.join() || ![0, 1].includes(axis)) return [];
    const isShown = input.values.length > 0 && input.values.every((value) => Number.isFinite(value) && String(value).length <= 5);
    if (!isShown || input.shape[0] > 4 || input.shape[1] > 5) return [];
    const lanes = lanesOf(input.shape, axis);
    const isRight = lanes.every((lane) => shares(lane.map((at) => input.values[at])).every((share, at) => Math.abs(share - output.values[lane[at]]) <= 1e-2));
    return isRight ? [{ name, sample, axis, input, output, lanes, words: given === undefined ? "axis left out" : `axis=${given}` }] : [];
  }

  /** The input and the output of Softmax side by side, lane by lane. An output is filled as far as its share of the lane. */
  function softmaxed(data, { name, sample, axis, input, output, lanes, words }) {
    const [rows, columns] = input.shape;
    const gap = 8;
    const wide = Math.max(CELL, 8 * Math.max(...input.values.map((value) => String(value).length)) + 6);
    const [stepX, stepY] = axis === 1 ? [wide, ROW + gap] : [wide + gap, ROW];
    const [width, height] = [wide - 2, ROW - 2];
    const right = columns * stepX + 34;
    const place = (at, start) => [start + (at % columns) * stepX, 4 + Math.floor(at / columns) * stepY];
    const box = (at, start, text, share) => {
      const [x, y] = place(at, start);
      const filled = share === undefined ? null : site.svg("g", { class: "s-r" }, site.svg("rect", { x, y, width: Math.max(width * share, 1), height }));
      return [site.svg("g", { class: share === undefined ? "s-r" : "beside" }, site.svg("rect", { x, y, width, height, rx: 3 })), filled,
        site.svg("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle", class: "given" }, text)];
    };
    const arrows = lanes.map((lane) => {
      const y = 4 + Math.floor(lane[0] / columns) * stepY + height / 2;
      return axis === 1 ? site.svg("text", { x: right - 20, y: y + 4, "text-anchor": "middle", class: "given" }, "→") : null;
    });
    const middle = axis === 1 ? [] : [site.svg("text", { x: right - 20, y: 8 + (rows * stepY) / 2, "text-anchor": "middle", class: "given" }, "→")];
    const drawn = [input.values.map((value, at) => box(at, 0, String(value))), arrows, middle, output.values.map((value, at) => box(at, right, value.toFixed(2), value))].flat(3);
    const label = lanes.map((lane) => `${lane.map((at) => input.values[at]).join(" ")} give ${lane.map((at) => output.values[at].toFixed(2)).join(" ")}`).join("; ");
    return figure(data, name, sample, words, `Input and output ${axis === 1 ? "by row" : "by column"}: ${label}`, [right + columns * stepX, rows * stepY + 4], drawn);
  }

  /** Cases of Softmax, one for each axis. */
  function softmaxes(data) {
    const found = new Map();
    for (const one of Object.entries(data.samples).flatMap(softmaxCase).sort((a, b) => distinct(b.input) - distinct(a.input))) {
      if (!found.has(one.words)) found.set(one.words, one);
    }
    return [...found.values()].sort((a, b) => b.axis - a.axis || b.words.localeCompare(a.words)).map((one) => softmaxed(data, one));
  }

  const ABOUT = {
    Softmax: "Cases on a matrix: the input, and beside it the output. The outputs along the axis sum to 1; each is filled as far as its share.",
    Pad: "Outputs of cases. Outlined cells are padding.",
    Resize: "Cases over one axis with mode=\"linear\". The upper row is the input; a dot shows where each output lies in it, with its value.",
  };

  /** The pictures of an operator. */
  function pictures(data) {
    if (data.name === "Pad") return ["constant", "edge", "reflect", "wrap"].map((mode) => padded(data, mode)).filter(Boolean);
    if (data.name === "Resize") return Object.keys(COORDINATES).map((mode) => resized(data, mode)).filter(Boolean);
    if (data.name === "Softmax") return softmaxes(data);
    return POOLS[data.name] ? pools(data) : [];
  }

  /** The section with the pictures; `null` if there are none of the operator. */
  site.does = (data) => {
    if (data.domain !== "ai.onnx") return null;
    const all = pictures(data);
    if (all.length === 0) return null;
    const about = ABOUT[data.name] || "Cases over one axis. The first row is the input; under it is a row for each window, with its output. Dashed cells are outside of the input.";
    return el("section", { id: "does" }, el("h2", null, "What it does"), el("p", { class: "quiet" }, about), el("div", { class: "figures" }, all));
  };
})();
