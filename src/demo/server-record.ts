/** The record of a private server between starts: port, passwords, processes; mode 0600. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CannotStart, stopServer } from "./detached-server.ts";
import { isAlive, markOf, type ProcessMark } from "./process-mark.ts";

/** A private server as its starter left it. `server` is absent while it is stopped. */
export type ServerRecord = {
  readonly dataFolder: string;
  readonly port: number;
  readonly passwords: Readonly<Record<string, string>>;
  readonly server?: ProcessMark | undefined;
  readonly starter?: ProcessMark | undefined;
};

/** Reads a record; undefined if there is none yet. Throws CannotStart if the file is not a record. */
export function loadRecord(recordFile: string): ServerRecord | undefined {
  let text: string;
  try {
    text = readFileSync(recordFile, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as ServerRecord;
  } catch (error) {
    throw new CannotStart(`${recordFile} is not valid JSON. Correct it, or remove it with the data beside it.`, {
      cause: error,
    });
  }
}

/** Writes a record so that a crash leaves either the old or the new one, readable by its owner only. */
export function saveRecord(recordFile: string, record: ServerRecord): void {
  mkdirSync(dirname(recordFile), { recursive: true });
  const fresh = `${recordFile}.new`;
  writeFileSync(fresh, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  chmodSync(fresh, 0o600);
  renameSync(fresh, recordFile);
}

export function startedByUs(record: ServerRecord, server: ProcessMark): ServerRecord {
  return { ...record, server, starter: markOf(process.pid) };
}

/**
 * Prepares a start: stops a server whose starter died without stopping it. Throws CannotStart if its starter is alive,
 * because it is in use then.
 */
export async function clearOrphan(name: string, record: ServerRecord, signal: NodeJS.Signals): Promise<void> {
  const { server, starter } = record;
  if (server === undefined || !isAlive(server)) return;
  if (starter !== undefined && isAlive(starter)) {
    throw new CannotStart(
      `${name} is already running (pid ${server.pid}), started by process ${starter.pid}. Stop that process first.`,
    );
  }
  await stopServer(server, signal);
}

/** Stops the server of a record, regardless of its starter, and removes its data and the record. Its log stays. */
export async function discardServer(recordFile: string, signal: NodeJS.Signals): Promise<void> {
  const record = loadRecord(recordFile);
  if (record === undefined) return;
  if (record.server !== undefined) await stopServer(record.server, signal);
  // These folders were about to become the data folder when the process that made them died.
  const remains = ["", ".new", ".password"].map((ending) => record.dataFolder + ending);
  for (const path of [...remains, recordFile]) rmSync(path, { recursive: true, force: true });
}
