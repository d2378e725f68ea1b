/** Writes log lines: JSON on standard error, named fields only, scrubbed on output to keep secrets out. */
import { pino } from "pino";
import { type LogFields, showFields } from "./log-fields.ts";
import { scrub } from "./scrub.ts";

/** Writes a line of one level: its fields, and a fixed sentence. */
type WriteLine = {
  (fields: LogFields, message: string): void;
  (message: string): void;
};

/** Writes lines. Fields that are not on the list of log-fields.ts are dropped, and their names logged as `dropped`. */
export type Logger = Readonly<Record<"debug" | "info" | "warn" | "error", WriteLine>> & {
  /** Returns a logger whose lines all carry these fields as well. */
  child(fields: LogFields): Logger;
};

/** Creates a logger. `level` is pino's. `write` receives the lines instead of standard output. */
export function createLogger(options: {
  name: string;
  level: string;
  write?: (line: string) => void;
  /** Receives the names of fields that are not on the list, instead of the line; for tests, which throw. */
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
      // Milliseconds since 1970 have thirteen digits, of which every tenth number could be a card's.
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: show },
      // Pino's own would describe an error that is already described.
      serializers: { err: (shown) => shown },
    },
    { write: (line) => write(scrub(line)) },
  );
  return onLines(lines, show);
}

/** Formats the fields before pino gets them, since pino calls no formatter for a child's fields. */
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
  // Synchronous, so that the last line of an ending process is written, and after the others.
  const standardError = pino.destination({ dest: 2, sync: true });
  return (line) => standardError.write(line);
}
