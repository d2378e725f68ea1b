/** Time, randomness and new ids as the domain sees them: injected, so that a simulation can replay a run. */
import { randomBytes } from "node:crypto";
import { v7 } from "uuid";

/** Where every moment, random byte and id of the domain comes from. */
export type Entropy = {
  /** The process's clock. SQL asks `app.clock()` instead; rules about money use only that one. */
  now(): Date;
  randomBytes(count: number): Uint8Array;
  /** A new UUIDv7: ordered by creation time, so that indexes grow at their end. */
  uuid(): string;
};

/** The machine's own clock and random source. */
export const systemEntropy: Entropy = {
  now: () => new Date(),
  randomBytes: (count) => randomBytes(count),
  uuid: () => v7(),
};
