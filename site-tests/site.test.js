// The site in Chromium: what a reader does, in light and dark, wide and narrow, with and without a mouse.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { HOSTILE, hasModule, launch, site } from "./browser.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CASE = "ai.onnx/Abs-13/ranks/X=2x3x4/T=float";
const PATTERN = "transposes/transposed_operand_of_product";
const PAGES = ["#/", "#/op/ai.onnx/Conv", "#/op/ai.onnx/AveragePool", "#/op/ai.onnx/Pad", "#/op/ai.onnx/Resize?v=13&type=float16&with=mode=cubic", "#/op/ai.onnx/Cast?types=onnxruntime-1.32.0", "#/op/ai.onnx/Abs?on=own-0.1.0&b=ranks", "#/op/ai.onnx/Sum?cols=own-0.1.0", `#/case/${CASE}`, "#/runtimes", "#/about", "#/disagreements", "#/disagreements?both=onnxruntime-1.32.0,tract-0.23.9&kind=run", "#/heat/onnxruntime?only=changed&sort=changes&type=all", "#/together", "#/case/ai.onnx/Gather-13/every_axis/indices=2x2,axis=0/T=string,Tind=int32", "#/model?kinds=Softmax-13,ai.onnx.ml/Scaler-1,Gone-1", "#/compare", "#/compare/onnxruntime-1.20.1/onnxruntime-1.32.0", "#/findings", "#/finding/onnxruntime/gather-strings", "#/rules?at=rule-node/type", "#/model", "#/op/ai.onnx/Softmax?play=last_axis_by_default", "#/graphs", `#/graphs?topic=transposes&open=${PATTERN}`, `#/case/graph/${PATTERN}/near/vector_behind/T=float`];
let browser;
let home;

before(async () => {
  home = site();
  browser = await launch();
});

after(() => browser?.close());

/** Rules of accessibility that the colours of a page decide. No other rule depends on light or dark. */
const OF_COLOURS = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };
const WCAG = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };

/** Leaves the rows of long lists that have a class which no row before has, and a few others: all others say the same. */
function shortened() {
  const seen = new Set();
  for (const list of document.querySelectorAll("tbody, ul, ol")) {
    let alike = 0;
    for (const row of [...list.children]) {
      const classes = [row, ...row.querySelectorAll("[class]")].map((element) => `${element.tagName} ${element.getAttribute("class")}`);
      const isNew = classes.some((name) => !seen.has(name));
      classes.forEach((name) => seen.add(name));
      if (!isNew && ++alike > 20) row.remove();
    }
  }
}

/** What breaks a rule of accessibility on a page: the rule, and the first elements. The page has fewer rows afterwards. */
async function broken(page, where, rules) {
  await page.evaluate(shortened);
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(axe);
  const { violations } = await page.evaluate((options) => axe.run(document, { preload: false, resultTypes: ["violations"], ...options }), rules);
  return violations.map(({ id, nodes }) => `${where} ${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/** A page at an address, which must report no error and ask nothing of a network. */
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || page.problems.push(request.url()));
  if (address === "about:blank") return page;
  await page.goto(`${home}${address}`);
  await ready(page);
  return page;
}

const ready = (page) => page.waitForFunction(() => document.querySelector("main h1"));

/** Goes to another address, as a link does. A page of its own for each address would read the data of the site again. */
async function go(page, address) {
  await page.evaluate(async (hash) => {
    if (location.hash === hash) return;
    const [turn, limit] = [document.body.dataset.ready, Date.now() + 120_000];
    location.hash = hash;
    while (document.body.dataset.ready === turn) {
      if (Date.now() > limit) throw new Error(`${hash} is not shown`);
      await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
  }, address);
  await ready(page);
}

async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

test("the front page is laid out a few times, and redraws no more than it shows", async () => {
  const page = await open("about:blank");
  const session = await page.context().newCDPSession(page);
  // Counts of the work, since times depend on the machine.
  await session.send("Performance.enable");
  const metrics = async () => Object.fromEntries((await session.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  const work = (from, to) => ({ layouts: to.LayoutCount - from.LayoutCount, nodes: to.Nodes - from.Nodes });
  const start = await metrics();
  await page.goto(`${home}#/`);
  await page.waitForSelector("#grid");
  const loaded = await metrics();
  await page.evaluate(() => { location.hash = "#/?opset=17&type=float"; });
  await page.waitForFunction(() => document.querySelector("#operators").textContent.includes("17"));
  const redrawn = await metrics();
  for (const { layouts, nodes } of [work(start, loaded), work(loaded, redrawn)]) {
    assert.ok(layouts <= 5 && nodes < 25_000, `${layouts} layouts, ${nodes} new nodes`);
  }
  assert.ok(await page.locator("#grid tbody tr").count() > 150);
  await close(page);
});

const PLAIN = ["op/index.html", "op/ai.onnx/Resize.html", "op/ai.onnx/Cast.html", "runtime/index.html", "runtime/onnxruntime-1.32.0.html", "runtime/own-0.1.0.html", "finding/index.html",
  "finding/onnxruntime/gather-strings.html", "rule/index.html", "rule/node/type.html", "release/index.html", "release/1.8.0.html"];

/** A page that needs no JavaScript, in a browser that runs none. */
async function openPlain(path, options = {}) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1300, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on("request", (request) => /^(file|data):/.test(request.url()) || page.problems.push(request.url()));
  await page.goto(new URL(path, home).href);
  return page;
}

test("without JavaScript there are operators, runtimes, findings, rules and releases", async () => {
  const page = await openPlain("index.html");
  assert.equal(await page.locator("main h1").textContent(), "ONNX, measured");
  assert.ok(!await page.getByText("Loading").isVisible());
  await page.getByRole("link", { name: "Operators", exact: true }).click();
  await page.getByRole("link", { name: "Resize", exact: true }).click();
  assert.equal(await page.locator("h1").textContent(), "Resize");
  assert.match(await page.locator("table").first().textContent(), /onnxruntime 1\.32\.0/);
  assert.match(await page.locator("main").textContent(), /Changes since Resize-11/);
  assert.match(await page.locator("meta[property='og:title']").getAttribute("content"), /^Resize$/);
  await page.getByRole("link", { name: "onnxruntime 1.32.0", exact: true }).first().click();
  assert.equal(await page.locator("h1").textContent(), "onnxruntime 1.32.0");
  await page.locator("main a[href^='../finding/']").first().click();
  assert.ok(await page.locator("blockquote").isVisible());
  await close(page);
  const hostile = await openPlain("op/ai.onnx/Abs.html");
  assert.equal(await hostile.locator("main img, main script").count(), 0);
  await close(hostile);
});

test("both parts of the site lead to the same page of the other", async () => {
  for (const [address, path] of [["#/", "op/index.html"], ["#/op/resize@11", "op/ai.onnx/Resize.html"], ["#/runtime/ort", "runtime/onnxruntime-1.32.0.html"],
    ["#/finding/gather-strings", "finding/onnxruntime/gather-strings.html"], ["#/rule/node/type", "rule/node/type.html"], ["#/findings", "finding/index.html"]]) {
    const page = await open(address);
    assert.equal(await page.locator("#plain").getAttribute("href"), path, address);
    const heading = (await page.locator("main h1").textContent()).replace(/-\d+$/, "");
    await page.locator("#plain").click();
    await page.waitForFunction(() => document.body.className === "plain");
    const plain = await page.locator("h1").textContent();
    if (path.split("/").length > 2 && !path.startsWith("rule")) assert.equal(plain, heading);
    await page.locator("p.foot a").click();
    await page.waitForFunction(() => document.querySelector("#main[tabindex] h1") && document.body.dataset.ready);
    await close(page);
  }
  const release = await open("#/");
  await release.evaluate(() => { location.hash = "#/release/1.8.0"; });
  await release.waitForFunction(() => document.body.className === "plain");
  assert.equal(await release.locator("h1").textContent(), "ONNX 1.8.0");
  await close(release);
  const wrong = await open("#/release/1.8.9");
  assert.equal(await wrong.locator("main h1").textContent(), "No such release");
  await close(wrong);
});

test("an old browser, and one without WebAssembly, get a sentence", async () => {
  const old = await browser.newContext();
  await old.addInitScript(() => { delete Array.prototype.findLast; });
  const page = await old.newPage();
  await page.goto(home);
  await page.locator("#old").waitFor();
  assert.match(await page.locator("#old").textContent(), /too old/);
  await old.close();
  const newer = await open("#/");
  assert.ok(!await newer.locator("#old").isVisible());
  await newer.evaluate(() => { delete window.WebAssembly; });
  assert.match(await newer.evaluate(() => site.ask({}).catch((error) => error.message)), /has no WebAssembly/);
  await close(newer);
});

