"use strict";

/** What is computed in this browser: the checker and the executor as WebAssembly, in a worker that can be ended. */
(() => {
  /** How long an answer may take; the program itself gives up somewhat earlier, with a better message. */
  const LIMIT = 30_000;
  let worker = null;
  let compiled = null;
  let last = 0;
  let waiting = null;

  /** What runs in the worker. It is made from its text, since a page that is opened from a file may not load workers. */
  function work() {
    let program = null;
    const encoder = new TextEncoder();
    const decoder = new TextDecoder();
    self.onmessage = async ({ data }) => {
      if (data.module) {
        program = WebAssembly.instantiate(data.module, { page: { now: () => performance.now() } });
        program.catch((error) => self.postMessage({ problem: String(error) }));
        return;
      }
      try {
        const { memory, reserve, respond, answer_length: length } = (await program).exports;
        const head = encoder.encode(JSON.stringify(data.request));
        const file = new Uint8Array(data.file || 0);
        const at = reserve(4 + head.length + file.length) >>> 0;
        new DataView(memory.buffer).setUint32(at, head.length, true);
        new Uint8Array(memory.buffer, at + 4).set(head);
        new Uint8Array(memory.buffer, at + 4 + head.length).set(file);
        const from = respond() >>> 0;
        const answer = new Uint8Array(memory.buffer, from, length() >>> 0);
        const size = new DataView(memory.buffer, from).getUint32(0, true);
        const text = JSON.parse(decoder.decode(answer.subarray(4, 4 + size)));
        const bytes = answer.slice(4 + size);
        self.postMessage({ id: data.id, answer: text, bytes }, [bytes.buffer]);
      } catch (error) {
        self.postMessage({ id: data.id, problem: error instanceof RangeError ? "it takes more memory, or nests deeper, than there is room for here"
          : error instanceof WebAssembly.RuntimeError ? `the program ended (${error.message}): it takes more memory, or nests deeper, than there is room for here` : String(error) });
      }
    };
  }

  async function compile() {
    const { module } = await site.front();
    const parts = await Promise.all(Array.from({ length: module }, (_, at) => site.load(`module/${at}`)));
    const packed = parts.map(({ gzip }) => Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0)));
    const stream = new Blob(packed).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  }

  function start(module) {
    const address = URL.createObjectURL(new Blob([`"use strict";(${work})();`], { type: "text/javascript" }));
    const made = new Worker(address);
    URL.revokeObjectURL(address);
    made.onmessage = ({ data }) => {
      if (!waiting || (data.id !== undefined && data.id !== waiting.id)) return;
      if (data.problem) end(data.problem);
      else finish().resolve(data);
    };
    made.onerror = (event) => end(event.message || "the worker ended");
    made.postMessage({ module });
    return made;
  }

  function finish() {
    const done = waiting;
    clearTimeout(done.timer);
    waiting = null;
    return done;
  }

  /** Ends the worker, and with it what it was at. */
  function end(why) {
    worker?.terminate();
    worker = null;
    if (waiting) finish().reject(new Error(why));
  }

  /** Whether this site has the program. */
  site.hasModule = (front) => front.module > 0;

  /** The answer to a request, with the bytes that belong to it. A request that is followed by another is given up. */
  site.ask = async (request, file) => {
    if (waiting) end("another request came");
    compiled ||= compile();
    compiled.catch(() => { compiled = null; });
    const module = await compiled;
    if (waiting) end("another request came");
    worker ||= start(module);
    return new Promise((resolve, reject) => {
      const id = ++last;
      const timer = setTimeout(() => end(`it had no answer after ${LIMIT / 1000} seconds, and was ended`), site.limit || LIMIT);
      waiting = { id, resolve, reject, timer };
      worker.postMessage({ id, request, file }, file ? [file] : []);
    });
  };

  /** What is shown where the program is not part of the site. */
  site.withoutModule = () => site.el("p", { class: "notice" }, "These pages were made without the program that computes in the browser. ",
    site.code("cargo xtask site"), " makes them with it, where ", site.code("rustup target add wasm32-unknown-unknown"), " was run.");
})();
