"use strict";

/** Who fails together: of the failing behaviours of a runtime, how many fail on another one. */
(() => {
  const { el, link, plural, count } = site;
  const WORDS = ["fail, too", "are inexact", "are right", "are declined", "are not measured or not accepted"];

  /** The share of the judged behaviours that fail; nothing if none is judged. */
  const shareOf = ([fail, inexact, right, declined]) => (fail + inexact + right + declined > 0 ? fail / (fail + inexact + right + declined) : null);

  function cell(titles, ends, from, to) {
    const words = `Of ${plural(ends[from][from][0], "failing behaviour")} of ${titles[from]}, on ${titles[to]} ${ends[from][to].map((sum, at) => (sum > 0 ? `${count(sum)} ${WORDS[at]}` : null)).filter(Boolean).join(", ")}.`;
    const share = shareOf(ends[from][to]);
    if (from === to) return el("td", { class: "own-failures", title: words }, el("b", null, count(ends[from][from][0])), el("span", { class: "unseen" }, " failing behaviours"));
    if (share === null) return el("td", { class: "quiet", title: words }, "–");
    return el("td", { title: words, style: `--share:${Math.round(share * 100)}%` }, link(site.href(["disagreements"], { both: [titles[from], titles[to]].map((title) => title.replace(" ", "-")).join(",") }), null, `${Math.round(share * 100)} %`,
      el("span", { class: "unseen" }, ` ${words}`)), el("div", { class: "of", "aria-hidden": "true" }, `${count(ends[from][to][0])} of ${count(ends[from][to].slice(0, 4).reduce((sum, one) => sum + one, 0))}`));
  }

  /** The pairs that share most, in sentences. */
  function pairs(titles, ends) {
    const all = [];
    ends.forEach((row, from) => row.forEach((one, to) => {
      if (from !== to && one[0] >= 10) all.push({ from, to, share: shareOf(one), sum: one[0] });
    }));
    return all.sort((a, b) => b.share - a.share || b.sum - a.sum).slice(0, 3);
  }

  site.page("together", async () => {
    const [front, { runtimes, ends }] = [await site.front(), await site.load("together")];
    const titles = runtimes.map((key) => `${front.columns[front.column(key)].runtime} ${front.columns[front.column(key)].version}`);
    const headOf = (at) => el("th", { scope: "col" }, link(site.href(["runtime", runtimes[at]]), null, front.columns[front.column(runtimes[at])].runtime), " ", el("span", { class: "quiet" }, front.columns[front.column(runtimes[at])].version));
    const rows = runtimes.map((_, from) => el("tr", null, el("th", { scope: "row" }, titles[from]), runtimes.map((__, to) => cell(titles, ends, from, to))));
    return [
      el("p", { class: "crumbs" }, link("#/runtimes", null, "Runtimes")),
      el("h1", null, "Who fails together"),
      el("p", { class: "lead" }, "Each row takes the failing behaviours of one runtime. Each column shows how many of them fail on another runtime."),
      el("p", { class: "quiet" }, "A behaviour of an operator version fails if a case of it ends wrong, in an error or a crash, or accepts an invalid model. The percentage is that of behaviours that the other runtime was judged on. Two wrong outputs need not be equal."),
      el("ul", { id: "pairs" }, pairs(titles, ends).map(({ from, to, share, sum }) => el("li", null, `${Math.round(share * 100)} % of the failing behaviours of ${titles[from]} also fail on ${titles[to]} (${count(sum)}).`))),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Shared failures" }, el("table", { class: "together" },
        el("thead", null, el("tr", null, el("th", { scope: "col" }, "fails on"), runtimes.map((_, at) => headOf(at)))), el("tbody", null, rows))),
      el("p", null, link("#/disagreements", null, "Behaviours on which several runtimes agree against the text")),
    ];
  });
})();
