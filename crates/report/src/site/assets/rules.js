"use strict";

/** Rules of `check`: what a valid model follows. */
(() => {
  const { el, code, plural } = site;
  const STATES = { error: "w", warning: "e", note: "p" };

  const article = (rule, open) => el("details", { id: `rule-${rule.id}`, open },
    el("summary", null, el("span", { class: `mark s-${STATES[rule.level]}` }, rule.level), " ", code(rule.id), " ", rule.says),
    el("div", { class: "finding" },
      el("p", null, el("span", { class: "quiet" }, "Why: "), rule.why),
      el("p", null, el("span", { class: "quiet" }, "Source: "), rule.source),
      el("p", null, el("span", { class: "quiet" }, rule.safe ? "Fix, which is safe: " : "Fix: "), rule.fix),
      rule.bad ? [el("p", { class: "quiet" }, "A model that breaks it"), el("pre", { tabindex: "0" }, rule.bad)] : null,
      el("p", { class: "quiet" }, "A model that follows it"), el("pre", { tabindex: "0" }, rule.good)));

  site.page("rule", async (parts) => site.lead(site.href(["rules"], parts.length > 0 ? { at: `rule-${parts.join("/")}` } : {})));

  site.page("rules", async (_, chosen) => {
    const rules = await site.load("rules");
    const at = (chosen.get("at") || "").replace(/^rule-/, "");
    const groups = [...new Set(rules.map((rule) => rule.id.split("/")[0]))];
    return [
      el("h1", { "data-plain": `rule/${rules.some((rule) => rule.id === at) ? at : "index"}.html` }, "Rules of check"),
      el("p", { class: "lead" }, `The command check tests a model with ${plural(rules.length, "rule")}, without running it. A finding names its rule.`),
      at && !rules.some((rule) => rule.id === at) ? el("p", { class: "notice" }, `There is no rule '${at}'. Near: ${site.nearest(at, rules.map((rule) => rule.id)).join(", ") || "none"}.`) : null,
      el("pre", { tabindex: "0" }, "onnx-conformance check model.onnx"),
      groups.map((group) => el("section", { class: "check-rules" }, el("h2", null, group), rules.filter((rule) => rule.id.startsWith(`${group}/`)).map((rule) => article(rule, rule.id === at)))),
    ];
  });
})();