test("plain pages are accessible, and scroll down only, in light, dark and on a phone", async () => {
  const found = [];
  for (const options of [{}, { colorScheme: "dark" }, { viewport: { width: 390, height: 800 } }]) {
    // The test itself needs scripts; the pages have none.
    const page = await openPlain(PLAIN[0], { javaScriptEnabled: true, ...options });
    for (const path of PLAIN) {
      await page.goto(new URL(path, home).href);
      const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      if (width > room) found.push(`${path} is ${width} wide`);
      found.push(...(await broken(page, path, options.colorScheme ? OF_COLOURS : {})));
    }
    await close(page);
  }
  assert.deepEqual(found, []);
});

test("the front page has three doors, and float by default", async () => {
  const page = await open("#/");
  assert.deepEqual(await page.locator(".door h2").allTextContents(), ["I have a model", "I make a runtime", "I write the standard"]);
  assert.ok(await page.locator("h1").isVisible());
  for (const link of await page.locator(".door a").all()) {
    const address = await link.getAttribute("href");
    const other = await open(address === "#search" ? "#/" : address);
    assert.doesNotMatch(await other.locator("main h1").textContent(), /^No such|cannot be shown/, address);
    await close(other);
  }
  assert.match(await page.locator(".releases svg").getAttribute("aria-label"), /onnxruntime: .*1\.20\.1 \(2024-11-21\) \d+ of \d+/);
  const measured = await page.evaluate(() => site.front().then((front) => front.columns.filter((column) => !column.file).length));
  assert.equal(await page.locator(".figures dt", { hasText: "measurements" }).textContent(), `${measured} measurements`, "a results file is no measurement");
  const cell = page.locator("table.runtimes tbody tr", { hasText: /^onnxruntime/ }).locator("td.share a").first();
  const [right, all] = (await cell.textContent()).match(/^(\d+)\/(\d+)/).slice(1).map(Number);
  assert.ok(right > all / 2, `${right} of ${all}`);
  const [, sentence] = /(\d+ of \d+) measured operators/.exec(await page.evaluate(() => site.front().then((front) => site.sentence(front, 21, front.column("onnxruntime")))));
  assert.equal(sentence, `${right} of ${all}`, "the page of the runtime has the same number");
  await cell.click();
  await page.waitForFunction(() => location.hash.includes("on=onnxruntime"));
  assert.equal(await page.locator("#choose-type").inputValue(), "");
  assert.equal(await page.locator("#grid tbody tr[data-operator]").count() >= all, true);
  await close(page);
});

test("a search ranks what is called so first", async () => {
  const page = await open("#/");
  const first = async (text) => {
    await page.fill("#search", text);
    await page.waitForSelector("#found li");
    return page.locator("#found li b").first().textContent();
  };
  assert.equal(await first("sum"), "Sum");
  assert.equal(await first("bf16"), "bfloat16");
  assert.equal(await first("opset 13"), "Opset 13");
  assert.match(await first("fp8"), /^float8/);
  assert.equal(await first("softmax-11"), "Softmax");
  assert.equal(await first("own"), "own 0.1.0 (" + await page.evaluate(() => site.front().then((front) => front.columns.find((column) => column.runtime === "own").file)) + ")");
  await first("softmax-11");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Softmax-11");
  await close(page);
});

test("at least 60 of 66 ordinary queries have their target among the first three", async () => {
  const page = await open("#/");
  const queries = JSON.parse(readFileSync(new URL("queries.json", import.meta.url), "utf8"));
  const found = await page.evaluate(async (all) => {
    const index = await site.index();
    return all.map(({ query }) => site.find(index, query).slice(0, 3).map(({ address }) => address));
  }, queries);
  const missed = queries.filter(({ lead }, at) => !found[at].some((address) => lead.some((start) => address.startsWith(start))));
  assert.equal(queries.length, 66);
  assert.ok(queries.length - missed.length >= 60, `missed: ${missed.map(({ query }) => query).join(", ")}`);
  await close(page);
});

test("a search finds mistyped words, findings and rules, and leads there", async () => {
  const page = await open("#/");
  const go = async (text, heading) => {
    await page.fill("#search", text);
    await page.waitForFunction((words) => document.getElementById("search").value === words && document.querySelector("#found li b"), text);
    await page.keyboard.press("Enter");
    await page.waitForFunction((words) => document.querySelector("main h1")?.textContent === words, heading);
  };
  await go("sofmax", "Softmax-13");
  await go("resize opset 13 cubic fp16", "Resize-13");
  assert.deepEqual([await page.locator("#choose-type").inputValue(), await page.locator("#choose-with").inputValue()], ["float16", "mode=cubic"]);
  await go("onnxruntime/gather-strings", "Gather of strings gives empty strings in place of elements for some shapes");
  await go("node/deprecated", "Rules of check");
  assert.ok(await page.locator("details[open] code", { hasText: "node/deprecated" }).isVisible());
  await page.fill("#search", "qqqqxyz");
  await page.waitForFunction(() => document.querySelector("#found li")?.textContent === "No results.");
  await close(page);
});

test("findings are listed, filtered, and have a page each with the text of an issue", async () => {
  const page = await open("#/findings");
  const rows = () => page.locator("ul.found li").count();
  assert.ok(await rows() >= 100);
  await page.selectOption("#choose-runtime", "onnxruntime");
  await page.waitForFunction(() => location.hash.includes("runtime=onnxruntime"));
  await page.selectOption("#choose-op", "ai.onnx/Gather");
  await page.waitForFunction(() => location.hash.includes("op=ai.onnx/Gather"));
  const few = await rows();
  assert.ok(few > 0 && few < 10, String(few));
  await page.getByRole("link", { name: /^Gather of strings/ }).click();
  await page.waitForFunction(() => /^Gather of strings/.test(document.querySelector("main h1").textContent));
  assert.match(await page.locator("blockquote").textContent(), /if `axis = 0`/);
  assert.ok(await page.locator("ul.measured li").count() > 5);
  assert.match(await page.locator("details pre").textContent(), /^# Gather of strings[\s\S]*```python/);
  await close(page);
  const short = await open("#/finding/gather-strings");
  assert.match(await short.locator("h1").textContent(), /^Gather of strings/);
  await close(short);
  const wrong = await open("#/finding/onnxruntime/gather-string");
  assert.equal(await wrong.locator("h1").textContent(), "No such finding");
  assert.ok(await wrong.getByRole("link", { name: "onnxruntime/gather-strings" }).isVisible());
  await close(wrong);
});

test("filters narrow the operators, stand in the address and survive a new start", async () => {
  const page = await open("#/");
  const rows = () => page.locator("#grid tbody tr[data-operator]").count();
  const all = await rows();
  await page.selectOption("#choose-type", "bfloat16");
  await page.waitForFunction(() => location.hash.includes("type=bfloat16"));
  const some = await rows();
  assert.ok(some > 20 && some < all, `${some} of ${all}`);
  await page.getByRole("button", { name: /crashes/ }).click();
  await page.waitForFunction(() => location.hash.includes("state=c"));
  const few = await rows();
  assert.ok(few < some);
  const again = await open(new URL(page.url()).hash);
  assert.equal(await again.locator("#grid tbody tr[data-operator]").count(), few);
  await close(again);
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("state=c"));
  assert.equal(await rows(), some);
  await close(page);
});

test("from a cell to the case and back", async () => {
  const page = await open("#/?cols=own-0.1.0");
  const cell = page.locator("tr[data-operator='ai.onnx/Abs'] a.mark");
  assert.match(await cell.getAttribute("class"), /s-w/);
  await cell.click();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Abs-13");
  await page.locator("a.behaviour", { hasText: /^ranks$/ }).click();
  await page.waitForSelector(".sample pre");
  assert.match(await page.locator(".sample pre").textContent(), /Abs/);
  await page.locator(".sample a").first().click();
  await page.waitForFunction(() => document.querySelector("h1").textContent.startsWith("ai.onnx/Abs-13/ranks/"));
  assert.ok(await page.locator(".outcomes .s-w").count() >= 1);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Abs-13");
  await page.goBack();
  await page.goBack();
  await page.waitForSelector("#grid");
  await close(page);
});

test("a pattern opens to its near misses and contexts, and they to their cases", async () => {
  const page = await open("#/graphs");
  const row = page.locator(`tr[data-operator='${PATTERN}']`);
  assert.ok(await page.locator("#grid tbody tr[data-operator]").count() > 400);
  assert.match(await row.locator("a.mark .unseen").allTextContents().then((all) => all.join()), /wrong in \d+ of \d+ graphs/);
  await row.locator("button.open").click();
  await page.waitForSelector(".forms");
  assert.match(await page.locator(".forms").textContent(), /vector behind near miss/);
  assert.match(await page.locator(".forms").textContent(), /in branch context/);
  assert.match(await page.locator(".more").textContent(), /MatMul of a transposed matrix by a vector ignores the Transpose/);
  await page.locator(".forms a.mark.s-w").first().click();
  await page.waitForFunction(() => document.querySelector("h1").textContent.startsWith("graph/transposes/transposed_operand_of_product/near/"));
  assert.ok(await page.locator(".outcomes .s-w").count() >= 1);
  assert.match(await page.locator(".finding").first().textContent(), /ignores the Transpose/);
  assert.match(await page.locator("main").textContent(), /MatMul/);
  await page.goBack();
  await page.waitForSelector(".forms");
  await close(page);
});

