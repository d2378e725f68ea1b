/** Log lines: JSON on standard error, named fields only, so that nothing is logged by accident. */
import { type Logger, pino } from "pino";

export type { Logger };

/** A logger for one process. `level` is pino's: `info` in service, `silent` in tests that read no log. */
export function createLogger(options: { name: string; level: string }): Logger {
  return pino({ name: options.name, level: options.level, base: { pid: process.pid } }, pino.destination(2));
}
