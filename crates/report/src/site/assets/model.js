"use strict";

/** The page for a model of the reader: its check, the behaviour of measured runtimes, and the model at another opset. */
(() => {
  const { el, link, code, plural } = site;
  /** The last model. It is not uploaded. */
  let given = null;
  /** A file that was dropped and is not read yet. */
  let dropped = null;

  const mark = (verdict, words) => {
    const key = site.verdictState(verdict);
    return el("span", { class: `mark s-${key === "?" ? "q" : key}` }, words);
  };

  function facts({ facts: model, same_operators: same, unedited }) {
    if (!model) return null;
    const ranges = (all) => Object.entries(all || {}).map(([domain, [first, last]]) => `${domain} ${first === last ? first : `${first} to ${last}`}`).join(", ");
    const rows = [
      ["IR version", `${model.ir.declared ?? "none"}; the file needs ${model.ir.lowest} or newer`],
      ["opsets", Object.entries(model.opsets).map(([domain, opset]) => `${domain || "ai.onnx"} ${opset}`).join(", ")],
      ["nodes", `${plural(model.nodes, "node")} of ${plural(Object.keys(model.operators).length, "operator version")}, ${plural(model.initializers, "initializer")}`],
      ["operators unchanged at opsets", ranges(same)], ["no edit needed at opsets", ranges(unedited)],
    ];
    return el("dl", { class: "accuracy" }, rows.filter(([, text]) => text).map(([name, text]) => [el("dt", null, name), el("dd", null, text)]));
  }

  function findings(all) {
    if (all.length === 0) return el("p", null, "No problems found.");
    const rows = all.slice(0, 200).map((one) => [
      el("th", { scope: "row" }, el("span", { class: `mark s-${{ error: "w", warning: "e" }[one.level] || "q"}` }, one.level)), code(one.rule), one.place,
      el("td", null, one.message, one.inputs ? el("p", { class: "quiet" }, `inputs: ${one.inputs}`) : null, one.from ? el("p", { class: "quiet" }, `from: ${one.from}`) : null, one.edit ? el("p", null, el("b", null, "Fix: "), one.edit) : null),
    ]);
    return [el("div", { class: "scroll" }, site.table({ class: "findings" }, ["level", "rule", "where", "what, and the fix"], rows)),
      all.length > 200 ? el("p", { class: "quiet" }, `and ${all.length - 200} more, which the program's check prints.`) : null];
  }

  /** The runtimes, the newest version of each first; each opens to the kinds of nodes. */
  function runtimes(all) {
    const names = [...new Set(all.map(({ runtime }) => runtime))];
    const cause = (report) => report.refused || report.kinds.find((kind) => !["runs", "runs-but-for-special-values"].includes(kind.verdict));
    const kinds = (report) => el("div", { class: "scroll" }, site.table({ class: "kinds" }, ["nodes", "first", "similar cases"], report.kinds.map((kind) => [
      el("th", { scope: "row" }, operator(kind.kind), ` ×${kind.nodes}`, kind.settings ? el("p", { class: "quiet" }, kind.settings) : null), kind.first,
      el("td", null, mark(kind.verdict, kind.says), kind.case ? el("p", null, link(site.caseHref(kind.case), null, kind.case)) : null)])));
    const graphs = (report) => (report.graphs.length > 0 ? el("ul", { class: "graphs" }, report.graphs.map((graph) => el("li", null,
      graph.says, " ", link(site.caseHref(graph.case), null, graph.case)))) : null);
    const row = (report) => {
      const why = cause(report);
      return el("details", null, el("summary", null, el("b", null, `${report.runtime} ${report.version}`), " ", mark(report.verdict, report.verdict),
        why ? el("span", null, ` ${typeof why === "string" ? why : `${why.first}: ${why.says}`}`) : "",
        report.graphs.length > 0 ? el("span", { class: "quiet" }, ` ${plural(report.graphs.length, "graph")} known to fail`) : null), graphs(report), kinds(report));
    };
    return names.map((name) => {
      const versions = all.filter(({ runtime }) => runtime === name).toReversed();
      return [row(versions[0]), versions.length > 1 ? el("details", { class: "older" }, el("summary", { class: "quiet" }, `${plural(versions.length - 1, "older version")} of ${name}`), versions.slice(1).map(row)) : null];
    });
  }

  function operator(kind) {
    const found = /^(?:([^/ ]+)\/)?([^ ]+)-(\d+)(.*)$/.exec(kind);
    return found ? [link(site.operatorHref(found[1] || "ai.onnx", found[2], { v: found[3] }), null, `${found[2]}-${found[3]}`), code(found[4])] : code(kind);
  }

  function conversion(front, report) {
    const opsets = Object.entries(report.facts.opsets).map(([domain, opset]) => [domain || "ai.onnx", opset]).filter(([domain]) => front.domains.some((one) => one.name === domain));
    if (opsets.length === 0) return null;
    const domain = el("select", { id: "convert-domain" }, opsets.map(([name]) => el("option", null, name)));
    const opset = el("input", { id: "convert-opset", type: "number", min: "1", value: String(opsets[0][1]), required: true });
    const { file, opsets: results } = given;
    const strip = el("div", { id: "opsets" });
    /** Draws the strip with what is known. The focus stays at its opset. */
    const draw = () => {
      const at = [...strip.querySelectorAll("button")].indexOf(document.activeElement);
      const { newest } = front.domains.find((one) => one.name === domain.value);
      const choice = { domain: domain.value, newest, chosen: Number(opset.value) };
      strip.replaceChildren(...site.opsetStrip(report, results, choice, { choose: (one) => { opset.value = String(one); draw(); }, tryAll }));
      if (at >= 0) strip.querySelectorAll("button")[at]?.focus({ preventScroll: true });
    };
    domain.addEventListener("change", () => { opset.value = opsets.find(([name]) => name === domain.value)[1]; draw(); });
    opset.addEventListener("input", draw);
    /** Converts the model of this strip to an opset, and keeps the result. */
    const convertTo = async (name, one) => {
      const converted = await site.ask({ do: "convert", domain: name, opset: one }, await file.arrayBuffer());
      results.set(`${name} ${one}`, site.stateOfConversion(converted.answer));
      if (strip.isConnected) draw();
      return converted;
    };
    const tryAll = async (untried) => {
      const name = domain.value;
      try {
        for (const [at, one] of untried.entries()) {
          if (!strip.isConnected || given.file !== file) return;
          site.say(`Converting to opset ${one}, ${at + 1} of ${untried.length}`);
          const { answer } = await convertTo(name, one);
          if (answer.error) throw new Error(answer.error);
        }
        site.say("All opsets were tried");
      } catch (error) {
        result.replaceChildren(el("p", { class: "notice" }, `Not all opsets were tried: ${error.message}.`));
      }
    };
    const result = el("div", { id: "convert-result", "aria-live": "polite" });
    const button = el("button", { type: "submit" }, "Convert");
    const list = (title, all) => (all && all.length > 0 ? [el("h3", null, title), el("ul", null, all.slice(0, 100).map((text) => el("li", null, text)))] : null);
    const run = async (event) => {
      event.preventDefault();
      button.disabled = true;
      result.replaceChildren(el("p", { class: "quiet" }, "Converting…"));
      try {
        const { answer, bytes } = await convertTo(domain.value, Number(opset.value));
        const name = file.name.replace(/(\.onnx)?$/i, `.opset${opset.value}.onnx`);
        const pair = answer.graph && report.graph ? site.graphPair(report, report.graph, answer.graph, ["Before", `At opset ${opset.value}`]) : null;
        result.replaceChildren(...[
          answer.error ? el("p", { class: "notice" }, answer.error) : null,
          list("It cannot be converted", answer.reasons), list("Edits", answer.edits),
          answer.edits && answer.edits.length === 0 ? el("p", null, "There is nothing to do: the model already has these versions.") : null,
          answer.proof ? el("p", null, `${answer.proof}.`) : null,
          answer.proof ? site.saveButton(`Download ${name}`, name, "application/octet-stream", () => bytes) : null,
          pair,
        ].flat(3).filter(Boolean));
      } catch (error) {
        result.replaceChildren(el("p", { class: "notice" }, `The model was not converted: ${error.message}.`));
      } finally {
        button.disabled = false;
      }
    };
    draw();
    return el("section", { id: "convert" }, el("h2", null, "At another opset"), strip, el("form", { class: "line", onsubmit: run },
      el("label", { for: "convert-domain" }, "domain ", domain), el("label", { for: "convert-opset" }, "opset ", opset), button), result);
  }

  function shown(front, report) {
    return [
      el("p", { class: "lead" }, el("b", null, given.file.name), `: ${report.verdict}`),
      facts(report), site.modelGraph(report, given.drawn), el("section", { id: "rules-broken" }, el("h2", null, "Rules"), findings(report.findings)),
      report.runtimes.length > 0 ? el("section", { id: "on-runtimes" }, el("h2", null, "On every measured runtime"),
        el("p", { class: "quiet" }, "Each node is compared with the cases of its operator version, types and settings."), runtimes(report.runtimes)) : null,
      report.facts && report.status !== "unreadable" ? conversion(front, report) : null,
    ].flat(Infinity).filter(Boolean);
  }

  async function take(front, file, result) {
    given = { file, drawn: {}, opsets: new Map() };
    result.replaceChildren(el("p", { class: "quiet" }, `Reading ${file.name}…`));
    try {
      if (file.size > 1 << 30) throw new Error("it has more than 1 GiB; `onnx-conformance check` accepts models of any size, since it does not read weights");
      const { answer } = await site.ask({ do: "check", name: file.name }, await file.arrayBuffer());
      if (given.file !== file) return;
      given.report = answer;
      if (site.address().parts[0] === "model") site.keepChoice({ kinds: site.kindsOfModel(answer) });
      result.replaceChildren(...(answer.error ? [el("p", { class: "notice" }, answer.error)] : shown(front, answer)));
    } catch (error) {
      if (given.file === file) result.replaceChildren(el("p", { class: "notice" }, `${file.name} was not checked: ${error.message}.`));
    }
  }

  site.page("model", async (_, chosen) => {
    const front = await site.front();
    const kinds = chosen.get("kinds");
    const head = [el("h1", null, "Drop a model"), el("p", { class: "lead" }, "Shows violated rules, the opsets at which the model keeps its meaning, and the behaviour of measured runtimes for its nodes. The model is read in this browser and is not uploaded.")];
    const ofAddress = () => (kinds ? site.kindsOfAddress(front, kinds) : null);
    if (!site.hasModule(front)) return [...head, site.withoutModule(), el("p", null, "The program does the same: ", code("onnx-conformance check --runtime all model.onnx")), ofAddress()];
    const result = el("div", { id: "model-result", "aria-live": "polite" });
    const input = el("input", { id: "model-file", type: "file", accept: ".onnx", onchange: () => input.files[0] && take(front, input.files[0], result) });
    const drop = el("div", { class: "drop", id: "drop" }, el("label", { for: "model-file" }, "Drop a model.onnx anywhere on this site, or choose one "), input);
    if (dropped) take(front, dropped, result);
    else if (given?.report && !given.report.error) result.replaceChildren(...shown(front, given.report));
    else if (kinds) result.replaceChildren(ofAddress());
    dropped = null;
    return [...head, drop, result];
  });

  /** A model may be dropped on every page. */
  const hasFile = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  const over = (isOver) => document.getElementById("drop")?.classList.toggle("over", isOver);
  window.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    over(true);
  });
  window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
  window.addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    over(false);
    [dropped] = event.dataTransfer.files;
    if (!dropped) return;
    const { parts, chosen } = site.address();
    if (parts[0] === "model") site.lead(site.href(["model"], { on: chosen.get("on") }));
    else location.hash = "#/model";
  });
})();