test("a case between no-ops has a page with the graph of the plain case", async () => {
  const page = await open(`#/case/graph/wrapped/${CASE}`);
  assert.equal(await page.locator("h1").textContent(), `graph/wrapped/${CASE}`);
  assert.equal(await page.locator("main").getByRole("link", { name: CASE, exact: true }).first().getAttribute("href"), `#/case/${CASE}`);
  assert.match(await page.locator("main").textContent(), new RegExp(`onnx-conformance show 'graph/wrapped/${CASE}'`));
  assert.ok(await page.locator(".sample").count() > 0);
  const other = await open("#/case/graph/wrapped/ai.onnx/Abs-13/gone");
  assert.equal(await other.locator("h1").textContent(), "No such case");
  await close(other);
  await close(page);
});

test("graphs are filtered by topic and state, and the address has the choice", async () => {
  const page = await open("#/graphs");
  const rows = () => page.locator("#grid tbody tr[data-operator]").count();
  const all = await rows();
  await page.selectOption("#choose-topic", "transposes");
  await page.waitForFunction(() => location.hash.includes("topic=transposes"));
  const some = await rows();
  assert.ok(some > 5 && some < all / 2, `${some} of ${all}`);
  await page.getByRole("button", { name: /^✗ wrong$/ }).click();
  await page.waitForFunction(() => location.hash.includes("state=w"));
  const few = await rows();
  assert.ok(few > 0 && few < some, `${few} of ${some}`);
  const again = await open(new URL(page.url()).hash);
  assert.equal(await again.locator("#grid tbody tr[data-operator]").count(), few);
  await close(again);
  await close(page);
});

test("the grid of patterns is one stop of the tab key, and Space opens a row", async () => {
  const page = await open("#/graphs?topic=transposes");
  assert.equal(await page.locator("#grid .cell[tabindex='0']").count(), 1);
  await page.locator("#grid .cell[tabindex='0']").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.waitForSelector(".forms");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.evaluate(() => document.activeElement.className), /mark/);
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.waitForFunction(() => location.hash === "#/");
  await close(page);
});

test("a script in a message stays text", async () => {
  const page = await open(`#/case/${CASE}`);
  assert.ok((await page.locator(".outcomes").textContent()).includes(HOSTILE));
  assert.ok((await page.locator(".outcomes").textContent()).includes("7 ULP"));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const wrong = await open("#/runtime/%3Cimg%20src=x%20onerror=alert(1)%3E");
  assert.equal(await wrong.locator("main img").count(), 0);
  await close(wrong);
  await close(page);
});

test("the grid is one stop of the tab key, and arrows move in it", async () => {
  const page = await open("#/");
  assert.equal(await page.locator("#grid .cell[tabindex='0']").count(), 1);
  assert.equal(await page.locator("#grid tbody button:not([tabindex='-1'])").count(), 0);
  await page.locator("#grid .cell[tabindex='0']").focus();
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  assert.equal(await focused(), "Abs");
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(), "Acos");
  await page.keyboard.press("Space");
  assert.ok(await page.locator(".timeline").isVisible());
  await page.keyboard.press("ArrowRight");
  assert.match(await page.evaluate(() => document.activeElement.className), /mark/);
  assert.equal(await page.locator("#grid .cell[tabindex='0']").count(), 1);
  await page.keyboard.press("?");
  assert.ok(await page.locator("#help").isVisible());
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await close(page);
});

test("two runtimes are compared", async () => {
  const page = await open("#/compare");
  await page.selectOption("#compare-second", { index: 0 });
  await page.waitForFunction(() => /compare\/[^/]+\/[^/]+/.test(location.hash));
  await page.evaluate(() => site.front().then((front) => {
    const newest = (runtime) => front.columns.findLast((column) => column.runtime === runtime).key;
    location.hash = `#/compare/${newest("onnxruntime")}/${newest("tract")}`;
  }));
  await page.waitForFunction(() => document.querySelector("h1").textContent.includes("tract"));
  assert.ok(await page.locator("table.compare tbody tr").count() > 20);
  await close(page);
});

test("two versions of a runtime show which findings are fixed", async () => {
  const page = await open("#/compare/onnxruntime@1.20.1/onnxruntime@1.32.0");
  const fixed = page.locator("#fixed");
  await fixed.waitFor();
  assert.ok(await fixed.locator("li").count() > 3);
  assert.match(await fixed.textContent(), /fixed in 1\.\d+/);
  for (const words of await page.locator("#fresh li").allTextContents()) assert.doesNotMatch(words, /since 1\.(15|16|17|18|20)\./);
  await close(page);
});

test("what changed between any two versions", async () => {
  const page = await open("#/op/ai.onnx/Cast?from=1&to=28");
  assert.match(await page.locator("dl.changes").textContent(), /added to T1/);
  assert.ok(await page.locator(".diff td.new").count() > 5);
  await page.selectOption("#choose-from", "25");
  await page.waitForFunction(() => location.hash.includes("from=25"));
  await page.waitForFunction(() => /equal lines/.test(document.querySelector(".diff").textContent));
  await close(page);
});

test("the conversions of an operator are those of the record, on both of its pages", async () => {
  const record = readFileSync(new URL("../records/conversions.txt", import.meta.url), "utf8").split("\n").map((line) => line.split(" "));
  const words = (counts) => ["unchanged", "edited", "refused"].flatMap((way, at) => (counts[at] === "0" ? [] : `${counts[at]} ${way}`));
  const own = record.filter(([version]) => version.startsWith("ai.onnx/Softmax-"));
  const versions = [...new Set(own.map(([version]) => version))];
  const targets = [...new Set(own.map(([, opset]) => opset))].sort((a, b) => a - b);
  const expected = versions.map((version) => targets.map((target) => {
    const found = own.find(([from, opset]) => from === version && opset === target);
    return found ? words(found.slice(2)) : ["its own opset"];
  }));
  const page = await open("#/op/ai.onnx/Softmax");
  const table = page.locator("#conversions table");
  assert.deepEqual(await table.locator("tbody th").allTextContents(), versions.map((version) => version.replace("ai.onnx/", "")));
  assert.deepEqual(await table.locator("thead th").allTextContents(), ["from", ...targets.map((opset) => `to opset ${opset}Softmax-${opset}`)]);
  assert.deepEqual(await table.locator("tbody td").evaluateAll((cells) => cells.map((cell) => cell.textContent)), expected.flat().map((cell) => cell.join("")));
  const shares = await table.locator("tbody tr").last().locator("td").first().locator(".bar span").evaluateAll((all) => all.map((one) => Number(one.style.flexGrow)));
  assert.deepEqual(shares.map(String), own.find(([version, opset]) => version === versions.at(-1) && opset === targets[0]).slice(2).filter((count) => count !== "0"));
  await close(page);
  const plain = await openPlain("op/ai.onnx/Softmax.html");
  const cells = await plain.locator("table", { hasText: "Number of cases by conversion" }).locator("tbody td").allTextContents();
  assert.deepEqual(cells, expected.flat().map((cell) => cell.join(", ")));
  await close(plain);
});

