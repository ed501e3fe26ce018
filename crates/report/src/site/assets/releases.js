"use strict";

/** A picture of releases over time: the share of operators that are right, a line for each runtime. */
(() => {
  const { el } = site;
  const DAY = 86_400_000;

  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children.flat().filter((child) => child !== null));
    return made;
  }

  /** Releases of each runtime that have a date and accept the opset: day, share, and the numbers. */
  function lines(front, shown) {
    const byRuntime = new Map();
    front.columns.forEach((column, at) => {
      if (!column.released || column.file) return;
      const { counts, measured } = site.tally(front, shown.opset, at, shown.type, shown.level, shown.counted);
      if (measured === 0) return;
      const point = { day: Date.parse(column.released) / DAY, share: (counts.r || 0) / measured, words: `${column.version} (${column.released}) ${counts.r || 0} of ${measured}` };
      byRuntime.set(column.runtime, [...(byRuntime.get(column.runtime) || []), point]);
    });
    return [...byRuntime].map(([runtime, points]) => ({ runtime, points: points.sort((a, b) => a.day - b.day) }));
  }

  /** Heights of labels, at least `step` from each other. */
  function apart(heights, step, most) {
    const order = heights.map((height, at) => ({ height, at })).sort((a, b) => a.height - b.height);
    order.forEach((one, at) => { if (at > 0) one.height = Math.max(one.height, order[at - 1].height + step); });
    const over = order.length > 0 ? Math.max(order.at(-1).height - most, 0) : 0;
    const found = [];
    for (const one of order) found[one.at] = one.height - over;
    return found;
  }

  function years(from, to, narrow) {
    const marks = [];
    for (let year = new Date(from * DAY).getUTCFullYear(); ; year += 1) {
      for (const month of narrow ? [0] : [0, 6]) {
        const day = Date.UTC(year, month, 1) / DAY;
        if (day > to) return marks;
        if (day >= from) marks.push({ day, text: month === 0 ? String(year) : "July" });
      }
    }
  }

  function picture(all, narrow) {
    const [width, height, left, right, top, bottom] = narrow ? [366, 250, 48, 140, 12, 24] : [940, 280, 50, 160, 12, 26];
    const days = all.flatMap(({ points }) => points.map(({ day }) => day));
    const [from, to] = [Math.min(...days), Math.max(...days)];
    const x = (day) => left + ((day - from) / Math.max(to - from, 1)) * (width - left - right);
    const y = (share) => top + (1 - share) * (height - top - bottom);
    const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => [svg("line", { x1: left, x2: width - right, y1: y(share), y2: y(share), class: "rule" }),
      svg("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${share * 100} %`)]);
    const dates = years(from, to, narrow).map(({ day, text }) => [svg("line", { x1: x(day), x2: x(day), y1: height - bottom, y2: height - bottom + 4, class: "rule" }),
      svg("text", { x: x(day), y: height - 6, "text-anchor": "middle" }, text)]);
    const labels = apart(all.map(({ points }) => y(points.at(-1).share)), 15, height - bottom);
    const drawn = all.map(({ runtime, points }, at) => svg("g", { class: `line-${at % 6}` },
      svg("polyline", { points: points.map(({ day, share }) => `${x(day).toFixed(1)},${y(share).toFixed(1)}`).join(" ") }),
      points.map(({ day, share, words }) => svg("circle", { cx: x(day).toFixed(1), cy: y(share).toFixed(1), r: 4 }, svg("title", null, `${runtime} ${words}`))),
      svg("line", { x1: x(points.at(-1).day) + 6, y1: y(points.at(-1).share), x2: width - right + 8, y2: labels[at], class: "lead-line" }),
      svg("text", { x: width - right + 11, y: labels[at] + 4 }, `${runtime} ${Math.round(points.at(-1).share * 100)} %`)));
    const label = all.map(({ runtime, points }) => `${runtime}: ${points.map(({ words }) => words).join(", ")}`).join("; ");
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Operators that are right, by release. ${label}.` }, grid.flat(), dates.flat(), drawn);
  }

  /** The picture for the reader's choices; nothing without two dated releases. */
  site.releases = (front, shown) => {
    const all = lines(front, shown);
    if (all.reduce((sum, { points }) => sum + points.length, 0) < 2) return null;
    const narrow = window.matchMedia("(max-width: 760px)").matches;
    return el("figure", { class: "releases" }, picture(all, narrow),
      el("figcaption", { class: "quiet" }, `Share of measured operators of ${shown.counted} at opset ${shown.opset} that are right in ${site.typeWords(front, shown.type)}, by the date of the release. A point is a measured version.`));
  };
})();
