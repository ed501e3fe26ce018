"use strict";

/** Computation in this browser: the checker and the executor as WebAssembly, in a worker that can be stopped. */
(() => {
  /** Time limit of an answer. The program itself gives up earlier, with a better message. */
  const LIMIT = 30_000;
  let worker = null;
  let compiled = null;
  let last = 0;
  let waiting = null;

  /** Code of the worker. It is created from its text, since a page that is opened from a file may not load workers. */
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
        self.postMessage({ id: data.id, problem: error instanceof RangeError ? "the model needs more memory, or is nested deeper, than a browser allows"
          : error instanceof WebAssembly.RuntimeError ? `the program ended (${error.message}): the model needs more memory, or is nested deeper, than a browser allows` : String(error) });
      }
    };
  }

  /** Parts of a browser that the program needs. */
  const NEEDED = ["WebAssembly", "DecompressionStream", "Worker"];

  async function compile() {
    const missing = NEEDED.find((name) => typeof window[name] === "undefined");
    if (missing) throw new Error(`this browser cannot compute, since it has no ${missing}; the program does the same in a terminal`);
    const { module } = await site.front();
    const parts = await Promise.all(Array.from({ length: module }, (_, at) => site.load(`module/${at}`)));
    const packed = parts.map(({ gzip }) => Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0)));
    const stream = new Blob(packed).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = await new Response(stream).arrayBuffer();
    return WebAssembly.compile(bytes).catch((error) => {
      throw new Error(`this browser cannot compute: its WebAssembly lacks a feature that the program needs (${error.message})`);
    });
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

  /** Stops the worker and its current request. */
  function end(why) {
    worker?.terminate();
    worker = null;
    if (waiting) finish().reject(new Error(why));
  }

  /** True if this site has the program. */
  site.hasModule = (front) => front.module > 0;

  /** The answer to a request, with the bytes that belong to it. A later request cancels an earlier one. */
  site.ask = async (request, file) => {
    if (waiting) end("another request was made");
    compiled ||= compile();
    compiled.catch(() => { compiled = null; });
    const module = await compiled;
    if (waiting) end("another request was made");
    worker ||= start(module);
    return new Promise((resolve, reject) => {
      const id = ++last;
      const timer = setTimeout(() => end(`there was no answer after ${LIMIT / 1000} seconds, so it was stopped`), site.limit || LIMIT);
      waiting = { id, resolve, reject, timer };
      worker.postMessage({ id, request, file }, file ? [file] : []);
    });
  };

  /** Notice on a site without the program. */
  site.withoutModule = () => site.el("p", { class: "notice" }, "This site cannot compute in a browser, since it was written without the program for that; the package of ",
    site.code("pip install onnx-conformance"), " writes it into a site, and so does ", site.code("report --module FILE"), ".");
})();
