/** Scrubs the output of a service process besides its log lines: text of libraries, warnings and its last output. */
import type { Logger } from "./log.ts";
import { scrub } from "./scrub.ts";

type Write = NodeJS.WriteStream["write"];

/** Scrubs everything written to this process's standard output and error from now on. Called once. */
export function scrubOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...parts: unknown[]) => boolean;
    const scrubbed = (chunk: string | Uint8Array, ...rest: unknown[]) =>
      write(scrub(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()), ...rest);
    stream.write = scrubbed as Write;
  }
}

/** Writes Node's warnings and an uncaught error as log lines, and lets the process end as it would. */
export function logLastWords(log: Pick<Logger, "warn" | "error">): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning) => log.warn({ err: warning }, "Node warns"));
  process.on("uncaughtException", (error) => {
    log.error({ err: error }, "the process ends because of an uncaught error");
    process.exit(1);
  });
}
