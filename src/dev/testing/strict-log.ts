/** A log for tests: it prints nothing, and a line with a forbidden field fails the test. */
import { createLogger, type Logger } from "../../platform/log.ts";

/** Formats every line, and passes it to `write` if a test reads them. */
export function createStrictLog(write: (line: string) => void = () => {}): Logger {
  return createLogger({
    name: "test",
    level: "debug",
    write,
    onDropped: (names) => {
      throw new Error(`a log line must not have these fields: ${names.join(", ")} (src/platform/log-fields.ts)`);
    },
  });
}
