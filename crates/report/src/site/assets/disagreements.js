"use strict";

/** Disagreements: behaviours on which runtimes agree with each other, but not with the standard. */
(() => {
  const { el, link, table, plural, count } = site;
  /** Number of rows that a list shows at first. */
  const MAX_SHOWN = 100;
  const FAILS = "cwsea";

  const stateOf = (letter) => site.OUTCOMES[letter][1];

  /** The runtimes whose outcome is the most frequent failure, and its words. */
  function agreement(one) {
    const byOutcome = new Map();
    for (const [key, letter] of Object.entries(one.ends)) if (one.open || FAILS.includes(stateOf(letter))) byOutcome.set(letter, [...(byOutcome.get(letter) || []), key]);
    const [letter, keys] = [...byOutcome].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]))[0] || ["?", []];
    return { letter, keys, all: Object.keys(one.ends).length };
  }

  /** Behaviours with most agreeing runtimes first; then those with the larger share. */
  const ranked = (some) => some.map((one) => ({ one, agreed: agreement(one) })).sort((a, b) => b.agreed.keys.length - a.agreed.keys.length
    || a.agreed.all - b.agreed.all || Number(a.one.b.startsWith("refuse/")) - Number(b.one.b.startsWith("refuse/")) || a.one.op.localeCompare(b.one.op) || a.one.b.localeCompare(b.one.b));

  function list(front, shown, some, isWhole) {
    const rows = (isWhole ? some : some.slice(0, MAX_SHOWN)).map(({ one, agreed }) => {
      const [domain, name] = one.op.split("/");
      return [`${name}-${one.v.join(", ")}`,
        el("td", null, el("b", null, String(agreed.keys.length)), el("span", { class: "of" }, ` of ${agreed.all}`), el("div", { class: "quiet" }, site.OUTCOMES[agreed.letter][0].replace(" an invalid model", ""))),
        link(site.operatorHref(domain, name, { v: one.v.at(-1), b: one.b, at: "behaviour" }), null, one.b),
        ...shown.map((at) => {
          const letter = one.ends[front.columns[at].key];
          const [words, state] = letter ? site.OUTCOMES[letter] : [];
          return letter ? site.mark({ key: state, bad: 0, total: 0 }, words.replace(" an invalid model", ""), { title: words }) : "";
        })];
    });
    return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Behaviours" }, table({ class: "disagreements" }, ["operator", "agree", "behaviour", ...shown.map((at) => front.title(front.columns[at]))], rows)),
      rows.length < some.length ? el("p", null, el("button", { type: "button", "data-focus": "all", onclick: () => site.choose({ all: "1" }) }, `Show all ${count(some.length)}`)) : null];
  }

  site.page("disagreements", async (_, chosen) => {
    const [front, all] = [await site.front(), await site.load("disagreements")];
    const shown = front.newest.filter((at) => all.some((one) => one.ends[front.columns[at].key]));
    const both = (chosen.get("both") || "").split(",").map((key) => site.columnLike(front, key)).filter((at) => at >= 0).map((at) => front.columns[at].key);
    const kind = chosen.get("kind") || "";
    const fits = (one) => both.every((key) => FAILS.includes(stateOf(one.ends[key] || "?"))) && (kind === "" || one.b.startsWith("refuse/") === (kind === "refused"));
    const some = all.filter(fits);
    const [open, against] = [ranked(some.filter((one) => one.open)), ranked(some.filter((one) => !one.open))];
    const isWhole = chosen.get("all") === "1";
    return [el("h1", null, "Disagreements"),
      el("p", { class: "lead" }, "Behaviours for which two or more runtimes agree with each other but not with the standard's text; perhaps the text has to change. The behaviour on which most runtimes agree comes first."),
      el("p", { class: "quiet" }, "Only the newest version of each runtime counts. Measurements have outcomes, not outputs: two runtimes with wrong values need not have the same values. ", link("#/together", null, "Who fails together")),
      el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() }, site.select("Models", "kind", [["", "all"], ["run", "that must run"], ["refused", "that must be refused"]], kind)),
      both.length > 0 ? el("p", { role: "status" }, `Only behaviours that fail on ${both.map((key) => front.title(front.columns[front.column(key)])).join(" and ")}. `, link("#/disagreements", null, "Show all")) : null,
      el("h2", null, `Against the text: ${plural(against.length, "behaviour")}`), against.length > 0 ? list(front, shown, against, isWhole) : el("p", null, "None."),
      el("h2", null, `Left open by the text, with different results: ${plural(open.length, "behaviour")}`), open.length > 0 ? list(front, shown, open, isWhole) : el("p", null, "None.")];
  });
})();
