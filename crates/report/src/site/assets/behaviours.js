"use strict";

/** Behaviours of an operator version by runtime, for a type and a value of an attribute. */
(() => {
  const { el, link, plural } = site;

  /** The cases of a behaviour that have a type and a setting. */
  function matching(data, version, behaviour, { type, setting }) {
    return behaviour.v[version.since].filter(([rest, , at]) => (!type || site.typesOf(version, rest).some(([, label]) => label === type))
      && (!setting || data.settings[at].split(" ").includes(setting)));
  }

  /** The types in the names of cases, and the values that cases give to attributes. */
  function options(data, version, all) {
    const [types, settings, names] = [new Set(), new Set(), new Set(version.attributes.map(([name]) => name))];
    for (const [rest, , at] of all.flatMap((behaviour) => behaviour.v[version.since])) {
      for (const [, label] of site.typesOf(version, rest)) types.add(label);
      for (const word of data.settings[at].split(" ")) if (names.has(word.split("=")[0])) settings.add(word);
    }
    return { types: [...types].sort(), settings: [...settings].sort() };
  }

  /** The state of a row on a column, as a link to the first case that has it. */
  function cell(front, data, version, behaviour, cases, at) {
    const state = site.worstOf(data, cases, at);
    const shown = cases.find(([, outcome]) => site.OUTCOMES[data.outcomes[outcome][at] || "?"][1] === state.key) || cases[0];
    const words = `${front.title(front.columns[at])}: ${site.STATE[state.key].name} in ${state.bad} of ${plural(state.total, "case")}`;
    return el("td", null, link(site.caseHref(`${data.domain}/${data.name}-${version.since}/${behaviour.n}${shown[0]}`), { class: `mark s-${state.key === "?" ? "q" : state.key}`, title: words },
      el("span", { "aria-hidden": "true" }, site.STATE[state.key].sign, el("span", { class: "of" }, "r?d".includes(state.key) ? "" : ` ${state.bad}/${state.total}`)), el("span", { class: "unseen" }, words)));
  }

  const order = (behaviour) => (behaviour.refusal ? 2 : 0) + (behaviour.n.startsWith("large/") ? 1 : 0);

  site.behaviours = (front, data, version, chosen, columns) => {
    const all = data.behaviours.filter((behaviour) => behaviour.v[version.since]);
    if (all.length === 0) return null;
    const { types, settings } = options(data, version, all);
    const pick = (name, known) => (known.includes(chosen.get(name)) ? chosen.get(name) : "");
    const shown = { type: pick("type", types), setting: pick("with", settings) };
    const rows = all.map((behaviour) => ({ behaviour, cases: matching(data, version, behaviour, shown) })).filter(({ cases }) => cases.length > 0);
    rows.sort((a, b) => order(a.behaviour) - order(b.behaviour) || a.behaviour.n.localeCompare(b.behaviour.n));
    const head = columns.map((at) => el("th", { scope: "col" }, link(site.href(["runtime", front.columns[at].key]), null, front.columns[at].runtime), " ", el("span", { class: "quiet" }, front.columns[at].version)));
    const states = (at) => rows.map(({ cases }) => site.worstOf(data, cases, at).key).filter((key) => !"?no".includes(key));
    const total = el("tr", { class: "total" }, el("th", { scope: "row" }, el("b", null, "right, every level")), columns.map((at) => {
      const keys = states(at);
      return el("td", null, keys.length === 0 ? el("span", { class: "quiet" }, "not measured") : [el("b", null, String(keys.filter((key) => key === "r").length)), el("span", { class: "of" }, `/${keys.length}`)]);
    }));
    return el("section", { id: "behaviours" }, el("div", { class: "line" }, el("h2", null, "Behaviours by runtime"),
      types.length > 0 ? site.select("Type", "type", [["", "all"], ...types.map((name) => [name, name])], shown.type) : null,
      settings.length > 0 ? site.select("Attribute", "with", [["", "any"], ...settings.map((text) => [text, text])], shown.setting) : null),
    el("p", { role: "status" }, `${plural(rows.length, "behaviour")} in ${plural(rows.reduce((sum, { cases }) => sum + cases.length, 0), "case")}`,
      shown.type || shown.setting ? [" with ", [shown.type, shown.setting].filter(Boolean).join(" and ")] : null, ". A mark has the worst outcome of its cases; 1/25 is 1 of 25 cases. The first row counts the behaviours that are right, of every level."),
    rows.length === 0 ? null : el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Behaviours by runtime" }, el("table", { class: "grid behaviours" }, el("thead", null, el("tr", null, el("th", { scope: "col" }, "behaviour"), head)),
      el("tbody", null, total, rows.map(({ behaviour, cases }) => el("tr", null,
        el("th", { scope: "row" }, link(site.operatorHref(data.domain, data.name, { ...Object.fromEntries(chosen), v: version.since, b: behaviour.n, at: "behaviour" }), { class: "row-link" }, behaviour.n),
          behaviour.level === "required" ? null : el("span", { class: "quiet" }, ` ${behaviour.level}`)),
        columns.map((at) => cell(front, data, version, behaviour, cases, at))))))));
  };

  /** Links to the sections of an operator's page. */
  site.contents = (data, chosen, sections) => el("nav", { class: "contents", "aria-label": "Sections" }, sections.filter(([, , isThere]) => isThere).map(([id, title]) =>
    link(site.operatorHref(data.domain, data.name, { ...Object.fromEntries(chosen), at: id }), { class: "chip", onclick: (event) => {
      const target = document.getElementById(id);
      if (!target) return;
      event.preventDefault();
      target.scrollIntoView();
    } }, title)));
})();