test("Resize, cubic, opset 13, float16: one screen after three choices", async () => {
  const page = await open("#/op/ai.onnx/Resize?v=13");
  await page.selectOption("#choose-type", "float16");
  await page.waitForFunction(() => location.hash.includes("type=float16"));
  await page.selectOption("#choose-with", "mode=cubic");
  await page.waitForFunction(() => location.hash.includes("with=mode%3Dcubic") || location.hash.includes("with=mode=cubic"));
  const rows = page.locator("#behaviours tbody tr:not(.total)");
  const some = await rows.count();
  assert.ok(some > 5 && some < 40, String(some));
  assert.ok((await rows.first().locator("td a").first().getAttribute("href")).includes("float16"));
  const heads = await page.locator("#behaviours thead th").allTextContents();
  assert.ok(heads.some((text) => text.startsWith("onnxruntime")) && heads.some((text) => text.startsWith("tract")), heads.join());
  await rows.first().locator("td a").first().click();
  await page.waitForFunction(() => /^ai.onnx\/Resize-13\//.test(document.querySelector("main h1").textContent));
  await close(page);
});

/** Runs the steps of a reader, from the front page on. Each step is one action: a search, a click or a choice. */
async function steps(...actions) {
  const page = await open("#/");
  assert.ok(actions.length <= 3, `${actions.length} actions`);
  for (const action of actions) await action(page);
  return page;
}

const searched = (text, heading) => async (page) => {
  await page.fill("#search", text);
  await page.waitForFunction((words) => document.getElementById("search").value === words && document.querySelector("#found li b"), text);
  await page.press("#search", "Enter");
  await page.waitForFunction((words) => document.querySelector("main h1")?.textContent === words, heading);
};
const chosen = (field, value, inAddress) => async (page) => {
  await page.selectOption(field, value);
  await page.waitForFunction((words) => decodeURIComponent(location.hash).includes(words), inAddress);
};

test("three questions take at most three actions each from the front page", async () => {
  const cubic = await steps(searched("Resize 13", "Resize-13"), chosen("#choose-type", "float16", "type=float16"), chosen("#choose-with", "mode=cubic", "with=mode=cubic"));
  assert.ok((await cubic.locator("#behaviours").boundingBox()).height < 900, "the behaviours fit a screen");
  assert.match(await cubic.locator("#behaviours thead").textContent(), /onnxruntime.*openvino.*tract/);
  await close(cubic);

  const softmax = await steps(searched("softmax", "Softmax-13"), (page) => page.locator(".contents a", { hasText: "Changes" }).click());
  assert.deepEqual([await softmax.locator("#choose-from").inputValue(), await softmax.locator("#choose-to").inputValue()], ["11", "13"]);
  assert.match(await softmax.locator("dl.changes").textContent(), /Silently \(the model stays valid\)/);
  await softmax.waitForFunction(() => document.querySelector("dl.changes").getBoundingClientRect().top < window.innerHeight);
  await close(softmax);

  const fixed = await steps((page) => page.locator(".door a", { hasText: /^Compare onnxruntime/ }).click(), chosen("#compare-first", "onnxruntime-1.20.1", "onnxruntime-1.20.1/onnxruntime-"));
  await fixed.locator("#fixed li").first().waitFor();
  assert.ok((await fixed.locator("#fixed").boundingBox()).y < 900, "what is fixed is on the first screen");
  await close(fixed);
});

test("addresses that are nearly right lead to the right page", async () => {
  for (const [address, heading, hash] of [
    ["#/op/Resize", "Resize-19", "#/op/ai.onnx/Resize"],
    ["#/op/ai.onnx/Resize-13", "Resize-13", "#/op/ai.onnx/Resize?v=13"],
    ["#/op/ai.onnx/resize", "Resize-19", "#/op/ai.onnx/Resize"],
    ["#/op/resize@11", "Resize-11", "#/op/ai.onnx/Resize?v=11"],
    ["#/op/batch_normalization", "BatchNormalization-15", "#/op/ai.onnx/BatchNormalization"],
    ["#/op/ai.onnx/TreeEnsemble", "TreeEnsemble-5", "#/op/ai.onnx.ml/TreeEnsemble"],
    ["#/op/ai.onnx/Resize?v=14", "Resize-13", "#/op/ai.onnx/Resize?v=14"],
    ["#/Softmax", "Softmax-13", "#/op/ai.onnx/Softmax"],
    ["#/runtime/onnxruntime@1.20.1", "onnxruntime 1.20.1", "#/runtime/onnxruntime-1.20.1"],
    ["#/runtime/OnnxRuntime%201.20", "onnxruntime 1.20.1", "#/runtime/onnxruntime-1.20.1"],
    ["#/compare/onnxruntime@1.20.1/ort@1.31", "onnxruntime 1.20.1 and onnxruntime 1.31.1", "#/compare/onnxruntime@1.20.1/ort@1.31"],
    ["#/finding", "Findings", "#/findings"],
    ["#/opset/13", "ONNX, measured", "#/?opset=13"],
  ]) {
    const page = await open(address);
    await page.waitForFunction((words) => document.querySelector("main h1").textContent === words, heading, { timeout: 10_000 }).catch(() => assert.fail(`${address} does not show ${heading}`));
    assert.equal(new URL(page.url()).hash, hash, address);
    await close(page);
  }
  const newest = await open("#/runtime/ort");
  assert.match(await newest.locator("h1").textContent(), /^onnxruntime \d/);
  await close(newest);
});

test("the causes of the failures in a results file are on the page of its runtime, as run prints them", async () => {
  const page = await open("#/runtime/own-0.1.0");
  const causes = page.locator("#causes ol > li");
  assert.equal(await causes.count(), 1);
  assert.match(await page.locator("#causes > p").textContent(), /^(\d+) failures with 1 cause\.$/);
  assert.match(await causes.first().textContent(), /^mismatch: ai\.onnx\/Abs\d+ cases; without it 1 operator is right/);
  assert.ok((await causes.first().textContent()).includes(HOSTILE), "a message is text");
  await causes.first().getByRole("link").click();
  await page.waitForFunction(() => location.hash.startsWith("#/case/ai.onnx/Abs-13/ranks/"));
  await page.close();
});

test("unknown addresses say so, with the nearest names", async () => {
  for (const [address, heading, near] of [
    ["#/op/ai.onnx/Rezise", "No such operator", "Resize"],
    ["#/runtime/onnxruntime-1.19.2", "No such runtime", "onnxruntime-1.20.1"],
    ["#/runtime/onxruntime", "No such runtime", "onnxruntime-1.32.0"],
    ["#/findigns", "No such page", "findings"],
    ["#/rules?at=rule-node/tpye", "Rules of check", "node/type"],
  ]) {
    const page = await open(address);
    assert.equal(await page.locator("main h1").textContent(), heading);
    assert.ok((await page.locator("main").textContent()).includes(near), `${address} does not name ${near}`);
    await close(page);
  }
});

for (const [name, options] of [
  ["light", {}],
  ["dark", { colorScheme: "dark" }],
  ["narrow", { viewport: { width: 390, height: 800 } }],
]) {
  test(`no rule of accessibility is broken: ${name}`, async () => {
    const found = [];
    const page = await open("#/", options);
    for (const address of [...PAGES, "#/runtime/own-0.1.0"]) {
      await go(page, address);
      found.push(...(await broken(page, address, options.colorScheme ? OF_COLOURS : WCAG)));
    }
    assert.deepEqual(found, []);
    await close(page);
  });
}

test("the search and the keys are at the right of the bar at each width", async () => {
  const page = await open("#/about");
  const right = (query) => page.evaluate((one) => window.innerWidth - document.querySelector(one).getBoundingClientRect().right, query);
  for (const width of [800, 1100, 1150, 1200, 1300]) {
    await page.setViewportSize({ width, height: 600 });
    assert.ok(await right("#help-button") < 40, `Keys at ${width}`);
    assert.ok(await right("#search") < 120, `the search at ${width}`);
    assert.ok((await page.locator(".top .home").boundingBox()).x < 40, `the name of the site at ${width}`);
  }
  await close(page);
});

test("a phone scrolls down, not sideways", async () => {
  const wide = [];
  const page = await open("#/", { viewport: { width: 390, height: 800 } });
  for (const address of PAGES) {
    await go(page, address);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) wide.push(`${address} is ${width} wide`);
  }
  assert.deepEqual(wide, []);
  await close(page);
});

test("every operator has a page, which does not scroll sideways on a phone", async () => {
  const page = await open("#/", { viewport: { width: 390, height: 800 } });
  const wrong = await page.evaluate(async () => {
    const front = await site.front();
    const found = [];
    for (const operator of front.operators) {
      const turn = document.body.dataset.ready;
      location.hash = site.operatorHref(front.domains[operator.d].name, operator.n);
      const limit = Date.now() + 30_000;
      while (document.body.dataset.ready === turn && Date.now() < limit) await new Promise((resolve) => { setTimeout(resolve, 5); });
      const heading = document.querySelector("main h1")?.textContent;
      if (heading !== `${operator.n}-${operator.v.at(-1).since}`) found.push(`${operator.n}: ${heading}`);
      const width = document.documentElement.scrollWidth;
      if (width > 390) found.push(`${operator.n} is ${width} wide`);
    }
    return found;
  });
  assert.deepEqual(wrong, []);
  await close(page);
});

test("states are told apart without colours, and on paper", async () => {
  const page = await open("#/", { forcedColors: "active" });
  const border = await page.locator("#grid .mark").first().evaluate((mark) => getComputedStyle(mark).borderTopWidth);
  assert.equal(border, "1px");
  assert.notEqual((await page.locator("#grid .mark").first().textContent()).trim(), "");
  await page.emulateMedia({ media: "print" });
  assert.ok(!await page.locator("header.top").isVisible());
  await close(page);
});

