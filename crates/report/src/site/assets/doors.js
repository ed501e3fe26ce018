"use strict";

/** The beginning of the front page: a sentence of what this is, three doors, and figures with their definitions. */
(() => {
  const { el, link, count } = site;

  const door = (id, title, text, ways) => el("section", { class: "door", "aria-labelledby": `door-${id}` }, el("h2", { id: `door-${id}` }, title), el("p", null, text),
    el("ul", null, ways.map(([href, words, more]) => el("li", null, link(href, href === "#search" ? { onclick: focusSearch } : null, words), more ? el("span", { class: "quiet" }, ` ${more}`) : null))));

  function focusSearch(event) {
    event.preventDefault();
    document.getElementById("search").focus();
  }

  function figures(front) {
    const versions = front.operators.reduce((sum, operator) => sum + operator.v.length, 0);
    const measured = front.columns.filter((column) => !column.file);
    const runtimes = new Set(measured.map((column) => column.runtime)).size;
    return [
      [count(front.operators.length), "operators", `in ${count(versions)} versions; a version is a definition that holds from one opset on`, "#/?at=operators"],
      [count(front.cases), "cases", "models of one operator, with inputs and the outputs that the standard requires", "#/about"],
      [count(measured.length), "measurements", `each is one version of a runtime on all cases; ${runtimes} runtimes`, "#/runtimes"],
      [count(front.findings), "findings", "deviations of runtimes from the standard, each with its reason", "#/findings"],
    ];
  }

  /** The newest two versions of the runtime with most versions, to compare. */
  function twoVersions(front) {
    const sums = new Map();
    for (const column of front.columns.filter((one) => !one.file)) sums.set(column.runtime, [...(sums.get(column.runtime) || []), column]);
    const [most] = [...sums.values()].sort((a, b) => b.length - a.length);
    return most && most.length > 1 ? most.slice(-2) : null;
  }

  site.doors = (front) => {
    const pair = twoVersions(front);
    const newest = front.newestOpset;
    return [
      el("h1", null, "ONNX, measured"),
      el("p", { class: "lead" }, "This site shows which runtime computes each ONNX operator as the standard says, in which version and type. All runtimes run the same cases."),
      el("div", { class: "doors" },
        door("model", "I have a model", "Will it run, and will the results be right?", [
          front.module > 0 ? ["#/model", "Drop a model", "check it, see each node on each runtime, convert it"] : ["#/rules", "Rules of check", "what makes a model invalid, and how to fix it"],
          ["#search", "Find an operator", "its types, versions and results"],
          pair ? [site.href(["compare", pair[0].key, pair[1].key]), `Compare ${pair[0].runtime} ${pair[0].version} and ${pair[1].version}`, "or any two"] : ["#/compare", "Compare two runtimes"],
        ]),
        door("runtime", "I make a runtime", "Where does it differ from the standard, and why?", [
          ["#/findings", "Findings", "with a program to copy as an issue"],
          ["#/runtimes", "Runtimes", "every failing behaviour of each version"],
          ["#/heat", "Operators by release", "what each release fixed or broke"],
          ["#/graphs", "Graphs", "patterns that an optimizer must not rewrite wrongly"],
        ]),
        door("standard", "I write the standard", "Where is the text unclear, and what do runtimes do?", [
          ["#/disagreements", "Disagreements", "runtimes agree with each other, but not with the text"],
          ["#/together", "Who fails together", "how many failures two runtimes share"],
          [site.href([], { opset: newest, at: "operators" }), `Opset ${newest}`, "who supports it"],
          ["#/tools", "Tools", "converters, shape inference, checkers"],
        ])),
      el("dl", { class: "figures" }, figures(front).map(([number, noun, words, href]) => el("div", null, el("dt", null, link(href, null, el("b", null, number), ` ${noun}`)), el("dd", null, words)))),
    ];
  };
})();
