/** An operator's tasks on a running installation: erase a customer, rotate keys, restore the database. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import type { Role } from "../../config/checked-config.ts";
import {
  type RotationStep,
  rotateClientSecret,
  rotatePageToken,
  rotateSealing,
  rotateSigning,
  rotateVaultRing,
} from "../../config/server-key-rotation.ts";
import { printKeyFile } from "../../config/server-keys.ts";
import { isAlive, markOf } from "../../demo/process-mark.ts";
import { Secret } from "../../platform/secrets.ts";
import { moveClock } from "../simulation/chaos/site-database.ts";
import { runCommand } from "../testing/run-command.ts";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";
import { dumpDatabases } from "./canary-places.ts";
import { findTraces, tracesOfText } from "./canary-search.ts";
import { destroyDatabases, restoreBackup, takeBackup } from "./database-backup.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";

const approved = "4242424242424242";
// Declined at SANDBOX_A, approved at SANDBOX_B.
const failingOver = "4000000000000002";

let demo: TestDemo;
let merchant: ApiCheckout;
let database: Client;
beforeAll(async () => {
  demo = await startTestDemo();
  merchant = new ApiCheckout(demo.file);
  database = await connect();
});
afterAll(async () => {
  await database?.end();
  await demo?.close();
});

const environmentUrl = () => Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: environmentUrl() });
  // It ends with its server.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** A session whose card is entered and not submitted yet. */
async function entered(card = approved, fields: object = {}): Promise<{ session: OpenedSession; token: string }> {
  const session = await merchant.open(fields);
  return { session, token: await merchant.tokenize(session, card) };
}

async function pay(card = approved, fields: object = {}): Promise<OpenedSession> {
  const { session, token } = await entered(card, fields);
  expect(await merchant.submit(session, token)).toMatchObject({ status: "SUCCEEDED" });
  return session;
}

/** Resolves when every event of these sessions has reached every endpoint. */
async function delivered(sessions: readonly OpenedSession[]): Promise<void> {
  const refs = await Promise.all(sessions.map(async ({ sessionId }) => (await merchant.read(sessionId)).orderRef));
  const text = `SELECT count(*)::int AS missing FROM payment_session s JOIN outbox_event e ON e.session_id = s.id
    WHERE s.order_ref = ANY ($1) AND NOT EXISTS (
      SELECT FROM delivery d WHERE d.session_id = e.session_id AND d.event_id = e.id AND d.status = 'SUCCEEDED')`;
  const missing = async () => (await database.query(text, [refs])).rows[0].missing;
  await expect.poll(missing, { timeout: 20_000 }).toBe(0);
}

describe("an erased customer", () => {
  it("is in no row of any database any more", { timeout: 30_000 }, async () => {
    const email = "Zenobia.Quick@customers.example";
    const line1 = "Quarter Mile Passage 77";
    const personal = {
      customerName: "Zenobia Quick",
      billingAddress: { line1, city: "Graz", postalCode: "8010", country: "AT" },
    };
    const paid = await pay(approved, { customerEmail: email, ...personal, metadata: { cart: "c-1" } });
    await entered(approved, { customerEmail: email.toLowerCase(), ...personal });
    await delivered([paid]);
    const traces = [
      ...tracesOfText("as written", email),
      ...tracesOfText("in lower case", email.toLowerCase()),
      ...tracesOfText("name", personal.customerName),
      ...tracesOfText("street", line1),
    ];
    const found = async () => (await dumpDatabases(demo)).filter(({ text }) => findTraces(text, traces).length > 0);
    // The table, and its partition of this month.
    const tables = (await found()).map(({ where }) =>
      where
        .split('"')
        .at(-2)!
        .replace(/_\d{4}_\d{2}$/, ""),
    );
    expect([...new Set(tables)]).toEqual(["payment_session"]);
    const dashboard = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
    const scope = { merchantId: demo.file.merchants[0]!.merchantId, environment: "ENVIRONMENT_TEST" } as const;
    const erased = await dashboard.settings.eraseCustomer({ ...scope, email });
    dashboard.close();
    expect(erased).toMatchObject({ sessions: 2 });
    expect(await found()).toEqual([]);
    expect((await merchant.read(paid.sessionId)).customerEmail).toBeUndefined();
  });
});