test("operators by release are sorted, filtered, and walked through with keys", async () => {
  const page = await open("#/heat");
  assert.equal(await page.locator("h1").textContent(), "onnxruntime: operators by release");
  assert.equal(await page.locator("#choose-type").inputValue(), "", "float by default");
  const releases = await page.evaluate(() => site.front().then((front) => front.columns.filter((column) => column.runtime === "onnxruntime").map((column) => column.version)));
  const cells = await page.locator("#grid tbody tr[data-operator='ai.onnx/Softmax'] td").count();
  assert.equal(cells, releases.length + 1);
  const all = await page.locator("#grid tbody tr").count();
  assert.ok(all > 150, String(all));
  await page.selectOption("#choose-only", "changed");
  await page.waitForFunction(() => location.hash.includes("only=changed"));
  const some = await page.locator("#grid tbody tr").count();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  await page.getByRole("button", { name: "Changes" }).click();
  await page.waitForFunction(() => document.querySelector("th[aria-sort='descending']")?.textContent.startsWith("Changes"));
  const sums = (await page.locator("#grid tbody td.number").allTextContents()).map((text) => text.split(" ").reduce((sum, one) => sum + Number(one.slice(1)), 0));
  assert.ok(sums.every((sum, at) => sum > 0 && (at === 0 || sums[at - 1] >= sum)), sums.join());
  await page.getByRole("button", { name: /^1\.15\.1/ }).click();
  await page.waitForFunction(() => location.hash.includes("sort=onnxruntime-1.15.1"));
  const ranks = await page.evaluate(() => [...document.querySelectorAll("#grid tbody td:nth-child(2) .mark")].map((mark) => site.STATE[/s-(\w)/.exec(mark.className)[1].replace("q", "?")].rank));
  assert.ok(ranks.every((rank, at) => at === 0 || ranks[at - 1] <= rank), ranks.join());
  await page.locator("#grid .cell[tabindex='0']").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.closest("td")?.cellIndex), 1);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/op/ai.onnx/") && location.hash.includes("on=onnxruntime-1.15.1"));
  await close(page);
});

test("a release with more behaviours is not worse for it", async () => {
  const page = await open("#/about");
  const moved = (...cells) => page.evaluate((texts) => site.changesOf(texts.map(site.cell)), cells);
  assert.deepEqual(await moved("r30", "w1/31", "r30"), { better: 0, worse: 0 }, "the new behaviour alone is wrong");
  assert.deepEqual(await moved("r30", "w1/30", "?", "r31"), { better: 1, worse: 1 });
  assert.deepEqual(await moved("c1/20", "w1/20", "n", "w1/20"), { better: 1, worse: 0 });
  await close(page);
});

test("shared failures are those of the cases of both runtimes", async () => {
  const page = await open("#/together");
  const [found, counted] = await page.evaluate(async () => {
    const [front, { runtimes, ends }] = [await site.front(), await site.load("together")];
    const columns = runtimes.map(front.column);
    const sums = columns.map(() => columns.map(() => [0, 0]));
    const isBad = (key) => "cwsea".includes(key);
    for (const name of front.byName.keys()) {
      const data = await site.load(`op/${name}`);
      for (const behaviour of data.behaviours) {
        for (const [since, cases] of Object.entries(behaviour.v)) {
          const isOpen = (at) => (behaviour.level === "open") !== Boolean(behaviour.x?.[since]?.includes(at));
          // An open case counts only if it ends without an answer.
          const key = (outcome, column, at) => {
            const [, state] = site.OUTCOMES[data.outcomes[outcome][column]];
            return isOpen(at) && state !== "c" ? "?" : state;
          };
          const keys = columns.map((column) => cases.map(([, outcome], at) => key(outcome, column, at)));
          const [bad, judged] = [keys.map((all) => all.some(isBad)), keys.map((all) => all.some((key) => !"?n".includes(key)))];
          columns.forEach((_, from) => columns.forEach((__, to) => {
            if (bad[from] && bad[to]) sums[from][to][0] += 1;
            if (bad[from] && judged[to]) sums[from][to][1] += 1;
          }));
        }
      }
    }
    return [ends.map((row) => row.map((one) => [one[0], one[0] + one[1] + one[2] + one[3]])), sums];
  });
  assert.deepEqual(found, counted);
  assert.ok(found.length >= 6 && found[0][1][0] > 0);
  const first = page.locator("table.together tbody tr").first();
  assert.match(await first.locator("td a").first().textContent(), /^\d+ % Of [\d,]+ failing behaviours of /);
  await first.locator("td a").first().click();
  await page.waitForFunction(() => document.querySelector("main h1").textContent === "Disagreements");
  assert.match(await page.locator("main [role=status]").textContent(), /^Only behaviours that fail on .* and /);
  await close(page);
});

test("checkers are compared by what is wrong with a model", async () => {
  const page = await open("#/tools?question=check-refusals");
  const region = page.getByRole("region", { name: "By what is wrong: refused / accepted" });
  const own = (await region.locator("thead th").allTextContents()).findIndex((name) => name.startsWith("builtin "));
  assert.ok(own > 0, "this project is among the checkers");
  const cells = await region.locator("tbody tr").evaluateAll((rows, at) => rows.map((row) => row.children[at].textContent), own);
  const answers = cells.filter((text) => text.includes("/"));
  assert.ok(answers.length >= 8 && answers.every((text) => /^[\d,]+ \/ 0$/.test(text)), answers.join());
  assert.equal(cells.length, answers.length + 2);
  await close(page);
  const optimizers = await open("#/tools");
  assert.equal(await optimizers.getByRole("region", { name: /refused/ }).count(), 0);
  await close(optimizers);
});

test("disagreements are ranked by the number of runtimes that agree", async () => {
  const page = await open("#/disagreements");
  const agreeing = async () => (await page.locator("table.disagreements").first().locator("tbody td:nth-child(2) b").allTextContents()).map(Number);
  const first = await agreeing();
  assert.ok(first.length === 100 && first.every((sum, at) => sum >= 2 && (at === 0 || first[at - 1] >= sum)), first.join());
  const marks = await page.locator("table.disagreements tbody tr").first().locator("td:nth-child(2)").evaluate((cell) => {
    const words = cell.querySelector(".quiet").textContent;
    return [...cell.parentElement.querySelectorAll(".mark")].filter((mark) => mark.textContent.includes(words)).length;
  });
  assert.equal(marks, first[0]);
  const all = Number(/[\d,]+/.exec(await page.locator("h2").first().textContent())[0].replace(",", ""));
  await page.getByRole("button", { name: /^Show all/ }).first().click();
  await page.waitForFunction(() => location.hash.includes("all=1"));
  assert.equal((await agreeing()).length, all);
  await close(page);
});

test("the case of a finding is shown, with what the runtime gave", async () => {
  const page = await open("#/case/ai.onnx/Gather-13/every_axis/indices=2x2,axis=0/T=string,Tind=int32");
  assert.equal(await page.locator("h2").first().textContent(), "The case");
  const text = await page.locator(".sample pre").textContent();
  assert.match(text, /indices: tensor\(int32\)\[2, 2\]/);
  assert.match(text, /\nexpected\n {2}output_out = tensor\(string\)/);
  const row = page.locator(".outcomes tr", { has: page.locator("th", { hasText: "onnxruntime 1.32.0" }) });
  assert.match(await row.textContent(), /wrong values.*Gives an empty string for "ü"/);
  const right = page.locator(".outcomes tr", { has: page.locator("th", { hasText: "onnx-reference 1.23.2" }) });
  assert.doesNotMatch(await right.textContent(), /Gives/);
  await close(page);
  const other = await open("#/case/ai.onnx/Gather-13/every_axis/indices=2x2,axis=0/T=bool,Tind=int64");
  assert.equal(await other.locator("h2").first().textContent(), "A case of this behaviour");
  assert.doesNotMatch(await other.locator(".outcomes").textContent(), /Gives/);
  await close(other);
});

test("a rule stands beside the sentences of the standard that state it, in the shown version", async () => {
  const rule = (page, id) => page.locator(`#rule-${id} + dd`);
  const page = await open("#/op/ai.onnx/Softmax?v=13");
  assert.match(await rule(page, "formula").locator("blockquote").first().textContent(), /normalized exponential values for the given input/);
  assert.equal(await page.locator("#rules blockquote", { hasText: "coerced" }).count(), 0);
  await close(page);
  const old = await open("#/op/ai.onnx/Softmax?v=1");
  assert.ok(await old.locator("#rules blockquote", { hasText: "coerced" }).count() > 0, "version 1 coerces its input to two dimensions");
  await close(old);
});

test("a layered layout holds 2,000 nodes: edges point down, and boxes do not overlap", async () => {
  const page = await open("#/about");
  const found = await page.evaluate(() => {
    let seed = 7;
    const random = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
    const [sum, edges] = [2000, []];
    for (let node = 1; node < sum; node += 1) {
      edges.push([node - 1 - Math.floor(random() * Math.min(node, 4)), node]);
      if (random() < 0.3) edges.push([Math.max(node - 1 - Math.floor(random() * 200), 0), node]);
    }
    const layout = site.layout(Array.from({ length: sum }, (_, at) => 60 + (at % 5) * 20), edges);
    const overlaps = layout.rows.flatMap((row) => row.slice(1).filter((node, at) => layout.nodes[node].x - layout.nodes[row[at]].x < (layout.nodes[node].width + layout.nodes[row[at]].width) / 2));
    const up = edges.filter(([from, to]) => layout.nodes[from].y >= layout.nodes[to].y);
    const outside = layout.nodes.filter(({ x, y, width }) => x < width / 2 || x > layout.width - width / 2 || y < 0 || y > layout.height);
    const cycle = site.layout([10, 10, 10], [[0, 1], [1, 0], [2, 2]]);
    return { overlaps: overlaps.length, up: up.length, outside: outside.length, routes: layout.routes.length - edges.length, cycle: cycle.nodes.length, empty: site.layout([], []).nodes.length };
  });
  assert.deepEqual(found, { overlaps: 0, up: 0, outside: 0, routes: 0, cycle: 3, empty: 0 });
  await close(page);
});

