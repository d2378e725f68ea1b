/** Log lines: JSON on standard error, named fields only, scrubbed as they leave, so that nothing is logged by accident. */
import { pino } from "pino";
import { type LogFields, showFields } from "./log-fields.ts";
import { scrub } from "./scrub.ts";

/** Writes a line of one level: what it is about, and a fixed sentence. */
export type WriteLine = {
  (fields: LogFields, message: string): void;
  (message: string): void;
};

/** Writes lines. Fields that are not on the list of log-fields.ts are dropped, and their names told as `dropped`. */
export type Logger = Readonly<Record<"debug" | "info" | "warn" | "error", WriteLine>> & {
  /** A logger whose lines all carry these fields as well. */
  child(fields: LogFields): Logger;
};

/** A logger for one process. `level` is pino's: `info` in service. `write` takes the lines instead of standard error. */
export function createLogger(options: {
  name: string;
  level: string;
  write?: (line: string) => void;
  /** Told of fields that are not on the list, instead of the line; for tests, which throw. */
  onDropped?: (names: readonly string[]) => void;
}): Logger {
  const { name, level, write = writeStandardError(), onDropped } = options;
  const show = (given: Record<string, unknown>) => {
    let dropped: readonly string[] = [];
    const shown = showFields(given, (names) => {
      dropped = names;
    });
    if (dropped.length === 0) return shown;
    onDropped?.(dropped);
    return { ...shown, dropped };
  };
  const lines = pino(
    {
      name,
      level,
      base: { pid: process.pid },
      // Milliseconds since 1970 are thirteen digits, of which every tenth number could be a card's.
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: show },
      // Pino's own would describe what is described already.
      serializers: { err: (shown) => shown },
    },
    { write: (line) => write(scrub(line)) },
  );
  return onLines(lines, show);
}

/** Pino asks no formatter about what a child's lines carry, so it is shown before. */
function onLines(lines: pino.Logger, show: (given: Record<string, unknown>) => Record<string, unknown>): Logger {
  return {
    debug: lines.debug.bind(lines),
    info: lines.info.bind(lines),
    warn: lines.warn.bind(lines),
    error: lines.error.bind(lines),
    child: (fields) => onLines(lines.child(show(fields)), show),
  };
}

function writeStandardError(): (line: string) => void {
  // At once, so that the last line of a process that ends is there, and after the others.
  const standardError = pino.destination({ dest: 2, sync: true });
  return (line) => standardError.write(line);
}
