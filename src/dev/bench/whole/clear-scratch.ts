/** Removes the files of a benchmark from its folder, and stops the servers that it has left running there. */
import { readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { discardServer, loadRecord } from "../../../demo/server-record.ts";

// The data folder of a private PostgreSQL of root (demo/postgres-home.ts); a file in each names its owner.
const systemStateFolder = "/var/lib/switchyard";
const removalRetriesMax = 10;

/** Stops every private server whose record is in the folder or below, and removes the folder and their data. */
export async function clearScratch(folder: string): Promise<void> {
  const place = realpathSync(folder);
  for (const record of recordsIn(place)) await discardServer(record, "SIGINT");
  for (const data of dataFoldersOf(place)) rmSync(data, { recursive: true, force: true });
  // A role that stops by itself may still write its log.
  rmSync(folder, { recursive: true, force: true, maxRetries: removalRetriesMax });
}

function recordsIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return files.filter((file) => file.endsWith(".json") && isRecord(file));
}

function isRecord(file: string): boolean {
  try {
    const record = loadRecord(file);
    return typeof record?.dataFolder === "string" && typeof record.port === "number";
  } catch {
    // Another JSON file, or none.
    return false;
  }
}

function dataFoldersOf(folder: string): string[] {
  const names = readOrNothing(() => readdirSync(systemStateFolder)) ?? [];
  return names
    .map((name) => join(systemStateFolder, name))
    .filter((place) => {
      const readme = readOrNothing(() => readFileSync(join(place, "README"), "utf8"));
      const owner = /^The private PostgreSQL of (.*)\. Remove/.exec(readme ?? "")?.[1];
      return owner === folder || owner?.startsWith(join(folder, "/"));
    });
}

function readOrNothing<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    // Missing: the user is not root, or another process has removed it.
    return undefined;
  }
}
