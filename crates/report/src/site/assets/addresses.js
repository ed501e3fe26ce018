"use strict";

/** Addresses that are nearly right: other spellings lead to the page, and unknown names say so with the nearest ones. */
(() => {
  const { el, link } = site;
  const joined = (text) => site.wordsOf(text).join("");
  /** Pages by other names. */
  const PAGES = {
    operators: [], operator: [], home: [], index: [], front: [], finding: ["findings"], runtime: ["runtimes"], graph: ["graphs"], tool: ["tools"],
    releases: ["release"], disagreement: ["disagreements"], check: ["model"], map: ["heat"], models: ["model"], help: ["about"],
  };
  const NAMES = ["findings", "graphs", "tools", "runtimes", "heat", "together", "compare", "disagreements", "model", "rules", "about"];

  /** Links to names, separated by commas. */
  site.links = (names, hrefOf) => names.map((name, at) => [at > 0 ? ", " : "", link(hrefOf(name), null, name)]);

  /** A page that says that a name is unknown, with the nearest names. */
  site.unknown = (title, sentence, near, hrefOf, [all, words]) => [el("h1", null, title), el("p", null, `${sentence} `, link(all, null, words)),
    near.length > 0 ? el("p", null, "Nearest: ", site.links(near, hrefOf), ".") : null];

  /** The operator that the parts of an address mean: `Resize`, `ai.onnx/resize`, `Resize-13`. The version is nothing if it is not given. */
  site.operatorLike = (front, parts) => {
    const [, name, since] = /^(.*?)(?:[-@ ](\d{1,3}))?$/.exec(parts.at(-1) || "");
    const domain = parts.slice(0, -1).join("/").toLowerCase();
    const named = front.operators.filter((operator) => joined(operator.n) === joined(name));
    const ofDomain = named.filter((operator) => front.domains[operator.d].name === domain);
    const [found] = ofDomain.length > 0 ? ofDomain : named;
    return found ? { domain: front.domains[found.d].name, name: found.n, since } : null;
  };

  /** The page of an address that has no operator of exactly this name. */
  site.otherOperator = (front, parts, chosen) => {
    const found = site.operatorLike(front, parts);
    if (found) return site.lead(site.operatorHref(found.domain, found.name, { ...Object.fromEntries(chosen), ...(found.since ? { v: found.since } : {}) }));
    const text = parts.join("/");
    const names = new Map(front.operators.map((operator) => [operator.n, front.domains[operator.d].name]));
    const near = site.nearest((parts.at(-1) || "").replace(/[-@ ]\d+$/, ""), [...names.keys()], 5);
    return site.unknown("No such operator", `ONNX has no operator '${text}'.`, near, (name) => site.operatorHref(names.get(name), name), ["#/", "All operators"]);
  };

  /** The column that a text means: `ort`, `onnxruntime@1.20.1`, `OnnxRuntime 1.20`; -1 if there is none. */
  site.columnLike = (front, text) => {
    const known = front.column(text);
    if (known >= 0 || !text) return known;
    const [, name, version] = /^(.*?)(?:(?:==|[-@ ]v?)(\d[\w.+-]*))?$/.exec(text);
    const runtimes = [...new Set(front.columns.map((column) => column.runtime))];
    const alias = site.SYNONYMS[site.wordsOf(name).join(" ")] || site.SYNONYMS[name.toLowerCase()] || [];
    const runtime = runtimes.find((one) => [name, ...alias].some((other) => joined(one) === joined(other)));
    if (!runtime) return -1;
    const own = (column) => column.runtime === runtime && (!version || column.version === version || column.version.startsWith(`${version}.`));
    return front.columns.findLastIndex(own);
  };

  /** Keys of the columns that are nearest to a text: versions of its runtime around the version, or other names. */
  site.nearestColumns = (front, text) => {
    const [runtime] = text.split(/==|[-@ ](?=v?\d)/);
    const at = site.columnLike(front, runtime);
    if (at < 0) {
      const names = [...new Set(front.columns.map((column) => column.runtime))];
      return site.nearest(runtime, names).map((name) => front.columns[front.column(name)].key);
    }
    const number = (version) => version.split(".").map((part) => part.padStart(6, "0")).join(".");
    const wanted = number(text.slice(runtime.length).replace(/^[-@ =v]+/, ""));
    const own = front.columns.filter((column) => column.runtime === front.columns[at].runtime);
    const after = own.findIndex((column) => number(column.version) > wanted);
    const from = Math.max((after < 0 ? own.length : after) - 2, 0);
    return own.slice(from, from + 4).map((column) => column.key);
  };

  site.noRuntime = (front, text) => site.unknown("No such runtime", `There is no measurement of '${text}'.`, site.nearestColumns(front, text),
    (key) => site.href(["runtime", key]), ["#/runtimes", "All runtimes"]);

  /** Releases of ONNX, which have pages without JavaScript only. */
  site.page("release", async ([onnx]) => {
    const all = await site.load("releases");
    if (onnx && !all.includes(onnx)) return site.unknown("No such release", `ONNX has no release '${onnx}'.`, site.nearest(onnx, all), (name) => `release/${name}.html`, ["release/index.html", "All releases"]);
    const path = `release/${onnx || "index"}.html`;
    location.replace(path);
    return [el("h1", null, onnx ? `ONNX ${onnx}` : "Releases of ONNX"), el("p", null, link(path, null, "Its page"))];
  });

  site.page("missing", async () => {
    const { parts, chosen } = site.address();
    const [name = "", ...rest] = parts;
    const front = await site.front();
    if (name === "opset" && Number(rest[0]) >= 1 && Number(rest[0]) <= front.newestOpset) return site.lead(site.href([], { opset: rest[0] }));
    const other = PAGES[name.toLowerCase()] || NAMES.filter((one) => one === name.toLowerCase());
    if (other.length > 0 || PAGES[name.toLowerCase()]) return site.lead(site.href([...other, ...rest], Object.fromEntries(chosen)));
    const operator = rest.length <= 1 ? site.operatorLike(front, parts) : null;
    if (operator) return site.lead(site.operatorHref(operator.domain, operator.name, operator.since ? { v: operator.since } : {}));
    const column = rest.length === 0 ? site.columnLike(front, name) : -1;
    if (column >= 0) return site.lead(site.href(["runtime", front.columns[column].key]));
    return site.unknown("No such page", `This site has no page '${parts.join("/")}'.`, site.nearest(name, NAMES), (one) => site.href([one]), ["#/", "All operators"]);
  });
})();
