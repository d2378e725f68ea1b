/** A log for tests: nothing is printed, and a line with a field that no line may carry fails the test. */
import { createLogger, type Logger } from "../platform/log.ts";

/** Formats every line, and gives it to `write` where a test reads them. */
export function createStrictLog(write: (line: string) => void = () => {}): Logger {
  return createLogger({
    name: "test",
    level: "debug",
    write,
    onDropped: (names) => {
      throw new Error(`no log line may carry: ${names.join(", ")} (src/platform/log-fields.ts)`);
    },
  });
}