describe("every key of the server", () => {
  /** Runs one step of the rotation of all keys, as `server-keys rotate` writes it, and restarts every copy. */
  async function turn(step: RotationStep): Promise<void> {
    const [file, vaultFile] = ["keys-test.json", "vault-keys-test.json"].map((name) => join(demo.stateFolder, name));
    const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
    const signed = rotateSigning({ keys: read(file!), vaultKeys: read(vaultFile!) }, step);
    const keys = [rotateClientSecret, rotatePageToken, rotateSealing].reduce(
      (so, rotate) => rotate(so, step),
      signed.keys,
    );
    writeFileSync(vaultFile!, printKeyFile(rotateVaultRing(signed.vaultKeys, step)));
    writeFileSync(file!, printKeyFile(keys));
    await stopRoles(demo, "SIGTERM");
    await startRoles(demo);
  }

  const list = (pageToken: string) =>
    fetch(`${demo.file.restBase}/payment-sessions?pageSize=1&pageToken=${encodeURIComponent(pageToken)}`, {
      headers: { authorization: `Bearer ${demo.file.merchants[0]!.test.secretKey}` },
    });

  async function checkoutStatus({ sessionId, clientSecret, vault }: OpenedSession): Promise<number> {
    const response = await fetch(`${demo.file.connectOrigin}/payments.v1.CheckoutService/GetCheckout`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${clientSecret}`,
        "publishable-key": vault.publishableKey,
        "content-type": "application/json",
      },
      body: JSON.stringify({ sessionId }),
    });
    return response.status;
  }

  it("is rotated while customers are paying: a card entered before a step is paid after it", {
    timeout: 120_000,
  }, async () => {
    const before = await entered();
    const { nextPageToken = "" } = (await (await list("")).json()) as { nextPageToken?: string };
    await turn("add");
    expect(await merchant.submit(before.session, before.token)).toMatchObject({ status: "SUCCEEDED" });
    const added = await entered();
    await turn("use");
    expect(await merchant.submit(added.session, added.token)).toMatchObject({ status: "SUCCEEDED" });
    expect(added.session.clientSecret).toContain("_secret_t1_");
    expect([await checkoutStatus(before.session), (await list(nextPageToken)).status]).toEqual([200, 200]);
    const resealed = await runCommand([
      ...["server-keys", "reseal", "--environment", "test", "--url", environmentUrl(), "--json"],
      ...["--keys", join(demo.stateFolder, "keys-test.json")],
    ]);
    expect(JSON.parse(resealed.out)).toMatchObject({ endpoints: expect.any(Number) });
    const used = await entered(failingOver);
    expect(used.session.clientSecret).toContain("_secret_t2_");
    await turn("drop");
    expect(await merchant.submit(used.session, used.token)).toMatchObject({ status: "SUCCEEDED" });
    // Tokens made with only the old keys are refused now.
    expect([await checkoutStatus(before.session), (await list(nextPageToken)).status]).toEqual([401, 400]);
    await delivered([before.session, added.session, used.session]);
  });
});

describe("a database that is lost and restored", () => {
  async function takenByOrder(): Promise<Map<string, number>> {
    const captured = new Map<string, number>();
    for (const { orderRef, status } of await demo.sandbox.authorizations()) {
      if (status === "captured") captured.set(orderRef, (captured.get(orderRef) ?? 0) + 1);
    }
    return captured;
  }

  it("captures no payment twice, keeps what had settled, and brings every other session to its true end", {
    timeout: 120_000,
  }, async () => {
    const settled = [await pay(), await pay(failingOver)];
    await delivered(settled);
    // SANDBOX_B reports its captures.
    const confirmed = async () => (await merchant.read(settled[1]!.sessionId)).captureConfirmed;
    await expect.poll(confirmed).toBe(true);
    const reads = await Promise.all(settled.map(({ sessionId }) => merchant.read(sessionId)));
    const [paidLater, failedOverLater, neverPaid] = [await entered(), await entered(failingOver), await entered()];
    const inFlight = await entered();
    const left = await merchant.open();
    await demo.sandbox.hold("a.authorize");
    const flying = merchant.submit(inFlight.session, inFlight.token);
    await demo.sandbox.paused({ operation: "a.authorize" });
    // Load continues while the files are copied.
    const during: OpenedSession[] = [];
    await takeBackup(demo, async () => {
      await demo.sandbox.release();
      for (const card of [approved, failingOver, approved]) during.push(await pay(card));
    });
    expect(await flying).toMatchObject({ status: "SUCCEEDED" });
    for (const { session, token } of [paidLater, failedOverLater]) {
      expect(await merchant.submit(session, token)).toMatchObject({ status: "SUCCEEDED" });
    }
    const unknown = await pay();
    const takenBefore = await takenByOrder();

    await Promise.all([destroyDatabases(demo), stopRoles(demo, "SIGKILL"), database.end().catch(() => {})]);
    await restoreBackup(demo);
    const declared = await runCommand(["restore", "declare", "--url", environmentUrl(), "--json"]);
    expect(JSON.parse(declared.out).sessions).toBeGreaterThanOrEqual(4);
    database = await connect();
    // What gateways had been sent before is over.
    await moveClock(environmentUrl(), aMinuteMs);
    await startRoles(demo);

    // A customer with the page open sends the card again at once.
    for (const { session, token } of [paidLater, failedOverLater, neverPaid]) {
      await expect(merchant.submit(session, token)).rejects.toThrow(/ALREADY_SUBMITTED|SESSION_ENDED/);
    }
    const doubtful = [paidLater, failedOverLater, neverPaid, inFlight].map(({ session }) => session);
    const endOf = async ({ sessionId }: OpenedSession) => (await merchant.read(sessionId)).status;
    const ends = () => Promise.all([...doubtful, left].map(endOf));
    await expect
      .poll(ends, { timeout: 40_000 })
      .toEqual(["SUCCEEDED", "SUCCEEDED", "DEGRADED", "SUCCEEDED", "DEGRADED"]);
    expect(await Promise.all(during.map(endOf))).toEqual(during.map(() => "SUCCEEDED"));
    expect(await Promise.all(settled.map(({ sessionId }) => merchant.read(sessionId)))).toEqual(reads);
    // By the acquirers' records nothing was captured since, and nothing twice.
    expect(await takenByOrder()).toEqual(takenBefore);
    expect(Math.max(...takenBefore.values())).toBe(1);
    expect((await merchant.read(failedOverLater.session.sessionId)).capturedVia).toBe("SANDBOX_B");
    await delivered([...settled, ...doubtful]);
    expect((await database.query("SELECT * FROM app.audit()")).rows).toEqual([]);
    // Only the gateways know what was created after the backup.
    await expect(merchant.read(unknown.sessionId)).rejects.toThrow(/^404/);
    await pay();
  });
});

const aMinuteMs = 60_000;
const serviceRoles = ["vault", "edge", "worker"] as const satisfies readonly Role[];

const pollEveryMs = 20;

/** Ends the roles, gracefully or not, and waits until they are gone. */
async function stopRoles(demo: TestDemo, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const marks = serviceRoles.map((role) => markOf(demo.file.pids[role]!)).filter((mark) => mark !== undefined);
  for (const { pid } of marks) process.kill(pid, signal);
  while (marks.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
}

/** Starts them again on the current key files and databases. */
async function startRoles(demo: TestDemo): Promise<void> {
  await Promise.all(serviceRoles.map((role) => demo.restart(role)));
}