/** Draws the graph of a report of `sum` nodes of two kinds into a page, as the page of models does. */
async function drawn(sum, options) {
  const page = await open("#/about", options);
  await page.evaluate((nodes) => {
    const node = (at) => ({ name: at === 1 ? "constructor" : "", op: at % 2 === 0 ? "ai.onnx/Relu-13" : "ai.onnx/Mish-18", in: [at === 0 ? "x" : `v${at - 1}`], out: [`v${at}`], attributes: [], kind: at % 2, place: `node ${at}` });
    const graph = { title: "main graph", total: nodes, inputs: ["x"], outputs: [`v${nodes - 1}`], weights: {}, values: { x: "float[2]" }, nodes: Array.from({ length: nodes }, (_, at) => node(at)) };
    const kinds = [["Relu-13 T=float", "rank=1"], ["Mish-18 T=float", "rank=1"]];
    const runtime = (version, verdicts) => ({ runtime: "onnxruntime", version, verdict: "wrong somewhere", kinds: kinds.map(([kind, settings], at) => ({ kind, settings, nodes: 1, first: "", says: verdicts[at], verdict: verdicts[at], case: null })), graphs: [] });
    const report = { facts: { operators: {} }, findings: [{ place: "node 0, input 'x'", rule: "node/type", message: "has a made-up problem" }], runtimes: [runtime("1.31.1", ["runs", "wrong"]), runtime("1.32.0", ["runs", "unknown"])], graph: { kinds, graphs: [graph] } };
    document.querySelector("main").replaceChildren(site.el("h1", null, "Graph"), site.modelGraph(report, {}));
  }, sum);
  return page;
}

test("the graph of a model has the results of the chosen runtime, and is walked through with keys", async () => {
  const page = await drawn(3);
  const boxes = page.locator(".graph .box");
  assert.equal(await boxes.count(), 5, "three nodes, an input and an output");
  assert.match(await page.locator("#kinds-sentence").textContent(), /onnxruntime 1\.32\.0.* 1 of 2 kinds of nodes run, 1 unknown\.$/);
  assert.equal(await boxes.nth(1).locator("rect.dashed").count(), 1, "unknown is told by its form, too");
  await page.getByRole("button", { name: /onnxruntime 1\.31\.1/ }).click();
  assert.match(page.url(), /on=onnxruntime-1\.31\.1/);
  assert.match(await page.locator("#kinds-sentence").textContent(), /1 of 2 kinds of nodes run, 1 do not\.$/);
  assert.match(await boxes.nth(1).getAttribute("class"), /s-w/);
  assert.equal(await boxes.nth(1).locator("path.outline").count(), 1);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".node-facts").textContent(), /^Input of the graphx float\[2\]/);
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".node-facts").textContent(), /Relu-13.*runs.*x float\[2\].*node\/type has a made-up problem/);
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".node-facts").textContent(), /Mish-18 constructor.*wrong.*type unknown/);
  assert.equal(await page.getByRole("listbox").getAttribute("aria-activedescendant"), await boxes.nth(1).getAttribute("id"));
  const width = () => page.locator("svg.graph").evaluate((picture) => picture.getBoundingClientRect().width);
  const before = await width();
  await page.keyboard.press("+");
  assert.ok(await width() > before);
  await boxes.nth(2).click();
  assert.match(await page.locator(".node-facts").textContent(), /^Relu-13/);
  await page.getByRole("button", { name: "Next of 1 node not right" }).click();
  assert.match(await page.locator(".node-facts").textContent(), /^Mish-18/);
  await close(page);
});

test("a graph of more than 2,000 nodes is drawn in parts, and no drawing is wider than a phone", async () => {
  const page = await drawn(2500, { viewport: { width: 390, height: 800 } });
  assert.equal(await page.locator(".graph .box").count(), 2001);
  assert.match(await page.locator("#graph").textContent(), /Nodes 1 to 2,000 of 2,500 nodes are drawn\./);
  await page.locator("button.next-problem").click();
  assert.match(await page.locator(".node-facts").textContent(), /^Mish-18 constructor/);
  await page.getByRole("button", { name: "Next part" }).click();
  assert.match(await page.locator("#graph").textContent(), /Nodes 2,001 to 2,500 of 2,500 nodes are drawn\./);
  assert.equal(await page.locator(".graph .box").count(), 501);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
  assert.deepEqual(await broken(page, "the graph", WCAG), []);
  await close(page);
});

test("a block of a graph is drawn alone, by the paths in the names of its nodes", async () => {
  const page = await drawn(12);
  assert.equal(await page.locator("#choose-block").count(), 0, "these names have no paths");
  await page.evaluate(() => {
    const node = (at) => ({ name: `/model/${at < 6 ? "first" : "second"}/Relu_${at}`, op: "ai.onnx/Relu-13", in: [at === 0 ? "x" : `v${at - 1}`], out: [`v${at}`], attributes: [], kind: at === 7 ? 1 : 0, place: `node ${at}` });
    const graph = { title: "main graph", total: 12, inputs: ["x"], outputs: ["v11"], weights: {}, values: {}, nodes: Array.from({ length: 12 }, (_, at) => node(at)) };
    const kinds = [["good", ""], ["bad", ""]];
    const runtime = { runtime: "own", version: "1", verdict: "wrong somewhere", graphs: [], kinds: kinds.map(([kind, settings], at) => ({ kind, settings, verdict: ["runs", "wrong"][at], says: "", case: null })) };
    document.querySelector("main").replaceChildren(site.el("h1", null, "Graph"), site.modelGraph({ facts: {}, findings: [], runtimes: [runtime], graph: { kinds, graphs: [graph] } }, {}));
  });
  assert.deepEqual(await page.locator("#choose-block option").allTextContents(), ["the whole graph (12 nodes)", "✓ model/first (6 nodes)", "✗ model/second (6 nodes)"]);
  await page.selectOption("#choose-block", "model/second");
  assert.deepEqual((await page.locator(".graph .box.end text").allTextContents()), ["v5", "v11"]);
  assert.equal(await page.locator(".graph .box").count(), 8);
  assert.equal(await page.locator(".graph .box.s-w").count(), 1);
  await close(page);
});

test("an address with the operator versions of a model shows them without the model", async () => {
  const page = await open("#/model?kinds=Softmax-13,ai.onnx.ml/Scaler-1,Gone-1");
  const rows = page.locator("#kinds-of-address tbody tr");
  assert.deepEqual(await rows.locator("th").allTextContents(), ["Softmax-13", "ai.onnx.ml/Scaler-1", "Gone-1"]);
  assert.ok(await rows.first().locator(".mark").count() >= 6);
  await close(page);
});

test("the pictures of pooling, padding and Resize are those of cases", async () => {
  const page = await open("#/op/ai.onnx/MaxPool");
  const captions = await page.locator("#does figcaption code").allTextContents();
  for (const setting of ["SAME_LOWER", "SAME_UPPER", "VALID", "ceil_mode=1", "dilations=[3]", "pads="]) assert.ok(captions.some((text) => text.includes(setting)), setting);
  for (const label of await page.locator("#does svg").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))) {
    const [input, rest] = label.replace(/^Input /, "").split(": ");
    const windows = rest.split("; ").map((text) => /elements ([\d, ]+?)(?: and padding)?, and gives (.*)$/.exec(text)).map(([, elements, value]) => [elements.split(", ").map(Number), Number(value)]);
    for (const [elements, value] of windows) assert.equal(Math.max(...elements.map((at) => Number(input.split(" ")[at]))), value, label);
  }
  await page.evaluate(() => { location.hash = "#/op/ai.onnx/Pad"; });
  await page.waitForFunction(() => /^Pad/.test(document.querySelector("main h1").textContent));
  assert.deepEqual(await page.locator("#does figcaption code").allTextContents(), ["constant", "edge", "reflect", "wrap"].map((mode) => `mode="${mode}"`));
  for (const figure of await page.locator("#does figure").all()) {
    const name = await figure.locator("a").textContent();
    const text = await page.evaluate((one) => site.load("op/ai.onnx/Pad").then((data) => data.samples[one].text), name);
    const [, values] = /\n {2}data = tensor\(\w+\)\[\d+, \d+\] \[(.*)\]\n/.exec(text);
    assert.deepEqual((await figure.locator(".s-r text").allTextContents()).map(Number), values.split(", ").map(Number), name);
    assert.ok(await figure.locator(".s-p text").count() > 0, name);
  }
  await page.evaluate(() => { location.hash = "#/op/ai.onnx/Resize"; });
  await page.waitForFunction(() => /^Resize/.test(document.querySelector("main h1").textContent));
  const aligned = page.locator("#does figure", { hasText: "align_corners" }).locator("svg");
  const [, outputs] = (await aligned.getAttribute("aria-label")).split(": outputs ");
  const coordinates = outputs.split("; ").map((text) => Number(text.split(" at ")[1]));
  assert.equal(coordinates[0], 0, "the corners of input and output are aligned");
  assert.ok(Number.isInteger(coordinates.at(-1)) && coordinates.at(-1) >= 2, outputs);
  assert.ok(await page.locator("#does figure").count() >= 3);
  await page.evaluate(() => { location.hash = "#/op/ai.onnx/Abs"; });
  await page.waitForFunction(() => /^Abs/.test(document.querySelector("main h1").textContent));
  assert.equal(await page.locator("#does").count(), 0);
  await close(page);
});

