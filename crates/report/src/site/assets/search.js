"use strict";

/** The search box: operators, types, opsets, runtimes, cases; the best match first. */
site.TYPE_WORDS = {
  bf16: "bfloat16", fp16: "float16", half: "float16", f16: "float16", fp32: "float", f32: "float", float32: "float",
  single: "float", fp64: "double", f64: "double", float64: "double", i8: "int8", i16: "int16", i32: "int32", i64: "int64",
  u8: "uint8", u16: "uint16", u32: "uint32", u64: "uint64", fp8: "float8e4m3fn", e4m3: "float8e4m3fn", e5m2: "float8e5m2",
  fp4: "float4e2m1", str: "string", boolean: "bool",
};

/** Rank of a name for a word; 0 if it does not match. */
site.fit = (name, word) => {
  const lower = name.toLowerCase();
  if (lower === word) return 100;
  if (lower.startsWith(word)) return 80 - Math.min(30, lower.length - word.length);
  const initials = name.replace(/[^A-Z0-9]/g, "").toLowerCase();
  if (word.length > 1 && initials === word) return 45;
  const at = lower.indexOf(word);
  if (at > 0) return 40 - Math.min(20, at);
  return 0;
};

/** Results of a search: title, address, a few words, ranked. */
site.find = (front, text) => {
  const query = text.trim().toLowerCase();
  if (!query) return [];
  const found = [];
  const add = (rank, title, address, words) => found.push({ rank, title, address, words });
  const opset = /^(?:opset|ai\.onnx)?\s*(\d{1,2})$/.exec(query);
  if (opset && Number(opset[1]) >= 1 && Number(opset[1]) <= front.newestOpset) {
    const [release] = front.releases[opset[1]] || [];
    add(95, `Opset ${opset[1]}`, site.href([], { opset: opset[1] }), release ? `since ONNX ${release}` : "");
    const isNew = (operator) => front.domains[operator.d].name === "ai.onnx" && operator.v.some((version) => version.since === Number(opset[1]));
    for (const operator of front.operators.filter(isNew)) {
      add(60, `${operator.n}-${opset[1]}`, site.operatorHref("ai.onnx", operator.n, { v: opset[1] }), operator.s);
    }
  }
  if ("deprecated".startsWith(query) && query.length > 3) {
    for (const operator of front.operators.filter((one) => one.v.at(-1).deprecated)) {
      add(70, operator.n, site.operatorHref(front.domains[operator.d].name, operator.n), "deprecated");
    }
  }
  const versioned = /^([a-z0-9]+)[-@ ](\d{1,2})$/.exec(query);
  const family = { fp8: "float8", float8: "float8" }[query];
  for (const [at, type] of front.types.entries()) {
    const rank = family && type.startsWith(family) ? 85 : site.fit(type, site.TYPE_WORDS[query] || query);
    if (rank > 30) add(rank - 5, type, site.href([], { type }), `type of ${site.plural(front.operators.filter((one) => one.v.at(-1).byType.has(at)).length, "operator")}`);
  }
  for (const operator of front.operators) {
    const domain = front.domains[operator.d].name;
    const words = versioned ? versioned[1] : query;
    let rank = site.fit(operator.n, words);
    if (!rank && operator.f.toLowerCase().includes(query)) rank = 12;
    if (!rank && query.length > 2 && operator.s.toLowerCase().includes(query)) rank = 10;
    if (!rank && `${domain}/${operator.n}`.toLowerCase().startsWith(query)) rank = 35;
    if (rank > 0) add(rank, operator.n, site.operatorHref(domain, operator.n, versioned ? { v: versioned[2] } : {}), operator.s);
  }
  for (const column of front.columns) {
    const rank = Math.max(site.fit(column.runtime, query), site.fit(`${column.runtime} ${column.version}`, query), site.fit(column.version, query));
    if (rank > 0) add(rank - 2, front.title(column), site.href(["runtime", column.key]), "runtime");
  }
  const graphs = site.fit("Graphs", query);
  if (graphs > 0) add(graphs, "Graphs", site.href(["graphs"]), "patterns that optimizers rewrite");
  const tools = site.fit("Tools", query);
  if (tools > 0) add(tools, "Tools", site.href(["tools"]), "converters, optimizers, shape inference, checkers");
  if (/^([a-z.]+\/[^/]+-\d+|graph\/[^/]+\/[^/]+)\/./i.test(text.trim())) add(99, text.trim(), site.caseHref(text.trim()), "case");
  found.sort((a, b) => b.rank - a.rank || a.title.localeCompare(b.title));
  return found.slice(0, 12);
};

(() => {
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  let results = [];
  let current = -1;

  function draw() {
    list.replaceChildren(...results.map((result, at) => site.el("li", {
      role: "option", id: `found-${at}`, "aria-selected": String(at === current), onclick: () => go(at),
    }, site.el("b", null, result.title), " ", site.el("span", null, result.words))));
    const open = document.activeElement === input && input.value.trim() !== "";
    if (open && results.length === 0) list.append(site.el("li", { role: "option", "aria-disabled": "true" }, "No results."));
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (current >= 0) input.setAttribute("aria-activedescendant", `found-${current}`);
    else input.removeAttribute("aria-activedescendant");
  }

  function go(at) {
    if (!results[at]) return;
    location.hash = results[at].address;
    input.value = "";
    results = [];
    input.blur();
    draw();
  }

  input.addEventListener("input", async () => {
    const front = await site.front();
    results = site.find(front, input.value);
    current = results.length > 0 ? 0 : -1;
    draw();
    site.say(input.value.trim() ? `${results.length} found` : "");
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (results.length > 0) current = (current + step + results.length) % results.length;
      draw();
    } else if (event.key === "Escape") {
      input.value = "";
      results = [];
      draw();
      document.getElementById("main").focus();
    }
  });
  input.addEventListener("blur", () => setTimeout(draw, 150));
  input.addEventListener("focus", draw);
  document.getElementById("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    go(Math.max(current, 0));
  });
})();
