"use strict";

/** Strip of opsets of a dropped model: where it needs no edit, and the results of conversions. */
(() => {
  const { el } = site;

  const STATES = {
    own: ["s-r", "●", "opset of the model"],
    same: ["s-r", "✓", "no node has to change"],
    edited: ["s-p", "Δ", "converts with edits"],
    refused: ["s-w", "✗", "does not convert"],
    unknown: ["s-q", "?", "not tried"],
  };

  /** The result of a conversion; `unknown` if it was interrupted. */
  site.stateOfConversion = (answer) => {
    if (answer.error) return "unknown";
    if (answer.reasons) return "refused";
    // The edit of an opset number is an edit of the model, not of a node.
    return (answer.edits || []).every((edit) => edit.startsWith("model: ")) ? "same" : "edited";
  };

  /** The state of an opset: a result, or what the check says. */
  function stateOf(report, results, domain, opset) {
    if (opset === (report.facts.opsets[domain] ?? report.facts.opsets[domain === "ai.onnx" ? "" : domain])) return "own";
    const known = results.get(`${domain} ${opset}`);
    if (known) return known;
    const isWithin = (range) => range && range[0] <= opset && opset <= range[1];
    return isWithin(report.unedited?.[domain]) || isWithin(report.same_operators?.[domain]) ? "same" : "unknown";
  }

  /** A strip with a button for each opset of a domain, and one that converts to those that were not tried. */
  site.opsetStrip = (report, results, { domain, newest, chosen }, { choose, tryAll }) => {
    const opsets = Array.from({ length: newest }, (_, at) => at + 1);
    const states = opsets.map((opset) => stateOf(report, results, domain, opset));
    const buttons = opsets.map((opset, at) => {
      const [state, sign, words] = STATES[states[at]];
      return el("button", { type: "button", class: `mark ${state}`, "aria-pressed": String(opset === chosen), title: `opset ${opset}: ${words}`, onclick: () => choose(opset) },
        el("span", { "aria-hidden": "true" }, sign), el("span", { class: "unseen" }, words), ` ${opset}`);
    });
    const untried = opsets.filter((_, at) => states[at] === "unknown");
    const shown = Object.keys(STATES).filter((key) => states.includes(key));
    return [
      el("div", { class: "runtime-strip", role: "group", "aria-label": `Opsets of ${domain}` }, buttons),
      el("p", { class: "legend" }, shown.map((key) => el("span", null, el("span", { class: `mark ${STATES[key][0]}`, "aria-hidden": "true" }, STATES[key][1]), ` ${STATES[key][2]}`))),
      untried.length > 0 ? el("p", null, el("button", { type: "button", class: "small", onclick: () => tryAll(untried) }, `Convert to the ${untried.length === 1 ? "opset" : `${untried.length} opsets`} not tried`)) : null,
    ].filter(Boolean);
  };
})();
