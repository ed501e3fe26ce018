"use strict";

/** The index of the search: operators with their attributes and rules, types, opsets, runtimes, pages, findings, graphs, rules of check. */
(() => {
  /** Weights of the words of an entry by their place. */
  const WEIGHT = { title: 100, alias: 85, value: 72, attribute: 66, finding: 58, rule: 52, text: 40 };
  /** Words without weight of their own. */
  const PLAIN = new Set(["a", "an", "the", "of", "for", "to", "in", "on", "with", "and", "or", "is", "my", "operator", "operators", "op", "onnx", "attribute", "type", "layer", "function"]);
  const MAX_RESULTS = 12;
  /** Characters of a query that count. The id of a case may be long. */
  const MAX_LENGTH = 240;
  /** Number of results of one kind, so that a word with many findings also leads to other things. */
  const MAX_OF_KIND = { finding: 4, rules: 4, graphs: 3, case: 3 };

  /** Pages: title, address, words in the list, and other words for them. */
  const PAGES = [
    ["Findings", "#/findings", "argued deviations of runtimes from the standard", "bugs issues known problems"],
    ["Graphs", "#/graphs", "patterns that optimizers rewrite", "fusions rewrites optimizer patterns"],
    ["Tools", "#/tools", "converters, optimizers, shape inference, checkers", "simplifiers"],
    ["Runtimes", "#/runtimes", "every measured version", "versions backends engines"],
    ["Compare", "#/compare", "two versions or two runtimes", "difference upgrade fixed changed regressions"],
    ["Operators by release", "#/heat", "a heat map of a runtime: what each release fixed or broke", "heatmap history releases matrix"],
    ["Who fails together", "#/together", "how many failures two runtimes share", "matrix overlap common failures"],
    ["Disagreements", "#/disagreements", "where runtimes agree with each other but not with the standard", "ambiguous standard text"],
    ["Drop a model", "#/model", "check and convert a model in this browser", "check validate convert upload open model file"],
    ["Rules of check", "#/rules", "what makes a model invalid", "checker validity invalid models errors"],
    ["About", "#/about", "how to read the marks", "help legend meaning coverage evidence"],
  ];

  /** Collects entries. The words of an entry are numbers of a vocabulary, so that a reader's word is compared with each known word once. */
  class Index {
    constructor() {
      this.words = new Map();
      this.entries = [];
    }

    number(word) {
      if (!this.words.has(word)) this.words.set(word, this.words.size);
      return this.words.get(word);
    }

    /** Adds an entry; `places` are its further texts by their weights. */
    add(title, address, words, places, bonus = 0) {
      const weights = new Map();
      const give = (word, weight) => {
        const at = this.number(word);
        weights.set(at, Math.max(weights.get(at) || 0, weight));
      };
      const [own, pairs] = [site.wordsOf(title), new Map()];
      own.forEach((word, at) => {
        give(word, places.own || WEIGHT.title);
        // `matmul` is one word for readers.
        if (at + 1 < own.length && own.length <= 4) {
          give(word + own[at + 1], (places.own || WEIGHT.title) - 4);
          pairs.set(this.number(word + own[at + 1]), [word, own[at + 1]].map((one) => this.number(one)));
        }
      });
      for (const [place, text] of Object.entries(places)) if (WEIGHT[place]) for (const word of site.wordsOf(text)) give(word, WEIGHT[place]);
      const names = [title, ...(places.names || [])].map((name) => site.wordsOf(name).join(""));
      this.entries.push({ title, address, words, bonus, weights, pairs, own: own.map((word) => this.number(word)), names });
    }
  }

  /** Position of a sequence of words in others; -1 if it is not there. */
  const positionOf = (own, words) => (own.length === 0 ? -1 : words.findIndex((_, at) => own.every((word, next) => words[at + next] === word)));

  /** The address of an operator, with the type, the attribute value and the opset that the readings of a query name. */
  function refined(domain, operator, types, attributes, readings) {
    const own = site.wordsOf(operator.n);
    const all = readings.map((words) => words.filter((word) => !own.includes(word)));
    const isNamed = (text) => all.some((words) => positionOf(site.wordsOf(text), words) >= 0);
    const [type] = types.filter(isNamed).sort((a, b) => b.length - a.length);
    const [setting] = Object.entries(attributes).flatMap(([name, values]) => values.filter(isNamed).map((value) => `${name}=${value}`));
    const opset = all.map((words) => words[words.indexOf("opset") + 1]).find((word, at) => all[at].includes("opset") && /^\d+$/.test(word));
    return { address: site.operatorHref(domain, operator.n, { v: opset, type, with: setting, at: type || setting ? "behaviours" : "" }), chosen: [type, setting].filter(Boolean).join(", ") };
  }

  function addOperators(index, front, extra) {
    front.operators.forEach((operator, at) => {
      const domain = front.domains[operator.d].name;
      const { attributes = {}, rules = [] } = extra.search[at] || {};
      const isOld = operator.v.at(-1).deprecated;
      const types = [...operator.v.at(-1).byType.keys()].map((type) => front.types[type]).filter((type) => !type.includes("."));
      index.add(operator.n, site.operatorHref(domain, operator.n), isOld ? `deprecated: ${operator.s}` : operator.s, {
        alias: isOld ? "deprecated" : "", attribute: Object.keys(attributes).join(" "), value: Object.values(attributes).flat().join(" "), text: `${operator.s} ${operator.f} ${domain} ${types.join(" ")} opset`,
      }, domain === "ai.onnx" ? 6 : 4);
      index.entries.at(-1).refine = (readings) => refined(domain, operator, types, attributes, readings);
      for (const [id, says] of rules) {
        index.add(`${operator.n}/${id}`, site.operatorHref(domain, operator.n, { at: `rule-${id}` }), says, { own: WEIGHT.rule, rule: says });
      }
    });
  }

  function addTables(index, front) {
    const ofType = (at) => front.operators.filter((one) => one.v.at(-1).byType.has(at)).length;
    front.types.forEach((type, at) => index.add(type, site.href([], { type }), `type of ${site.plural(ofType(at), "operator")}`, {}, type.includes(".") ? -8 : 5));
    for (const field of new Set(front.operators.map((operator) => operator.f))) {
      index.add(field, site.href([], { field, at: "operators" }), `field of ${site.plural(front.operators.filter((one) => one.f === field).length, "operator")}`, {}, -2);
    }
    for (const { name } of front.domains) index.add(name, site.href([], { domain: name, at: "operators" }), "operators of the domain", {}, -4);
    for (const state of site.STATES) index.add(state.name, site.href([], { state: state.key, at: "operators" }), `operators where a runtime ${state.one}`, { alias: state.many, text: state.one }, 4);
    const newest = new Set(front.newest);
    front.columns.forEach((column, at) => index.add(front.title(column), site.href(["runtime", column.key]), newest.has(at) ? "runtime, its newest version" : "runtime", {}, newest.has(at) ? 3 : at / 100));
    for (const [title, address, words, alias] of PAGES) index.add(title, address, words, { alias, text: words }, 8);
  }

  function addTexts(index, extra) {
    for (const finding of extra.findings) {
      const places = { own: WEIGHT.finding, names: [finding.id, `${finding.runtime}/${finding.id}`], finding: `${finding.id} ${finding.runtime} ${finding.about.map((name) => name.split("/").at(-1)).join(" ")}`, text: "finding" };
      index.add(finding.title, site.href(["finding", finding.runtime, finding.id]), `finding about ${finding.runtime}`, places);
    }
    for (const topic of extra.graphs.topics || []) {
      for (const pattern of topic.patterns) {
        const name = `${topic.n}/${pattern.n}`;
        index.add(pattern.n.replaceAll("_", " "), site.href(["graphs"], { open: name, at: "opened" }), `graph: ${pattern.says}`, { own: WEIGHT.rule, text: `${pattern.says} ${topic.n}` });
      }
    }
    for (const rule of extra.rules) {
      index.add(rule.id, site.href(["rules"], { at: `rule-${rule.id}` }), rule.says, { own: WEIGHT.rule, rule: rule.says });
    }
  }

  let made = null;

  /** The index, made on first use. A file that is missing takes its entries with it. */
  site.index = () => {
    made = made || (async () => {
      const front = await site.front();
      const file = (name, nothing) => site.load(name).catch(() => nothing);
      const [search, findings, graphs, rules] = await Promise.all([file("search", []), file("findings", []), file("graphs", {}), file("rules", [])]);
      const [index, extra] = [new Index(), { search, findings, graphs, rules }];
      addOperators(index, front, extra);
      addTables(index, front);
      addTexts(index, extra);
      return { front, ...index };
    })();
    return made;
  };

  const phrases = new Map(Object.entries(site.SYNONYMS).map(([phrase, names]) => [site.wordsOf(phrase).join(" "), names]));
  const longest = Math.max(...[...phrases.keys()].map((phrase) => phrase.split(" ").length));

  /** The ways to read a query: as it is, with neighbours joined, and with other names for its words. */
  function readings(text) {
    const words = site.wordsOf(text);
    const all = [{ words, factor: 1 }];
    for (let at = 0; at + 1 < words.length; at += 1) {
      all.push({ words: [...words.slice(0, at), words[at] + words[at + 1], ...words.slice(at + 2)], factor: 0.98 });
    }
    for (let length = Math.min(longest, words.length); length > 0; length -= 1) {
      for (let at = 0; at + length <= words.length; at += 1) {
        const names = phrases.get(words.slice(at, at + length).join(" ")) || [];
        names.forEach((name, order) => all.push({
          words: [...words.slice(0, at), ...site.wordsOf(name), ...words.slice(at + length)],
          factor: (length === words.length ? 1.05 : 0.99) - order / 50,
        }));
      }
    }
    const seen = new Set();
    return all.filter(({ words: own }) => own.length > 0 && !seen.has(own.join(" ")) && seen.add(own.join(" "))).slice(0, 24);
  }

  /** Rank of an entry for a reading; 0 if it does not fit. */
  function rank(entry, words, similar) {
    let [sum, all, missing] = [0, 0, 0];
    const covered = new Set();
    words.forEach((word, at) => {
      const importance = PLAIN.has(word) && words.length > 1 ? 0.15 : 1;
      let [best, place] = [0, -1];
      for (const [known, quality] of similar[at]) {
        const fit = quality * (entry.weights.get(known) || 0);
        if (fit > best) [best, place] = [fit, known];
      }
      for (const one of entry.pairs.get(place) || [place]) covered.add(one);
      if (best === 0) missing += importance;
      all += importance;
      sum += best * importance;
    });
    if (sum === 0) return 0;
    const found = (all - missing) / all;
    const joined = words.join("");
    const isOwn = entry.names.includes(joined) ? 60 : entry.names[0].startsWith(joined) ? 12 : 0;
    const share = entry.own.length === 0 ? 0 : entry.own.filter((word) => covered.has(word)).length / entry.own.length;
    return (sum / all) * found * found + isOwn + 26 * share * found + entry.bonus;
  }

  /** Results that the form of the query tells: an opset, a version of an operator, the id of a case. */
  function formed(front, text) {
    const found = [];
    const add = (title, address, words) => found.push({ rank: 300 - found.length, title, address, words });
    const opset = /^(?:opset|ai\.onnx)[\s_:=-]*(\d{1,2})$|^(\d{1,2})$/i.exec(text);
    const number = opset && Number(opset[1] || opset[2]);
    if (number >= 1 && number <= front.newestOpset) {
      const [release] = front.releases[number] || [];
      add(`Opset ${number}`, site.href([], { opset: number }), release ? `since ONNX ${release}` : "");
      const isNew = (operator) => front.domains[operator.d].name === "ai.onnx" && operator.v.some((version) => version.since === number);
      for (const operator of front.operators.filter(isNew)) add(`${operator.n}-${number}`, site.operatorHref("ai.onnx", operator.n, { v: number }), operator.s);
    }
    const versioned = /^(?:([a-z.]+)\/)?([a-z0-9]+)\s*[-@ ]\s*(\d{1,2})$/i.exec(text);
    if (versioned) {
      const [, domain, name, since] = versioned;
      for (const operator of front.operators.filter((one) => one.n.toLowerCase() === name.toLowerCase() && (!domain || front.domains[one.d].name === domain))) {
        add(operator.n, site.operatorHref(front.domains[operator.d].name, operator.n, { v: since }), `version ${since}: ${operator.s}`);
      }
    }
    if (/^([a-z.]+\/[^/]+-\d+|graph\/[^/]+\/[^/]+)\/./i.test(text)) add(text, site.caseHref(text), "case");
    return found;
  }

  /** Results of a search: title, address and a few words, the best first. */
  site.find = ({ front, entries, words: known }, text) => {
    const query = text.trim().slice(0, MAX_LENGTH);
    if (!query) return [];
    const similar = new Map();
    const similarTo = (word) => {
      if (!similar.has(word)) similar.set(word, [...known].map(([other, at]) => [at, site.similarity(word, other)]).filter(([, quality]) => quality > 0));
      return similar.get(word);
    };
    const best = new Map();
    const all = readings(query);
    const split = all.map(({ words }) => site.wordsOf(words.join(" ")));
    for (const { words, factor } of all) {
      const wordsLike = words.map(similarTo);
      for (const entry of entries) {
        const value = rank(entry, words, wordsLike) * factor;
        if (value > 22 && value > (best.get(entry) || 0)) best.set(entry, value);
      }
    }
    const resultOf = ([{ title, address, words, refine }, value]) => {
      const { address: refinedAddress = address, chosen = "" } = refine ? refine(split) : {};
      return { rank: value, title, address: refinedAddress, words: chosen ? `${chosen}: ${words}` : words };
    };
    const found = [...formed(front, query), ...[...best].map(resultOf)];
    found.sort((a, b) => b.rank - a.rank || a.title.length - b.title.length || a.title.localeCompare(b.title));
    const [taken, kinds] = [new Set(), {}];
    return found.filter(({ address }) => {
      const kind = address.includes("at=rule-") ? "rules" : /^#\/([a-z]*)/.exec(address)[1];
      if (taken.has(address) || (kinds[kind] || 0) >= (MAX_OF_KIND[kind] || MAX_RESULTS)) return false;
      kinds[kind] = (kinds[kind] || 0) + 1;
      return taken.add(address);
    }).slice(0, MAX_RESULTS);
  };
})();

/** The search box. */
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
    current = -1;
    input.blur();
    draw();
  }

  input.addEventListener("input", async () => {
    const index = await site.index();
    results = site.find(index, input.value);
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
      current = -1;
      draw();
      document.getElementById("main").focus();
    }
  });
  input.addEventListener("blur", () => setTimeout(draw, 150));
  input.addEventListener("focus", () => {
    site.index();
    draw();
  });
  document.getElementById("search-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (results.length === 0 && input.value.trim()) results = site.find(await site.index(), input.value);
    go(Math.max(current, 0));
  });
})();
