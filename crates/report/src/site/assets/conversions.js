"use strict";

/** Conversions of an operator's cases to other opsets. */
(() => {
  const { el, count } = site;

  /** Ways in which a conversion ends, with the class of their colour. */
  const WAYS = [["unchanged", "s-r"], ["edited", "s-p"], ["refused", "s-n"]];

  /** A bar of the shares, and the numbers in words. */
  function cell(counts) {
    const shown = WAYS.map(([words, state], at) => ({ words, state, number: counts[at] })).filter(({ number }) => number > 0);
    return el("td", null,
      el("span", { class: "bar", "aria-hidden": "true" }, shown.map(({ state, number }) => el("span", { class: state, style: `flex: ${number}` }))),
      shown.map(({ words, number }) => el("div", null, `${count(number)} ${words}`)));
  }

  /** The table: a row for each version of the cases, a column for each opset that they are converted to. */
  site.conversions = (data) => {
    if (data.conversions.length === 0) return null;
    const targets = [...new Set(data.conversions.map(([, opset]) => opset))].sort((a, b) => a - b);
    const inForce = (opset) => data.versions.findLast((one) => one.since <= opset);
    const head = targets.map((opset) => el("th", { scope: "col" }, `to opset ${opset}`, el("div", null, inForce(opset) ? `${data.name}-${inForce(opset).since}` : `no ${data.name}`)));
    const rows = data.versions.map((version) => {
      const own = data.conversions.filter(([since]) => since === version.since);
      if (own.length === 0) return null;
      const cells = targets.map((target) => {
        const found = own.find(([, opset]) => opset === target);
        return found ? cell(found[2]) : el("td", { class: "same-opset" }, "its own opset");
      });
      return el("tr", null, el("th", { scope: "row" }, `${data.name}-${version.since}`), cells);
    });
    return el("section", { id: "conversions" }, el("h2", null, "Conversions"),
      el("p", { class: "quiet" }, "Number of cases of each version that convert to another opset. Each converted case was run and gives its expected outputs. A refused case has no equivalent model at that opset, or none that is known."),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Conversions" }, el("table", { class: "conversions" },
        el("thead", null, el("tr", null, el("th", { scope: "col" }, "from"), head)), el("tbody", null, rows))));
  };
})();
