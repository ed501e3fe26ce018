"use strict";

/** Histograms of accuracy: cases by the share of their error bound that their outputs take, with the bound as a line. */
(() => {
  const { el, code, count, plural } = site;
  /** Largest multiple of the bound in each bar, and its words. */
  const BARS = [[0, "exact"], [1 / 16, "up to 1/16 of the bound"], [1 / 8, "up to 1/8"], [1 / 4, "up to 1/4"], [1 / 2, "up to 1/2"], [1, "up to the bound"], [4, "beyond the bound, up to 4 times"], [Infinity, "more than 4 times the bound"]];
  const NAMES = ["0", "1/16", "1/8", "1/4", "1/2", "1", "4", "more"];
  /** Number of bars within the bound. */
  const WITHIN = 6;
  const [BAR, STEP, HEIGHT, TOP] = [28, 33, 58, 30];

  const short = (value) => String(Number(value.toPrecision(2))).replace(/^0\./, ".");

  /** The bounds of some cases, each with its number of cases: "8 ULP" alone, or "8 ULP (12 cases), in other units (3 cases)". */
  function bounds(rows) {
    const words = rows.map(([, ulps]) => (ulps === null ? "in other units" : `${count(ulps)} ULP`));
    if (rows.length === 1) return words[0];
    return words.map((text, at) => `${text} (${plural(rows[at][2].reduce((sum, one) => sum + one, 0), "case")})`).join(", ");
  }

  /** The histogram of a type on a column. Its bars are named in ULP if all cases have one bound in ULP. */
  function histogram(type, title, rows) {
    const cases = BARS.map((_, at) => rows.reduce((sum, [, , counts]) => sum + counts[at], 0));
    const most = Math.max(...cases, 1);
    const [ulps] = rows.length === 1 ? [rows[0][1]] : [null];
    const names = BARS.map(([limit], at) => (ulps === null || limit === Infinity ? NAMES[at] : short(limit * ulps)));
    const label = `${type} on ${title}, ${plural(cases.reduce((sum, one) => sum + one, 0), "case")}: ${cases.map((sum, at) => (sum > 0 ? `${count(sum)} ${BARS[at][1]}` : null)).filter(Boolean).join(", ")}`;
    const width = BARS.length * STEP;
    const base = TOP + HEIGHT;
    const line = WITHIN * STEP - (STEP - BAR) / 2;
    const bars = cases.map((sum, at) => {
      const [x, height] = [at * STEP, sum > 0 ? Math.max(Math.round((sum / most) * HEIGHT), 2) : 0];
      return [
        sum > 0 ? site.svg("g", { class: at < WITHIN ? "s-r" : "s-w" }, site.svg("rect", { x, y: base - height, width: BAR, height })) : null,
        sum > 0 ? site.svg("text", { x: x + BAR / 2, y: base - height - 4, "text-anchor": "middle" }, count(sum)) : null,
        site.svg("text", { x: x + BAR / 2, y: base + 14, "text-anchor": "middle", class: "tick" }, names[at]),
      ];
    });
    const drawn = [bars.flat(), site.svg("line", { x1: 0, x2: width, y1: base, y2: base }), site.svg("line", { x1: line, x2: line, y1: 12, y2: base + 18, class: "bound" }),
      site.svg("text", { x: line, y: 9, "text-anchor": "middle", class: "tick" }, ulps === null ? "bound" : `bound: ${count(ulps)} ULP`)];
    const unit = ulps === null ? "shares of the bound" : "ULP";
    return el("figure", { class: "histogram" },
      site.svg("svg", { viewBox: `0 0 ${width} ${base + 20}`, width, height: base + 20, role: "img", "aria-label": label }, drawn.flat()),
      el("figcaption", null, code(type), ` ${title} `, el("span", { class: "quiet" }, `in ${unit}; bound ${bounds(rows)}`)));
  }

  /** The histograms of a version, and the columns that have none; nothing for an operator whose outputs are exact. */
  site.histograms = (front, data, version, columns) => {
    const all = data.shares || {};
    const has = Object.values(all).some((of) => Object.values(of).some((rows) => rows.length > 0));
    if (!has && data.accuracy.every(([, rule]) => rule === "exact")) return null;
    const own = all[version.since] || {};
    const [figures, empty, missing] = [[], [], []];
    for (const at of columns) {
      const [rows, title] = [own[front.columns[at].key], front.title(front.columns[at])];
      if (!rows) missing.push(title);
      else if (rows.length === 0) empty.push(title);
      for (const type of new Set((rows || []).map(([name]) => name))) figures.push([type, title, rows.filter(([name]) => name === type)]);
    }
    const types = [...new Set(figures.map(([type]) => type))];
    figures.sort((a, b) => types.indexOf(a[0]) - types.indexOf(b[0]));
    return el("div", { id: "histograms" },
      figures.length > 0 ? [el("h3", null, `Measured accuracy of ${data.name}-${version.since}`),
        el("p", { class: "quiet" }, "Each bar counts cases by the worst element of their outputs. Bars to the right of the dashed line break the error bound."),
        el("div", { class: "figures" }, figures.map((one) => histogram(...one)))] : null,
      empty.length > 0 ? el("p", { class: "quiet" }, `No outputs of this version with an error bound: ${empty.join(", ")}.`) : null,
      missing.length > 0 ? el("p", { class: "quiet" }, `These measurements do not have the numbers of cases by error: ${missing.join(", ")}.`) : null);
  };
})();
