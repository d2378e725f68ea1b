/** Bounds the bodies with files that a server reads at once. */
import { DomainError } from "./errors.ts";

export type FileBodies = {
  /** Admits a body until the answer is over. Throws `rate_limited` while there are too many. */
  admit(response: { once(event: "close", over: () => void): unknown }): void;
};

export function createFileBodies(max: number): FileBodies {
  let running = 0;
  return {
    admit(response) {
      if (running >= max)
        throw new DomainError("rate_limited", "Too many files arrive at this moment. Send it again in a second.");
      running++;
      response.once("close", () => running--);
    },
  };
}
