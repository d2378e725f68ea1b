/** Log lines: JSON on standard error, named fields only, so that nothing is logged by accident. */
import { type Logger, pino, stdSerializers } from "pino";

export type { Logger };

/** A logger for one process. `level` is pino's: `info` in service, `silent` in tests that read no log. */
export function createLogger(options: { name: string; level: string }): Logger {
  const serializers = { err: describeError };
  return pino(
    { name: options.name, level: options.level, base: { pid: process.pid }, serializers },
    pino.destination(2),
  );
}

/** An error as lines show it: its other members stay out, for PostgreSQL puts whole rows into them. */
export type ErrorShown = {
  readonly type: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
};

/** What a line tells of anything that was thrown; the messages and stacks of its causes are in its own. */
export function describeError(thrown: unknown): ErrorShown {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { type, message, stack, code, constraint } = stdSerializers.err(error);
  return { type, message, stack, code, constraint };
}
