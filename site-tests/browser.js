// A site made for the tests, and Chromium to look at it with.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const home = join(process.env.CARGO_TARGET_DIR || join(root, "target"), "site-tests");

/** What must stay text wherever it is shown. */
export const HOSTILE = "</script><img src=x onerror=\"window.hacked = true\"><script>window.hacked = true</script>";

/** Whether Rust is there for browsers, so that the site has what is computed in them. */
export function hasModule() {
  const { stdout } = spawnSync("rustc", ["--print", "target-libdir", "--target", "wasm32-unknown-unknown"], { encoding: "utf8" });
  return existsSync((stdout || "").trim());
}

function call(program, ...rest) {
  const { status, stdout, stderr } = spawnSync(program, rest, { encoding: "utf8", cwd: root });
  if (status !== 0) throw new Error(`${program} ${rest.join(" ")} ended with ${status}: ${stdout}${stderr}`);
}

/** Writes a site with a runtime of its own, whose failures have a hostile message, and gives the address of its front page. */
export function site() {
  const program = process.env.ONNX_CONFORMANCE || join(home, "..", "debug", "onnx-conformance");
  mkdirSync(home, { recursive: true });
  const [results, folder] = [join(home, "results.jsonl"), join(home, "site")];
  call(program, "run", "ai.onnx/{Abs-13,Sum-13}/**", "--results", results);
  const lines = readFileSync(results, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  lines[0].runtime.name = "own";
  for (const line of lines.slice(1)) {
    if (line.id.includes("ai.onnx/Abs-13/ranks/")) Object.assign(line, { outcome: "mismatch", message: HOSTILE, ulps: undefined });
    // Only a result with a distance is inexact; the others are wrong.
    if (line.id === "ai.onnx/Abs-13/ranks/X=2x3x4/T=float") line.ulps = 7;
  }
  writeFileSync(results, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  call("cargo", "run", "--quiet", "--package", "xtask", "--", "site", results, "-o", folder);
  return pathToFileURL(join(folder, "index.html")).href;
}

/** Starts Chromium: the one that is installed, or the one that CHROMIUM names. */
export function launch() {
  const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const executablePath = places.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("there is no Chromium; install the package chromium, or name one in CHROMIUM");
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
