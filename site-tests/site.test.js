// The site in Chromium: what a reader does, in light and dark, wide and narrow, with and without a mouse.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { HOSTILE, hasModule, launch, site } from "./browser.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CASE = "ai.onnx/Abs-13/ranks/X=2x3x4/T=float";
const PATTERN = "transposes/transposed_operand_of_product";
const PAGES = ["#/", "#/op/ai.onnx/Conv", "#/op/ai.onnx/Resize?v=13&type=float16&with=mode=cubic", "#/op/ai.onnx/Cast?types=onnxruntime-1.32.0", "#/op/ai.onnx/Abs?on=own-0.1.0&b=ranks", `#/case/${CASE}`, "#/runtimes", "#/about", "#/disagreements", "#/compare", "#/compare/onnxruntime-1.20.1/onnxruntime-1.32.0", "#/findings", "#/finding/onnxruntime/gather-strings", "#/rules?at=rule-node/type", "#/model", "#/op/ai.onnx/Softmax?play=last_axis_by_default", "#/graphs", `#/graphs?topic=transposes&open=${PATTERN}`, `#/case/graph/${PATTERN}/near/vector_behind/T=float`];
let browser;
let home;

before(async () => {
  home = site();
  browser = await launch();
});

after(() => browser?.close());

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

test("every operator has a page", async () => {
  const page = await open("#/");
  const failed = await page.evaluate(async () => {
    const front = await site.front();
    const wrong = [];
    for (const operator of front.operators) {
      const name = `${front.domains[operator.d].name}/${operator.n}`;
      location.hash = `#/op/${name}`;
      const limit = Date.now() + 30_000;
      const shown = () => document.querySelector("main h1")?.textContent === `${operator.n}-${operator.v.at(-1).since}`;
      while (!shown() && Date.now() < limit) await new Promise((resolve) => { setTimeout(resolve, 5); });
      if (!shown()) wrong.push(name);
    }
    return wrong;
  });
  assert.deepEqual(failed, []);
  await close(page);
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
    for (const address of [...PAGES, "#/runtime/own-0.1.0"]) {
      const page = await open(address, options);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], preload: false }));
      found.push(...violations.map(({ id, nodes }) => `${address} ${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`));
      await close(page);
    }
    assert.deepEqual(found, []);
  });
}

test("a phone scrolls down, not sideways", async () => {
  const wide = [];
  for (const address of PAGES) {
    const page = await open(address, { viewport: { width: 390, height: 800 } });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) wide.push(`${address} is ${width} wide`);
    await close(page);
  }
  assert.deepEqual(wide, []);
});

test("no page of an operator scrolls sideways on a phone", async () => {
  const page = await open("#/", { viewport: { width: 390, height: 800 } });
  const wide = await page.evaluate(async () => {
    const front = await site.front();
    const found = [];
    for (const operator of front.operators) {
      const turn = document.body.dataset.ready;
      location.hash = site.operatorHref(front.domains[operator.d].name, operator.n);
      while (document.body.dataset.ready === turn) await new Promise((resolve) => { setTimeout(resolve, 5); });
      const width = document.documentElement.scrollWidth;
      if (width > 390) found.push(`${operator.n} is ${width} wide`);
    }
    return found;
  });
  assert.deepEqual(wide, []);
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
  await page.fill("#convert-opset", "14");
  await page.getByRole("button", { name: "Convert" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /^Download/ }).click()]);
  assert.match(await page.locator("#convert-result").textContent(), /verified: .* outputs on 3 of 3 inputs/);
  const converted = readFileSync(await download.path());
  assert.ok(converted.includes("Relu") && converted.length > 20);
  assert.match(download.suggestedFilename(), /opset14\.onnx$/);
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
  assert.match(answer, /was ended/);
  await page.evaluate(() => { delete site.limit; });
  await give(relu());
  await page.waitForSelector("#on-runtimes");
  await close(page);
});

test("a case is edited and run with versions side by side", computed, async () => {
  const page = await open("#/op/ai.onnx/Softmax");
  await page.click("#play-open");
  await page.waitForSelector("#play-model");
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
