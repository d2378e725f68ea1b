/** What a service process writes beside its log lines: text of libraries, warnings and its last words, all of it scrubbed. */
import type { Logger } from "./log.ts";
import { scrub } from "./scrub.ts";

type Write = NodeJS.WriteStream["write"];

/** Scrubs what is written to this process's standard output and error from now on, whoever writes it. Once is enough. */
export function scrubOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...parts: unknown[]) => boolean;
    const scrubbed = (chunk: string | Uint8Array, ...rest: unknown[]) =>
      write(scrub(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()), ...rest);
    stream.write = scrubbed as Write;
  }
}

/**
 * Has Node's warnings and an error that nobody caught written as log lines: Node would print them past every stream. The
 * process then ends as it would have without us.
 */
export function logLastWords(log: Pick<Logger, "warn" | "error">): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning) => log.warn({ err: warning }, "Node warns"));
  process.on("uncaughtException", (error) => {
    log.error({ err: error }, "the process ends by an error that nobody caught");
    process.exit(1);
  });
}
