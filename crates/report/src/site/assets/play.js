"use strict";

/** The playground of an operator: a model in text and its inputs, run with any versions side by side. */
(() => {
  const { el, code, plural } = site;
  /** Typed inputs, by operator and case, while the pages are open. */
  const typed = new Map();

  function shownRuns(data, runs) {
    const names = [...new Set(runs.flatMap((run) => (run.outputs || []).map(({ name }) => name)))];
    const output = (run, name) => run.outputs?.find((one) => one.name === name)?.value;
    const newest = runs.at(-1);
    const differs = (run, name) => run !== newest && newest.outputs && run.outputs && output(run, name) !== output(newest, name);
    const rows = names.map((name) => el("tr", null, el("th", { scope: "row" }, code(name)),
      runs.map((run) => el("td", null, run.error ? "" : el("pre", { class: differs(run, name) ? "old" : "", tabindex: "0" }, output(run, name) || ""),
        differs(run, name) ? el("span", { class: "quiet" }, `other than ${data.name}-${newest.version}`) : null))));
    const errors = runs.some((run) => run.error)
      ? [el("tr", null, el("th", { scope: "row" }, "error"), runs.map((run) => el("td", null, run.error ? el("span", { class: "message" }, run.error) : "")))] : [];
    return el("div", { class: "scroll" }, el("table", { class: "runs" },
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "output"), runs.map((run) => el("th", { scope: "col" }, `${data.name}-${run.version}`)))),
      el("tbody", null, rows, errors)));
  }

  function form(data, chosen) {
    const samples = Object.entries(data.samples).filter(([, sample]) => sample.onnx && sample.feed !== undefined && sample.feed !== null);
    if (samples.length === 0) return el("p", { class: "quiet" }, "No case of this operator can be shown as text: its inputs are not tensors, or too large.");
    const [silent, ...around] = data.silent || [];
    const open = samples.find(([name]) => name === chosen.get("play")) || samples.find(([name]) => name === silent) || samples.find(([name]) => !name.startsWith("refuse/")) || samples[0];
    const key = `${data.domain}/${data.name}/${open[0]}`;
    const kept = typed.get(key) || { model: open[1].onnx, inputs: open[1].feed };
    const rows = (text) => String(Math.min(Math.max(text.split("\n").length + 1, 3), 14));
    const model = el("textarea", { id: "play-model", spellcheck: "false", rows: rows(kept.model), oninput: () => keep() });
    const inputs = el("textarea", { id: "play-inputs", spellcheck: "false", rows: rows(kept.inputs), oninput: () => keep() });
    model.value = kept.model;
    inputs.value = kept.inputs;
    const keep = () => typed.set(key, { model: model.value, inputs: inputs.value });
    const wanted = new Set((chosen.get("with") || "").split(",").map(Number).filter(Boolean));
    const all = data.versions.map(({ since }) => since);
    const isShown = (since, at) => (wanted.size > 0 ? wanted.has(since) : open[0] === silent ? around.includes(since) : at >= all.length - 3);
    const boxes = all.map((since, at) => el("input", { type: "checkbox", value: String(since), checked: isShown(since, at) }));
    const result = el("div", { id: "play-result", "aria-live": "polite" });
    const button = el("button", { type: "submit" }, "Run");
    const run = async (event) => {
      event.preventDefault();
      const versions = boxes.filter((box) => box.checked).map((box) => Number(box.value));
      if (versions.length === 0) return result.replaceChildren(el("p", { class: "notice" }, "Choose a version."));
      button.disabled = true;
      result.replaceChildren(el("p", { class: "quiet" }, "Running…"));
      try {
        const { answer } = await site.ask({ do: "run", operator: `${data.domain}/${data.name}`, versions, model: model.value, inputs: inputs.value });
        result.replaceChildren(answer.error ? el("p", { class: "notice" }, answer.error) : shownRuns(data, answer.runs));
      } catch (error) {
        result.replaceChildren(el("p", { class: "notice" }, `No answer: ${error.message}.`));
      } finally {
        button.disabled = false;
      }
      return undefined;
    };
    return el("form", { class: "play", onsubmit: run },
      el("p", { class: "quiet" }, "The model is run here by the built-in executor, with each chosen version of the operator in place of the imported opset. ",
        "Inputs are tensors in the same syntax, separated by commas."),
      site.select("case", "play", samples.map(([name]) => [name, name]), open[0]),
      el("div", { class: "columns play-texts" },
        el("label", { for: "play-model" }, "Model in ONNX text", model), el("label", { for: "play-inputs" }, "Inputs", inputs)),
      el("fieldset", { class: "chips" }, el("legend", { class: "quiet" }, "versions"), boxes.map((box, at) => el("label", { class: "chip" }, box, ` ${all[at]}`))),
      el("p", { class: "actions" }, button, " ",
        el("button", { type: "button", class: "small", onclick: () => { [model.value, inputs.value] = [open[1].onnx, open[1].feed]; typed.delete(key); } }, "As it was")),
      result);
  }

  /** The section of an operator's page; its data is loaded when it is opened. */
  site.playground = (front, data, chosen) => {
    const isOpen = chosen.has("play");
    const body = () => (site.hasModule(front) ? form(data, chosen) : site.withoutModule());
    return el("section", { id: "playground" }, el("div", { class: "line" }, el("h2", null, "Playground"),
      el("button", { type: "button", class: "small", id: "play-open", "aria-expanded": String(isOpen), onclick: () => site.choose({ play: isOpen ? "" : firstCase(data, chosen), at: "" }) },
        isOpen ? "Close" : `Edit and run a case with ${plural(data.versions.length, "version")}`)),
    isOpen ? body() : null);
  };

  function firstCase(data, chosen) {
    const open = chosen.get("b");
    if (open && data.samples[open]?.onnx) return open;
    const [silent] = data.silent || [];
    if (data.samples[silent]?.onnx && data.samples[silent].feed) return silent;
    const size = (name) => data.samples[name].onnx.length + data.samples[name].feed.length;
    const all = Object.keys(data.samples).filter((name) => data.samples[name].onnx && data.samples[name].feed && !name.startsWith("refuse/"));
    return all.sort((a, b) => size(a) - size(b))[0] || "-";
  }
})();
