/**
 * Two clients follow events from the first one on, while processes are killed 200 times at random moments: edges, the clients
 * and PostgreSQL. Figures are in docs/benchmarks.md.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { freePort } from "../demo/free-port.ts";
import { PostgresKeeper } from "../dev/simulation/chaos/server-keeper.ts";
import { Tally } from "../dev/simulation/chaos/tally.ts";
import { Dice } from "../dev/simulation/dice.ts";
import { Child } from "../dev/testing/child-process.ts";
import type { EventEdgeOrder } from "../dev/testing/edge/event-edge-process.ts";
import type { EventStoreOrder } from "../dev/testing/edge/event-store-process.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { testStateFolder } from "../dev/testing/test-run.ts";
import { encodeCursor } from "../events/feed/cursor.ts";
import { recordEvent, writeEventBody } from "../events/outbox.ts";
import { migrate } from "../migrations/migrate.ts";
import { provision } from "../migrations/provision.ts";
import { Database, isDatabaseDown } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";

const seed = 20_261_130;
const kills = { edge: 110, client: 70, PostgreSQL: 20 } as const;
type Victim = keyof typeof kills;
const [sessionCount, writerCount] = [24, 6];
// Of strikes: the others follow while what was killed before still starts.
const afterRecovery = 0.6;
const recovery = { timeout: 60_000, interval: 20 };

const edgeFile = new URL("../dev/testing/edge/event-edge-process.ts", import.meta.url).pathname;
const clientFile = new URL("../dev/testing/edge/event-store-process.ts", import.meta.url).pathname;
const merchantId = systemRuntime.uuid();
const outbox = { runtime: systemRuntime, environmentName: "test", publish: () => {} };
const tally = new Tally();
/** Processes that ended by themselves, and unexpected errors of writers. */
const problems: unknown[] = [];

class RolledBack extends Error {}

/** A process that starts again as soon as it was killed. */
class Killable {
  readonly #file: string;
  readonly #name: "serve" | "follow";
  readonly #order: object;
  readonly #expected = new Set<Child>();
  #child!: Child;

  constructor(file: string, name: "serve" | "follow", order: EventEdgeOrder | EventStoreOrder) {
    this.#file = file;
    this.#name = name;
    this.#order = order;
    this.#start();
  }

  async kill(): Promise<void> {
    this.#expected.add(this.#child);
    await this.#child.kill();
    this.#start();
  }

  async close(): Promise<void> {
    this.#expected.add(this.#child);
    await this.#child.close();
  }

  #start(): void {
    const child = Child.start(this.#file);
    this.#child = child;
    // It serves or follows until it ends.
    child.ask(this.#name, this.#order).catch((error: unknown) => {
      if (!this.#expected.has(child)) problems.push(error);
    });
  }
}

/** The events that a client has stored. */
class StoredEvents {
  readonly #file: string;
  #offset = 0;
  #rest = "";
  arrivals = 0;
  readonly ids = new Set<string>();
  /** Of each session the events in the order of their first arrival. */
  readonly sessions = new Map<string, string[]>();

  constructor(file: string) {
    this.#file = file;
  }

  read(): this {
    const file = openSync(this.#file, "a+");
    const chunk = Buffer.alloc(64 * 1024);
    for (let length = 1; length > 0; this.#offset += length) {
      length = readSync(file, chunk, 0, chunk.length, this.#offset);
      this.#rest += chunk.toString("latin1", 0, length);
    }
    closeSync(file);
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) this.#add(line);
    return this;
  }

  #add(line: string): void {
    const [id, session, sequence] = line.split(" ") as [string, string, string];
    this.arrivals++;
    if (this.ids.has(id)) return;
    this.ids.add(id);
    this.sessions.set(session, [...(this.sessions.get(session) ?? []), `${sequence} ${id}`]);
  }
}

/** PostgreSQL with its own defaults: every commit is durable. */
async function startDatabase() {
  const dataName = `${inject("testRunName")}-events-postgres`;
  const postgres = new PostgresKeeper({
    stateFolder: testStateFolder,
    port: await freePort(),
    tally: new Tally(),
    dataName,
  });
  const serverUrl = (await postgres.start()).ownerUrl;
  const role = "events";
  const password = Buffer.from(systemRuntime.randomBytes(18)).toString("hex");
  await provision(serverUrl, [{ database: role, role, password }]);
  const ownerUrl = Object.assign(new URL(serverUrl), { pathname: `/${role}` }).href;
  await migrate({ ownerUrl, kind: "environment", runtimeRole: role });
  const url = Object.assign(new URL(ownerUrl), { username: role, password }).href;
  const pool = new Pool({ connectionString: ownerUrl, max: writerCount, pipeline: true });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const database = new Database(pool);
  await database.namePartitions();
  const close = async () => {
    await pool.end();
    await postgres.discard();
  };
  return { postgres, url, database, close };
}

const { postgres, url, database } = await forFile(startDatabase);
const folder = await forFile(() => {
  const path = mkdtempSync(join(tmpdir(), "switchyard-events-"));
  return { path, close: () => rmSync(path, { recursive: true }) };
});

