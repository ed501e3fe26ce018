"use strict";

/** Code that all pages share: data that is loaded on demand, elements, addresses. */
const site = (() => {
  const data = new Map();
  const loads = new Map();
  const pages = [];
  const number = new Intl.NumberFormat("en");

  /** Called by each file of data, with the lines that it repeats. */
  function loaded(name, value, lines) {
    data.set(name, lines ? unpacked(value, lines) : value);
  }

  /** Replaces references by lines, in place: "~0 1z" is the lines 0 and 71. */
  function unpacked(value, lines) {
    if (typeof value === "string") return value.startsWith("~") ? value.slice(1).split(" ").map((at) => lines[parseInt(at, 36)]).join("\n") : value;
    if (value !== null && typeof value === "object") for (const name of Object.keys(value)) value[name] = unpacked(value[name], lines);
    return value;
  }

  /** Data of a file. Scripts can be loaded where other files cannot. */
  function load(name) {
    if (data.has(name)) return Promise.resolve(data.get(name));
    if (!loads.has(name)) {
      loads.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
        script.onload = () => (data.has(name) ? resolve(data.get(name)) : reject(new Error(`${script.src} has no data`)));
        script.onerror = () => reject(new Error(`${script.getAttribute("src")} is missing`));
        document.head.append(script);
      }));
    }
    return loads.get(name);
  }

  /** An element with properties and children; text is never parsed as HTML. */
  function el(tag, properties, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (name === "class") made.className = value;
      else if (value === true) made.setAttribute(name, "");
      else made.setAttribute(name, value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  }

  const link = (href, properties, ...children) => el("a", { href, ...properties }, ...children);
  const code = (text, properties) => el("code", properties, text);
  const count = (value) => number.format(value);
  const plural = (value, noun, many) => `${count(value)} ${value === 1 ? noun : many || `${noun}s`}`;

  /** A table with a head and rows of cells; the first cell of a row is its head. */
  function table(properties, head, rows) {
    const cell = (tag, content, more) => (content instanceof HTMLTableCellElement ? content : el(tag, more, content));
    return el("table", properties,
      el("thead", null, el("tr", null, head.map((content) => cell("th", content, { scope: "col" })))),
      el("tbody", null, rows.map((row) => el("tr", null,
        row.map((content, at) => (at === 0 ? cell("th", content, { scope: "row" }) : cell("td", content)))))));
  }

  /** The address: a path and the reader's choices. */
  function address() {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    const parts = path.split("/").filter(Boolean).map(decode);
    return { parts, chosen: new URLSearchParams(query || "") };
  }

  function decode(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** An address as text. */
  function href(parts, chosen) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(chosen || {})) {
      if (value !== "" && value !== null && value !== undefined) query.set(name, value);
    }
    const text = query.toString().replace(/%2C/g, ",").replace(/%2F/g, "/");
    return `#/${parts.map(encodeURIComponent).join("/").replace(/%3D/g, "=").replace(/%2C/g, ",")}${text ? `?${text}` : ""}`;
  }

  /** Changes the choices and redraws the page; the previous address stays in the history. */
  function choose(changes, replace) {
    const { parts, chosen } = address();
    const next = href(parts, { ...Object.fromEntries(chosen), ...changes });
    if (next === location.hash) return;
    if (replace) {
      history.replaceState(null, "", next);
      show(true);
    } else {
      keep = true;
      location.hash = next;
    }
  }

  /** Changes the choices in the address, and leaves the page as it is. */
  function keepChoice(changes) {
    const { parts, chosen } = address();
    history.replaceState(null, "", href(parts, { ...Object.fromEntries(chosen), ...changes }));
  }

  const operatorHref = (domain, name, chosen) => href(["op", domain, name], chosen);
  const caseHref = (id) => href(["case", ...id.split("/")]);

  /** A page: the first part of its path, and the function that draws it into an element. */
  function page(name, draw) {
    pages.push({ name, draw });
  }

  let keep = false;
  let drawn = 0;

  /** Draws the page of the address. */
  async function show(same) {
    const { parts, chosen } = address();
    const name = parts[0] || "front";
    const found = pages.find((one) => one.name === name) || pages.find((one) => one.name === "missing");
    const main = document.getElementById("main");
    const turn = ++drawn;
    const inMenu = { op: "front", case: "front", finding: "findings", runtime: "runtimes", heat: "runtimes", together: "runtimes" }[name] || name;
    for (const one of document.querySelectorAll("nav a")) {
      if (one.dataset.page === inMenu) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
    const focused = same === true && document.activeElement ? focusPath(document.activeElement) : null;
    try {
      const content = await found.draw(parts.slice(1), chosen);
      if (turn !== drawn) return;
      main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
    } catch (error) {
      if (turn !== drawn) return;
      main.replaceChildren(el("h1", null, "This page cannot be shown"), el("p", null, String(error.message || error)),
        el("p", null, "The site needs its whole folder: index.html next to ", code("data/"), ". ", link("#/", null, "All operators")));
    }
    const heading = main.querySelector("h1");
    document.getElementById("plain").setAttribute("href", heading?.dataset.plain || "op/index.html");
    document.title = heading && name !== "front" ? `${heading.textContent} · ONNX, measured` : "ONNX, measured";
    if (same === true) {
      if (focused) main.querySelector(focused)?.focus({ preventScroll: true });
    } else {
      const target = chosen.get("at") && document.getElementById(chosen.get("at"));
      if (target) target.scrollIntoView();
      else window.scrollTo(0, 0);
      if (turn > 1) main.focus({ preventScroll: true });
    }
    document.body.dataset.ready = String(turn);
  }

  /** Draws the page of another address in the place of this one. */
  function lead(next) {
    history.replaceState(null, "", next);
    return show(false);
  }

  /** Returns a selector that finds the focused element after the page is redrawn. */
  function focusPath(element) {
    if (!element.closest("main")) return null;
    if (element.id) return `#${CSS.escape(element.id)}`;
    return element.dataset.focus ? `[data-focus="${CSS.escape(element.dataset.focus)}"]` : null;
  }

  /** Announces a text to screen readers. */
  function say(text) {
    document.getElementById("status").textContent = text;
  }

  /** A button that copies a text and confirms it. */
  function copyButton(title, text) {
    const button = el("button", { type: "button", class: "small", onclick: async () => {
      try {
        await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      say(button.textContent);
      setTimeout(() => { button.textContent = title; }, 1500);
    } }, title);
    return button;
  }

  /** A button that saves bytes or text as a file. */
  function saveButton(title, name, type, content) {
    return el("button", { type: "button", class: "small", onclick: () => {
      const address = URL.createObjectURL(new Blob([content()], { type }));
      const anchor = el("a", { href: address, download: name });
      document.body.append(anchor);
      anchor.click();
      anchor.remove();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    } }, title);
  }

  window.addEventListener("hashchange", () => {
    if (location.hash === "#main") return;
    const same = keep;
    keep = false;
    show(same);
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  document.getElementById("main").append(el("p", { class: "quiet" }, "Loading…"));
  document.addEventListener("DOMContentLoaded", () => show(false));

  return {
    loaded, load, el, link, code, count, plural, table, address, href, choose, keepChoice, lead, operatorHref, caseHref, page, say,
    copyButton, saveButton,
  };
})();
