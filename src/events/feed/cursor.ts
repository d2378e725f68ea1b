/** Cursors of events, as callers keep them: for each cell, the last event that was read there. They grant nothing. */
import { createHash } from "node:crypto";
import { DomainError } from "../../platform/errors.ts";
import type { EventKey } from "./read-feed.ts";

/** A cursor's position in one cell. */
export type CursorEntry = EventKey & { readonly cell: number; readonly epoch: Buffer };

const version = 1;
const epochBytes = 8;
const idBytes = 16;
const entryBytes = 1 + epochBytes + 2 * idBytes;

/** Returns an epoch's name as a cursor has it. */
export function shortEpoch(epoch: string): Buffer {
  return createHash("sha256").update(epoch).digest().subarray(0, epochBytes);
}

/** Returns opaque base64url. A cell without an entry is read from its beginning. */
export function encodeCursor(entries: readonly CursorEntry[]): string {
  const parts = entries.flatMap(({ cell, epoch, sessionId, eventId }) => [
    Buffer.from([cell]),
    epoch,
    ...[sessionId, eventId].map((id) => Buffer.from(id.replaceAll("-", ""), "hex")),
  ]);
  return Buffer.concat([Buffer.from([version]), ...parts]).toString("base64url");
}

/** Throws `invalid_parameter` for a text that is no cursor. */
export function decodeCursor(text: string): CursorEntry[] {
  const bytes = Buffer.from(text, "base64url");
  const isCursor =
    bytes.toString("base64url") === text && bytes[0] === version && (bytes.length - 1) % entryBytes === 0;
  if (!isCursor) throw new DomainError("invalid_parameter", "cursor is no cursor of an event.", { field: "cursor" });
  return Array.from({ length: (bytes.length - 1) / entryBytes }, (_, index) => {
    const entry = bytes.subarray(1 + index * entryBytes);
    const [sessionAt, eventAt] = [1 + epochBytes, 1 + epochBytes + idBytes];
    return {
      cell: entry[0]!,
      epoch: entry.subarray(1, sessionAt),
      sessionId: uuidOf(entry.subarray(sessionAt, eventAt)),
      eventId: uuidOf(entry.subarray(eventAt, eventAt + idBytes)),
    };
  });
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
