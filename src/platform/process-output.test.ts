import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const script = `
  const { createLogger } = await import(${JSON.stringify(join(import.meta.dirname, "log.ts"))});
  const { logLastWords, scrubOutput } = await import(${JSON.stringify(join(import.meta.dirname, "process-output.ts"))});
  scrubOutput();
  logLastWords(createLogger({ name: "edge", level: "info" }));
  console.log("a library prints 4242424242424242");
  process.stderr.write(Buffer.from("and so does 3782 822463 10005\\n"), () => {
    process.emitWarning("a warning about ada@example.com");
    setImmediate(() => Promise.reject(new Error("no customer ada@example.com, 5555-5555-5555-4444")));
  });`;

describe("a service process", () => {
  it("scrubs the output of libraries, Node's warnings and its own last output, and ends as it would have", async () => {
    const { code, out, err } = await new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      execFile(process.execPath, ["--input-type=module", "--eval", script], { env: {} }, (error, out, err) =>
        resolve({ code: error?.code ?? 0, out, err }),
      );
    });
    expect(out).toBe("a library prints ****\n");
    const [printed, warning, lastWords, ...rest] = err.split("\n");
    expect(printed).toBe("and so does ****");
    expect(JSON.parse(warning ?? "")).toMatchObject({
      level: 40,
      msg: "Node warns",
      err: { message: "a warning about ****@****" },
    });
    expect(JSON.parse(lastWords ?? "")).toMatchObject({
      level: 50,
      msg: "the process ends because of an uncaught error",
      err: { message: "no customer ****@****, ****", stack: expect.stringContaining("Error: no customer") },
    });
    expect(rest).toEqual([""]);
    expect(code).toBe(1);
  });
});