async function openSessions(): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
     SELECT uuidv7(), '${merchantId}', 4900, 'EUR', 'followed', 1, app.clock() + interval '30 minutes' FROM generate_series(1, ${sessionCount})
     RETURNING id`,
  );
  return rows.map(({ id }) => id);
}

const takeNumber = { name: "take_number", text: "SELECT pg_current_xact_id()::text" };
const lockSession = { name: "lock_session", text: "SELECT FROM payment_session WHERE id = $1 FOR UPDATE" };

/** Commits one to three events of a session, or undoes them. Its number is older than its turn at the session. */
async function writeOnce(dice: Dice, sessionId: string): Promise<string[]> {
  const ids: string[] = [];
  const event = {
    sessionId,
    merchantId,
    type: "payment_session.succeeded",
    body: (envelope: Parameters<typeof writeEventBody>[0], sequence: number) => writeEventBody(envelope, { sequence }),
  } as const;
  await database.transaction(async (tx) => {
    ids.length = 0;
    await tx.query(takeNumber, []);
    await pause(dice.between(0, 300));
    await tx.query(lockSession, [sessionId]);
    for (let count = dice.between(1, 3); count > 0; count--) {
      ids.push(encodeId("evt", (await recordEvent(tx, outbox, event)).eventId));
    }
    await pause(dice.between(0, 100));
    if (dice.chance(0.15)) throw new RolledBack();
  });
  return ids;
}

/** Writes until the signal aborts, and tells what was committed; with PostgreSQL down, again and again. */
async function write(dice: Dice, sessions: readonly string[], committed: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      committed.push(...(await writeOnce(dice, dice.pick(sessions))));
      tally.add("committed transactions");
    } catch (error) {
      if (error instanceof RolledBack) tally.add("undone transactions");
      else if (isDatabaseDown(error)) tally.add("transactions that PostgreSQL did not answer");
      else problems.push(error);
      if (!(error instanceof RolledBack)) await pause(50);
    }
  }
}

async function outboxBySession(): Promise<Map<string, string[]>> {
  const { rows } = await database.pool.query<{ id: string; session: string; sequence: number }>(
    "SELECT id, session_id AS session, sequence FROM outbox_event ORDER BY session_id, sequence",
  );
  const bySession = Map.groupBy(rows, ({ session }) => encodeId("ps", session));
  const lineOf = ({ id, sequence }: (typeof rows)[number]) => `${sequence} ${encodeId("evt", id)}`;
  return new Map([...bySession].map(([session, events]) => [session, events.map(lineOf)]));
}

async function startProcesses() {
  const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
  const { secretKey } = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchantId));
  const ports = [await freePort(), await freePort()];
  const edges = ports.map((port) => new Killable(edgeFile, "serve", { databaseUrl: url, port }));
  // Each prefers another edge, and goes to the other one when it is gone.
  const clients = [ports, ports.toReversed()].map((preferred, index) => {
    const [eventsFile, cursorFile] = [join(folder.path, `events-${index}`), join(folder.path, `cursor-${index}`)];
    const address = `ipv4:${preferred.map((port) => `127.0.0.1:${port}`).join(",")}`;
    const order = { address, key: secretKey.expose(), firstCursor: encodeCursor([]), eventsFile, cursorFile };
    return { process: new Killable(clientFile, "follow", order), stored: new StoredEvents(eventsFile) };
  });
  return {
    edges,
    clients,
    close: () => Promise.all([...edges, ...clients.map((one) => one.process)].map((one) => one.close())),
  };
}

const { edges, clients } = await forFile(startProcesses);

const missing = (wanted: readonly string[], from: ReadonlySet<string>) => wanted.filter((id) => !from.has(id));

/** Resolves once each client has an event that was committed after now. */
function recovered(committed: readonly string[]): Promise<void> {
  const before = committed.length;
  return vi.waitFor(() => {
    const later = committed.slice(before);
    for (const { stored } of clients) {
      const { ids } = stored.read();
      expect(later.some((id) => ids.has(id))).toBe(true);
    }
  }, recovery);
}

const strike: Readonly<Record<Victim, (dice: Dice) => Promise<void>>> = {
  edge: (dice) => dice.pick(edges).kill(),
  client: (dice) => dice.pick(clients).process.kill(),
  PostgreSQL: async () => {
    // One that still starts is killed when it runs.
    await postgres.wake();
    postgres.restart("killed", 0);
  },
};

it("brings every event to each client, a session's in order, through 200 kills", async () => {
  const sessions = await openSessions();
  const committed: string[] = [];
  const writing = new AbortController();
  onTestFinished(() => writing.abort());
  const writers = Array.from({ length: writerCount }, (_, index) =>
    write(new Dice(seed + 1 + index), sessions, committed, writing.signal),
  );
  const dice = new Dice(seed);
  const victims = (Object.keys(kills) as Victim[]).flatMap((victim) => Array<Victim>(kills[victim]).fill(victim));
  await recovered(committed);
  for (const victim of dice.shuffled(victims)) {
    expect(problems).toEqual([]);
    if (dice.chance(afterRecovery)) await recovered(committed);
    await pause(dice.between(0, 400));
    await strike[victim](dice);
    tally.add(`kills: ${victim}`);
  }
  await postgres.wake();
  writing.abort();
  await Promise.all(writers);
  const written = await outboxBySession();
  const all = [...written.values()].flat().map((line) => line.split(" ")[1]!);
  // A client that has not got an event by the end of this time has lost it.
  await vi.waitFor(() => {
    for (const { stored } of clients) expect(missing(all, stored.read().ids)).toEqual([]);
  }, recovery);
  const again = clients.map(({ stored }) => stored.arrivals - stored.ids.size);
  const counts = tally.under("").map(([name, count]) => `${name} ${count}`);
  console.log(`${all.length} events, ${again.join(" and ")} arrived again; ${counts.join(", ")}`);
  expect(problems).toEqual([]);
  expect(missing(committed, new Set(all))).toEqual([]);
  for (const { stored } of clients) expect(stored.sessions).toEqual(written);
}, 1_800_000);