test("a picture of Softmax fills each output as far as its share of the row or column", async () => {
  const page = await open("#/op/ai.onnx/Softmax");
  const captions = await page.locator("#does figcaption code").allTextContents();
  for (const words of ["axis=1", "axis=0"]) assert.ok(captions.includes(words), captions.join());
  for (const label of await page.locator("#does svg").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))) {
    const lanes = label.replace(/^Input and output by (row|column): /, "").split("; ").map((text) => text.split(" give ").map((part) => part.split(" ").map(Number)));
    for (const [inputs, outputs] of lanes) {
      assert.equal(inputs.length, outputs.length, label);
      assert.ok(Math.abs(outputs.reduce((sum, one) => sum + one, 0) - 1) < 0.03, label);
      assert.equal(outputs.indexOf(Math.max(...outputs)), inputs.indexOf(Math.max(...inputs)), label);
    }
  }
  const [widths, values] = await page.locator("#does figure", { hasText: "axis=1" }).locator("svg").first().evaluate((picture) => {
    const filled = [...picture.querySelectorAll(".beside + .s-r")];
    return [filled.map((one) => Number(one.firstChild.getAttribute("width"))), filled.map((one) => Number(one.nextSibling.textContent))];
  });
  assert.ok(widths.length >= 6 && widths.every((width, at) => Math.abs(width / 36 - values[at]) < 0.03), `${widths}: ${values}`);
  await close(page);
});

test("a histogram of accuracy has the bound as a line, and says which measurements have none", async () => {
  const page = await open("#/op/ai.onnx/Sum?cols=own-0.1.0,onnxruntime-1.15.1");
  const figures = page.locator("#histograms figure");
  assert.ok(await figures.count() > 0, "Sum has an error bound");
  assert.equal(await figures.first().locator("line.bound").count(), 1);
  assert.match(await figures.first().locator("svg").getAttribute("aria-label"), /^\w+ on own 0\.1\.0 \(results\.jsonl\), [\d,]+ cases?: [\d,]+ exact/);
  assert.match(await page.locator("#histograms p").last().textContent(), /do not have the numbers of cases by error: onnxruntime 1\.15\.1\./);
  const made = await page.evaluate(async () => {
    const [front, data] = [await site.front(), await site.load("op/ai.onnx/Sum")];
    const key = front.columns[front.column("onnxruntime")].key;
    const rows = [["float", 8, [31, 0, 2, 5, 9, 1, 3, 0]], ["double", 8, [1, 0, 0, 0, 0, 0, 0, 0]], ["double", null, [2, 0, 0, 0, 0, 0, 0, 4]]];
    const all = site.histograms(front, { ...data, shares: { 13: { [key]: rows } } }, { since: 13 }, [front.column("onnxruntime"), front.column("tract")]);
    document.querySelector("main").append(all);
    const boxes = [...all.querySelectorAll("svg")].map((picture) => [...picture.querySelectorAll("rect")].map((bar) => Number(bar.getAttribute("x")) < Number(picture.querySelector(".bound").getAttribute("x1"))));
    const of = (query) => [...all.querySelectorAll(query)].map((one) => one.textContent);
    return { captions: of("figcaption"), ticks: of("figure:first-child .tick"), labels: [...all.querySelectorAll("svg")].map((one) => one.getAttribute("aria-label")), boxes, notes: of("p") };
  });
  assert.match(made.captions[0], /^float onnxruntime [\d.]+ in ULP; bound 8 ULP$/);
  assert.match(made.captions[1], /^double onnxruntime [\d.]+ in shares of the bound; bound 8 ULP \(1 case\), in other units \(6 cases\)$/);
  assert.deepEqual(made.ticks, ["0", ".5", "1", "2", "4", "8", "32", "more", "bound: 8 ULP"]);
  assert.match(made.labels[0], /51 cases: 31 exact, 2 up to 1\/8, 5 up to 1\/4, 9 up to 1\/2, 1 up to the bound, 3 beyond the bound, up to 4 times$/);
  assert.deepEqual(made.boxes, [[true, true, true, true, true, false], [true, false]]);
  assert.match(made.notes.at(-1), /by error: tract /);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
  await page.evaluate(() => { location.hash = "#/op/ai.onnx/Abs?cols=own-0.1.0"; });
  await page.waitForFunction(() => /^Abs/.test(document.querySelector("main h1").textContent));
  assert.equal(await page.locator("#histograms").count(), 0, "the outputs of Abs are exact");
  await close(page);
});

test("the strip of opsets shows where no node changes, and what the conversions gave", async () => {
  const page = await open("#/about");
  await page.evaluate(() => {
    const report = { facts: { opsets: { "": 4 } }, unedited: { "ai.onnx": [3, 4] }, same_operators: { "ai.onnx": [4, 5] } };
    const results = new Map([["ai.onnx 1", site.stateOfConversion({ reasons: ["node 'a': no"] })], ["ai.onnx 6", site.stateOfConversion({ edits: ["model: opset", "node 'a': axes"], proof: "verified" })],
      ["ai.onnx 7", site.stateOfConversion({ edits: ["model: opset"], proof: "verified" })], ["ai.onnx 8", site.stateOfConversion({ error: "too long" })]]);
    window.asked = [];
    document.querySelector("main").replaceChildren(site.el("h1", null, "Opsets"),
      ...site.opsetStrip(report, results, { domain: "ai.onnx", newest: 8, chosen: 6 }, { choose: (opset) => window.asked.push(opset), tryAll: (all) => window.asked.push(all) }));
  });
  const buttons = page.locator(".runtime-strip button");
  assert.deepEqual(await buttons.evaluateAll((all) => all.map((one) => one.title.replace(/^opset /, ""))), ["1: does not convert", "2: not tried", "3: no node has to change", "4: opset of the model",
    "5: no node has to change", "6: converts with edits", "7: no node has to change", "8: not tried"]);
  assert.deepEqual(await buttons.evaluateAll((all) => all.flatMap((one, at) => (one.getAttribute("aria-pressed") === "true" ? at + 1 : []))), [6]);
  await buttons.nth(2).click();
  await page.getByRole("button", { name: "Convert to the 2 opsets not tried" }).click();
  assert.deepEqual(await page.evaluate(() => window.asked), [3, [2, 8]]);
  await close(page);
});

test("the model of a case is downloaded, and what is missing is said", async () => {
  const page = await open("#/op/ai.onnx/Abs?b=ranks");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download model.onnx" }).click()]);
  assert.match(download.suggestedFilename(), /^ai\.onnx_Abs-13_ranks.*\.onnx$/);
  const bytes = readFileSync(await download.path());
  assert.ok(bytes.includes("onnx-conformance") && bytes.includes("Abs"));
  for (const [address, words] of [["#/op/ai.onnx/Nothing", "No such operator"], ["#/case/ai.onnx/Abs-13/gone", "No such case"], ["#/case/graph/transposes/gone/good", "No such case"], ["#/runtime/gone", "No such runtime"], ["#/nonsense", "No such page"]]) {
    const other = await open(address);
    assert.equal(await other.locator("h1").textContent(), words);
    await close(other);
  }
  const newest = await open("#/runtime/onnxruntime");
  assert.match(await newest.locator("h1").textContent(), /^onnxruntime \d/);
  await close(newest);
  await close(page);
});

/** A model of one node, written by hand: IR 8, opset 13, y = Relu(x) with x and y float[2]. */
function relu() {
  const bytes = (field, ...parts) => {
    const body = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
    return Buffer.concat([Buffer.from([field << 3 | 2, body.length]), body]);
  };
  const number = (field, value) => Buffer.from([field << 3, value]);
  const value = (name) => [bytes(1, name), bytes(2, bytes(1, number(1, 1), bytes(2, bytes(1, number(1, 2)))))];
  const node = bytes(1, bytes(1, "x"), bytes(2, "y"), bytes(4, "Relu"));
  const graph = bytes(7, node, bytes(2, "g"), bytes(11, ...value("x")), bytes(12, ...value("y")));
  return Buffer.concat([number(1, 8), graph, bytes(8, bytes(1, ""), number(2, 13))]);
}

const computed = { skip: hasModule() ? false : "the target wasm32-unknown-unknown is not installed" };

