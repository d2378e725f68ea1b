import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

/** Runs a command of ours with a module that Node loads first. */
function runBehind(preload: string, [file, ...args]: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const imported = `data:text/javascript,${encodeURIComponent(preload)}`;
  const command = ["--disable-warning=ExperimentalWarning", "--import", imported, join(root, file!), ...args];
  return run(process.execPath, command, { env: {}, maxBuffer: 2 ** 26 }).catch((error) => error);
}

describe("a short-lived command", () => {
  // Node normalizes the path of the given file, character by character, before it runs a line of it: from some length
  // on, V8 optimizes functions of node:path for that, in any process. So V8's output counts from when Node has read our
  // file.
  const tracer = (file: string) => `import { registerHooks } from "node:module";
    import { setFlagsFromString } from "node:v8";
    registerHooks({ load(url, context, next) {
      const loaded = next(url, context);
      if (url.endsWith(${JSON.stringify(`/src/${file}`)})) setFlagsFromString("--trace-opt");
      return loaded;
    } });`;

  it.each([
    ["switchyard --help", ["main.mjs", "--help"]],
    ["switchyard with an unknown command", ["main.mjs", "unknown"]],
    ["a benchmark's help", ["dev/bench/main.ts", "webhooks", "--help"]],
  ])("leaves no function to V8's workers to optimize: %s", async (_what, command) => {
    const { stdout } = await runBehind(tracer(command[0]!), command);
    // V8 reports each function: [marking … for optimization to MAGLEV, ConcurrencyMode::kConcurrent, …]
    expect(stdout.match(/^.*ConcurrencyMode::kConcurrent.*$/gm)).toBe(null);
  });

  it("is distinguished from one that runs on, which V8 optimizes", async () => {
    const { stdout } = await runBehind(tracer("main.mjs"), ["main.mjs", "serve"]);
    expect(stdout).toContain("ConcurrencyMode::kConcurrent");
  });
});

describe("help", () => {
  const watcher = `import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ load: (url, context, next) => (seen.add(url), next(url, context)) });
    process.on("exit", () => process.stderr.write(JSON.stringify([...seen])));`;

  it.each([
    ["switchyard --help", ["main.mjs", "--help"]],
    ["a benchmark's help", ["dev/bench/main.ts", "webhooks", "--help"]],
  ])("loads no client library, no ORM and no protobuf: %s", async (_what, command) => {
    const { stderr } = await runBehind(watcher, command);
    const loaded = JSON.parse(stderr) as string[];
    expect(loaded.some((url) => url.includes("/node_modules/commander/"))).toBe(true);
    const heavy =
      /\/node_modules\/(@grpc\/grpc-js|undici|playwright-core|nats|esbuild|@mikro-orm|pg|@bufbuild|otpauth|uuid)\//;
    expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
  });
});

describe("exitSoon()", () => {
  /** A handler that never returns delays the exit, like a worker that never ends. */
  const script = (hangs: boolean) => `
    import { exitSoon } from ${JSON.stringify(join(root, "platform", "process-end.ts"))};
    if (${hangs}) process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    exitSoon(3);`;

  it.each([
    ["with its code where Node ends it", false, [3, null]],
    ["by SIGKILL where Node does not", true, [null, "SIGKILL"]],
  ])("ends the process %s", { timeout: 30_000 }, async (_how, hangs, end) => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script(hangs)], { env: {} });
    expect(await once(child, "exit")).toEqual(end);
  });
});
