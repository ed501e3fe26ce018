"use strict";

/** A case in full, and the page of a case. */
(() => {
  const { el, link, code } = site;

  /** A script that runs the case on onnxruntime. */
  function script(sample) {
    const needsOnnx = sample.inputs.some(([, value]) => value.includes("tensor(\""));
    const reader = ["import onnx", "from onnx import numpy_helper", "", "", "def tensor(text):",
      "    return numpy_helper.to_array(onnx.TensorProto.FromString(base64.b64decode(text)))", "", ""];
    return [
      `# ${sample.id}`, ...sample.text.split("\n").map((line) => `# ${line}`.trimEnd()),
      "import base64", "", "import numpy as np", "import onnxruntime", ...(needsOnnx ? reader : [""]),
      `model = base64.b64decode("${sample.model}")`,
      "inputs = {", ...sample.inputs.map(([name, value]) => `    ${JSON.stringify(name)}: ${value},`), "}",
      "session = onnxruntime.InferenceSession(model, providers=[\"CPUExecutionProvider\"])",
      "for output, value in zip(session.get_outputs(), session.run(None, inputs)):",
      "    print(output.name, value)", "",
    ].join("\n");
  }

  const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

  /** A case of a behaviour: model, inputs, expected values, and how to run it. */
  site.sample = (front, data, sample, shown) => {
    if (!sample) return el("p", { class: "quiet" }, "This page has no case of this behaviour.");
    const name = sample.id.replace(/[^A-Za-z0-9._-]+/g, "_");
    return el("div", { class: "sample" },
      el("p", null, sample.id === shown ? "The expected outputs follow from the standard" : ["For example ", link(site.caseHref(sample.id), null, sample.id)], sample.evidence ? el("span", { class: "quiet" }, `, confirmed by ${sample.evidence}`) : null),
      sample.control ? el("p", null, "The same model without the violation, which must run: ", link(site.caseHref(sample.control), null, sample.control)) : null,
      el("pre", { tabindex: "0" }, sample.text),
      el("p", { class: "actions" },
        sample.node ? site.copyButton("Copy make_node", sample.node) : null,
        sample.onnx ? site.copyButton("Copy ONNX text", sample.onnx) : null,
        sample.inputs && sample.model ? site.copyButton("Copy Python script", () => script(sample)) : null,
        sample.model ? site.saveButton("Download model.onnx", `${name}.onnx`, "application/octet-stream", () => bytes(sample.model)) : null,
        site.copyButton("Copy command", `onnx-conformance run '${sample.id}'`)));
  };

  /** The section of a case whose text the site does not have: the program of the browser makes it, or another case stands for it. */
  function madeCase(front, data, sample, id) {
    if (!site.hasModule(front)) return [el("p", null, "This site has no text of the case itself. The command show prints it."), site.sample(front, data, sample, id)];
    const holder = el("div", { id: "made-case", "aria-live": "polite" }, site.sample(front, data, sample, id));
    const button = el("button", { type: "button", onclick: async () => {
      button.disabled = true;
      try {
        const { answer } = await site.ask({ do: "case", id });
        if (answer.error || !answer.sample) throw new Error(answer.error || "the suite has no such case");
        document.getElementById("case-title").textContent = "The case";
        holder.replaceChildren(site.sample(front, data, answer.sample, id));
        button.parentElement.remove();
      } catch (error) {
        holder.replaceChildren(el("p", { class: "notice" }, `The case was not made: ${error.message}.`));
        button.disabled = false;
      }
    } }, "Make this case here");
    return [el("p", null, button, " ", el("span", { class: "quiet" }, "in this browser, with its inputs and expected outputs")), holder];
  }

  /** What the page of a case between no-ops says of it: the graph and the outcomes that follow are those of the plain case. */
  function betweenNoOps(plain) {
    return el("p", null, "The case ", link(site.caseHref(plain), null, plain),
      " between no-ops, with the same expected outputs. The page has the graph and the outcomes without no-ops; the first command prints the graph with them.");
  }

  site.page("case", async (parts, chosen) => {
    const id = parts.join("/");
    // The case itself, without the no-ops around it.
    const plain = id.replace(/^graph\/wrapped\//, "");
    const front = await site.front();
    const graph = parts[0] === "graph" ? await site.graphCase(front, parts.slice(1)) : null;
    if (graph) return graph;
    const found = /^([^/]+)\/(.+)-(\d+)\/(.+)$/.exec(plain);
    const operator = site.operatorLike(front, plain.split("/").slice(0, 2));
    const missing = [el("h1", null, "No such case"), el("p", null, `The suite has no case '${id}'. Its name may be of another version of the suite. `,
      operator ? link(site.operatorHref(operator.domain, operator.name, { v: operator.since, at: "cases" }), null, `Cases of ${operator.name}`) : link("#/", null, "All operators"))];
    if (!found || !front.byName.has(`${found[1]}/${found[2]}`)) return missing;
    const [, domain, name, since, rest] = found;
    const data = await site.load(`op/${domain}/${name}`);
    const fits = (one) => rest === one.n || ((rest.startsWith(`${one.n}/`) || rest.startsWith(`${one.n}@`)) && one.v[since]);
    const behaviour = data.behaviours.find((one) => fits(one) && (one.v[since] || []).some(([end]) => `${one.n}${end}` === rest));
    if (!behaviour) return missing;
    const all = behaviour.v[since];
    const [, outcomes, settings] = all.find(([end]) => `${behaviour.n}${end}` === rest);
    const rule = data.rules.find((one) => [...one.shown, ...one.broken].some((shown) => behaviour.n === shown || behaviour.n === `large/${shown}`));
    const details = data.details[plain] || {};
    const sample = (data.others || {})[plain] || data.samples[behaviour.n];
    // The sample of a finding has a sentence of what the runtime gives for it.
    const shownBy = data.findings.filter((finding) => finding.sample === plain);
    const isBad = (letter) => !"P?nND".includes(letter);
    const rows = front.columns.map((column, at) => {
      const letter = data.outcomes[outcomes][at] || "?";
      const [words, state] = site.OUTCOMES[letter];
      const detail = details[column.key];
      const given = isBad(letter) ? shownBy.filter((finding) => finding.runtime === column.runtime) : [];
      return { column, letter, row: [
        link(site.href(["runtime", column.key]), null, front.title(column)),
        el("td", null, site.mark({ key: state, bad: 0, total: 0 }, words, { title: words })),
        el("td", null, detail ? el("span", { class: "message" }, detail.m || "", detail.u !== undefined ? ` (${site.count(detail.u)} ULP)` : "") : null,
          given.map((finding) => el("div", { class: "given" }, `${finding.does} `, link(site.findingHref(finding.runtime, finding.id), null, "finding")))),
      ] };
    });
    const position = all.findIndex(([end]) => `${behaviour.n}${end}` === rest);
    const neighbour = (step, words) => {
      const other = all[position + step];
      return other ? link(site.caseHref(`${domain}/${name}-${since}/${behaviour.n}${other[0]}`), { class: "chip" }, words) : null;
    };
    const fails = (runtime) => rows.some(({ column, letter }) => column.runtime === runtime && isBad(letter));
    const findings = data.findings.filter((finding) => (finding.behaviours[since] || []).includes(behaviour.n) && fails(finding.runtime));
    return [
      el("p", { class: "crumbs" }, link(site.operatorHref(domain, name, { v: since }), null, `${domain}/${name}-${since}`), " · ",
        link(site.operatorHref(domain, name, { v: since, b: behaviour.n, at: "behaviour" }), null, behaviour.n), " · ",
        `case ${position + 1} of ${all.length} `, neighbour(-1, "← before"), " ", neighbour(1, "next →")),
      el("h1", { class: "id" }, id),
      plain === id ? null : betweenNoOps(plain),
      el("p", null, behaviour.refusal ? "Must be refused" : "Must run", `, ${behaviour.level}. `,
        rule ? [el("b", null, rule.id), `: ${rule.says}.`] : null,
        data.settings[settings] ? [" Settings of the node: ", code(data.settings[settings]), "."] : null),
      el("h2", { id: "case-title" }, sample && sample.id === plain ? "The case" : "A case of this behaviour"),
      sample && sample.id === plain ? site.sample(front, data, sample, plain) : madeCase(front, data, sample, plain),
      el("h2", null, "Outcomes"),
      el("div", { class: "scroll" }, site.table({ class: "outcomes" }, ["runtime", "outcome", "what it gave"], rows.map(({ row }) => row))),
      el("p", { class: "quiet" }, "Committed measurements have only outcomes. Findings say what a runtime gave for their smallest case; results files have messages and distances."),
      findings.map((finding) => el("article", { class: "finding" }, el("h3", null, link(site.findingHref(finding.runtime, finding.id), null, finding.title)), el("p", { class: "quiet" }, `${finding.runtime} ${finding.versions}`), el("p", null, finding.proof), finding.text ? el("p", null, finding.text) : null, el("p", null, finding.does))),
      el("h2", null, "Run it"),
      el("pre", { tabindex: "0" }, `onnx-conformance show '${id}'\nonnx-conformance run '${id}' --runtime onnxruntime\nonnx-conformance export case '${id}'`),
    ];
  });
})();