test("a model that is dropped is checked, and converted", computed, async () => {
  const page = await open("#/model");
  assert.equal(await page.evaluate(() => document.querySelector("script[src*='module.js'][src^='data']")), null);
  await page.setInputFiles("#model-file", { name: "a<b>.onnx", mimeType: "application/octet-stream", buffer: relu() });
  await page.waitForSelector("#on-runtimes");
  const text = await page.locator("#model-result").textContent();
  assert.match(text, /^a<b>\.onnx: valid/);
  assert.match(text, /1 node of 1 operator version/);
  assert.match(text, /onnxruntime 1\.32\.0 runs/);
  assert.equal(await page.locator("#on-runtimes details").first().locator("a").first().textContent(), "Relu-13");
  assert.deepEqual(await page.locator("#graph .box text").allTextContents(), ["✓ Relu", "x", "y"]);
  assert.ok(await page.locator(".runtime-strip button").count() > 10);
  assert.match(await page.locator("#kinds-sentence").textContent(), /1 of 1 kind of nodes run\.$/);
  await page.locator("#graph .box", { hasText: "Relu" }).click();
  assert.match(await page.locator(".node-facts").textContent(), /Relu-13.*x float\[2\].*y float\[2\]/);
  assert.match(page.url(), /kinds=Relu-13/, "the address has the operator versions, not the model");
  assert.equal(await page.locator("#opsets button[aria-pressed]").nth(12).getAttribute("title"), "opset 13: opset of the model");
  await page.locator("#opsets button[aria-pressed]").nth(13).click();
  assert.equal(await page.inputValue("#convert-opset"), "14");
  await page.getByRole("button", { name: "Convert", exact: true }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /^Download/ }).click()]);
  assert.match(await page.locator("#convert-result").textContent(), /verified: .* outputs on 3 of 3 inputs/);
  assert.match(await page.locator("#opsets button[aria-pressed='true']").getAttribute("title"), /^opset 14: (no node has to change|converts with edits)$/);
  assert.deepEqual(await page.locator("#graph-pair .graph-panel h3").allTextContents(), ["Before: 1 node, 1 changed (Δ)", "At opset 14: 1 node, 1 changed (Δ)"]);
  const converted = readFileSync(await download.path());
  assert.ok(converted.includes("Relu") && converted.length > 20);
  assert.match(download.suggestedFilename(), /opset14\.onnx$/);
  await close(page);
});

test("a model can be dropped on any page", async () => {
  const page = await open("#/op/ai.onnx/Abs");
  const drop = (bytes) => page.evaluate((all) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(all)], "dropped.onnx"));
    window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
  }, [...bytes]);
  await drop(relu());
  await page.waitForFunction(() => document.querySelector("main h1").textContent === "Drop a model");
  if (hasModule()) {
    await page.waitForSelector("#graph");
    assert.match(await page.locator("#model-result").textContent(), /^dropped\.onnx: valid/);
    await drop(Buffer.from("not a model"));
    await page.waitForFunction(() => !document.querySelector("#graph") && !/Reading/.test(document.querySelector("#model-result").textContent));
    assert.ok(!page.url().includes("kinds="), page.url());
  }
  await close(page);
});

test("a model of 200 MB is checked, or a sentence says why not", computed, async () => {
  const page = await open("#/model");
  await page.evaluate((model) => {
    const varint = (number) => (number < 128 ? [number] : [(number % 128) + 128, ...varint(Math.floor(number / 128))]);
    const size = 200 << 20;
    // A second part of the graph, with an initializer: its dimension, element type, name and data.
    const tensor = [1 << 3, ...varint(size / 4), 2 << 3, 1, (8 << 3) | 2, 1, 119, (9 << 3) | 2, ...varint(size)];
    const graph = [(5 << 3) | 2, ...varint(tensor.length + size), ...tensor];
    const part = [(7 << 3) | 2, ...varint(graph.length + size), ...graph];
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array([...model, ...part]), new Uint8Array(size)], "large.onnx"));
    window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
  }, [...relu()]);
  const ended = () => /^large\.onnx(: | was not checked: )/.test(document.getElementById("model-result")?.textContent || "");
  await page.waitForFunction(ended, null, { timeout: 60_000 });
  assert.match(await page.locator("#model-result").textContent(), /^large\.onnx(: valid| was not checked: .+\.$)/);
  assert.equal(await page.locator("main h1").textContent(), "Drop a model");
  await close(page);
});

test("a site without the program for browsers says so, and which one has it", async () => {
  const page = await open("#/");
  for (const [address, heading] of [["#/model", "Drop a model"], ["#/op/ai.onnx/Softmax?play=last_axis_by_default", "Softmax"]]) {
    await page.evaluate((to) => site.front().then((front) => { front.module = 0; location.hash = to; }), address);
    // Both pages have a notice, and the second replaces the first only when its data is there.
    await page.locator("main h1", { hasText: heading }).waitFor();
    const notice = page.locator("main .notice", { hasText: "cannot compute" });
    assert.match(await notice.textContent(), /pip install onnx-conformance.*report --module FILE/, address);
  }
  await close(page);
});

test("any case is made in the browser", computed, async () => {
  const page = await open("#/case/ai.onnx/Sum-8/broadcast_known_values/T=double");
  assert.equal(await page.locator("#case-title").textContent(), "A case of this behaviour");
  await page.getByRole("button", { name: "Make this case here" }).click();
  await page.waitForFunction(() => document.getElementById("case-title").textContent === "The case");
  assert.match(await page.locator("#made-case pre").textContent(), /opset ai\.onnx 8[\s\S]*tensor\(double\)[\s\S]*expected/);
  await close(page);
});

test("what is no model, and a hostile one, end in a message", computed, async () => {
  const page = await open("#/model");
  const give = (buffer) => page.setInputFiles("#model-file", { name: "bad.onnx", mimeType: "application/octet-stream", buffer });
  await give(Buffer.from("not a model"));
  await page.waitForFunction(() => /not an ONNX model|holds|malformed|text/i.test(document.querySelector("#model-result").textContent) && !/Reading/.test(document.querySelector("#model-result").textContent));
  // Graphs in attributes of nodes in graphs, deeper than any decoder goes.
  let deep = Buffer.from([]);
  const field = (tag, body) => {
    const size = [];
    for (let rest = body.length; ; rest >>>= 7) {
      size.push(rest > 127 ? rest & 127 | 128 : rest);
      if (rest <= 127) break;
    }
    return Buffer.concat([Buffer.from([tag << 3 | 2, ...size]), body]);
  };
  for (let depth = 0; depth < 20_000; depth += 1) deep = field(depth % 3 === 0 ? 1 : depth % 3 === 1 ? 5 : 6, deep);
  await give(field(7, deep));
  await page.waitForFunction(() => !/Reading|not a model/.test(document.querySelector("#model-result").textContent));
  assert.notEqual((await page.locator("#model-result").textContent()).trim(), "");
  // The page still works, and what takes too long is ended.
  await give(relu());
  await page.waitForSelector("#on-runtimes");
  await page.evaluate(() => { site.limit = 1; });
  const slow = "<ir_version: 10, opset_import: [\"\" : 21]> g () => (float y) { y = Constant <value = float {1.0}> () }";
  const answer = await page.evaluate((model) => site.ask({ do: "run", operator: "ai.onnx/Relu", versions: Array(2000).fill(21), model, inputs: "" }).then(() => "done", (error) => error.message), slow);
  assert.match(answer, /was stopped/);
  await page.evaluate(() => { delete site.limit; });
  await give(relu());
  await page.waitForSelector("#on-runtimes");
  await close(page);
});

test("a case is edited and run with versions side by side", computed, async () => {
  const page = await open("#/op/ai.onnx/Softmax");
  await page.click("#play-open");
  await page.waitForSelector("#play-model");
  assert.equal(await page.locator("#choose-play").inputValue(), "rest_from_1", "the case of the silent change");
  assert.deepEqual(await page.locator(".play input[type=checkbox]:checked").evaluateAll((boxes) => boxes.map(({ value }) => value)), ["11", "13"]);
  await page.fill("#play-model", "<ir_version: 8, opset_import: [\"\" : 13]> g (float[1,2,2] x) => (float[1,2,2] y) { y = Softmax (x) }");
  await page.fill("#play-inputs", "float[1,2,2] x = {0, 0, 0, 0}");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForSelector(".runs");
  const cells = await page.locator(".runs td pre").allTextContents();
  assert.deepEqual(cells.slice(-2), ["float[1,2,2] {0.25, 0.25, 0.25, 0.25}", "float[1,2,2] {0.5, 0.5, 0.5, 0.5}"]);
  assert.match(await page.locator(".runs").textContent(), /other than Softmax-13/);
  await page.fill("#play-inputs", "float[1,2,2] x = {0, 0}");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForSelector("#play-result .notice");
  assert.match(await page.locator("#play-result").textContent(), /inputs: .*4|2 values/);
  await close(page);
});
