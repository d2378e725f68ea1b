/** Removes what a benchmark has left in its folder, and the servers that it has left running there. */
import { readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { discardServer, loadRecord } from "../../demo/server-record.ts";

// Where a private PostgreSQL of root has its data (demo/postgres-home.ts); each place says in a file whose it is.
const systemStateFolder = "/var/lib/switchyard";
const removalTriesMax = 10;

/** Stops every private server whose record is in the folder or below, and removes the folder and their data. */
export async function clearScratch(folder: string): Promise<void> {
  const place = realpathSync(folder);
  for (const record of recordsIn(place)) await discardServer(record, "SIGINT");
  for (const data of placesOf(place)) rmSync(data, { recursive: true, force: true });
  // A role that stops by itself may still write its log.
  rmSync(folder, { recursive: true, force: true, maxRetries: removalTriesMax });
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
    // Some other file of JSON, or none.
    return false;
  }
}

function placesOf(folder: string): string[] {
  const names = readOrNothing(() => readdirSync(systemStateFolder)) ?? [];
  return names
    .map((name) => join(systemStateFolder, name))
    .filter((place) => {
      const told = readOrNothing(() => readFileSync(join(place, "README"), "utf8"));
      const owner = /^The private PostgreSQL of (.*)\. Remove/.exec(told ?? "")?.[1];
      return owner === folder || owner?.startsWith(join(folder, "/"));
    });
}

function readOrNothing<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    // Not there: nobody is root here, or somebody else has removed it.
    return undefined;
  }
}
