/** Time, randomness and new ids of the domain: injected, so that a simulation can replay a run. */
import { randomBytes } from "node:crypto";
import { v7 } from "uuid";
import { firstCell, inCell } from "./cells.ts";

/** The source of every timestamp, random byte and id of the domain. */
export type Runtime = {
  /** Returns the process's clock. SQL uses `app.clock()` instead, which is the only clock for rules about money. */
  now(): Date;
  randomBytes(count: number): Uint8Array;
  /** Returns a new UUIDv7: ordered by creation time, so that indexes grow at their end. Its last bits name a cell. */
  uuid(): string;
};

export const systemRuntime: Runtime = {
  now: () => new Date(),
  randomBytes: (count) => randomBytes(count),
  uuid: () => inCell(v7(), firstCell),
};

/** Returns the runtime of one cell, whose ids name it. */
export function runtimeOfCell(cell: number): Runtime {
  return { ...systemRuntime, uuid: () => inCell(v7(), cell) };
}
