/** Counts what a payment that is captured at once costs, so that no feature makes it pay for what it does not use. */
import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Passed } from "../../dev/bench/statement-gate.ts";
import { Child } from "../../dev/testing/child-process.ts";
import { Database } from "../../platform/database.ts";
import type { Core } from "../core.ts";
import { createSession } from "../create-session.ts";
import { type CoreFixture, cards, openPool, startCoreFixture } from "./core.fixture.ts";

let fixture: CoreFixture;
let gate: Child;
let core: Core;
let pooled: Core;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule(["HARD_DECLINE"]);
  // Notifications of gateways are another flow. One that arrives before the answer to its capture costs a transaction more.
  await fixture.sandbox.setAccount(`test_${fixture.owner.merchantId}`, { notificationUrl: "" });
  gate = Child.start(join(import.meta.dirname, "../../dev/bench/statement-gate.ts"));
  const url = new URL(fixture.core.database.pool.options.connectionString!);
  const port = await gate.ask("listen", { name: "core", host: url.hostname, port: Number(url.port) });
  const opened = async (isPooled: boolean): Promise<Core> => {
    const database = new Database(openPool(Object.assign(url, { port: String(port) }).href, 1), { isPooled });
    await database.namePartitions();
    return { ...fixture.core, database, inFlight: new Set() };
  };
  [core, pooled] = [await opened(false), await opened(true)];
  for (const card of [cards.approved, cards.failover]) await pay(card);
});
afterAll(async () => {
  for (const one of [core, pooled]) await one?.database.pool.end();
  await gate?.close();
  await fixture?.close();
});

async function count(work: () => Promise<unknown>, { inFlight } = core): Promise<Passed> {
  await gate.ask("begin");
  await work();
  await Promise.all(inFlight);
  return (await gate.ask<Record<string, Passed>>("passed")).core!;
}

async function pay(card: string, fields: object = {}): Promise<void> {
  await fixture.submit(await fixture.newSession(fields), card, "tok_1", core);
  await Promise.all(core.inFlight);
}

/** Returns the least of several counts: on a busy machine, a payment is also polled, and its lease renewed. */
async function leastOf(card: string, by = core): Promise<Passed> {
  const counts: Passed[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const session = await fixture.newSession();
    counts.push(await count(() => fixture.submit(session, card, "tok_1", by), by));
  }
  const least = (name: keyof Passed) => Math.min(...counts.map((one) => one[name]));
  return { statements: least("statements"), commits: least("commits"), roundTrips: least("roundTrips") };
}

// The route, the claim, the hold and the capture; all but the first are commits.
it("creates and captures in as few statements as it takes without any feature", async () => {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order" };
  const created = await count(() => createSession(core, fixture.owner, order));
  expect(created).toEqual({ statements: 1, commits: 1, roundTrips: 1 });
  expect(await leastOf(cards.approved)).toEqual({ statements: 4, commits: 3, roundTrips: 4 });
  // The rule, the failure, and the second gateway's credentials.
  expect(await leastOf(cards.failover)).toEqual({ statements: 7, commits: 4, roundTrips: 7 });
});

// Each statement has BEGIN, a setting and COMMIT, which are sent with it.
it("takes as many round trips through a pooler", async () => {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order" };
  const trips: number[] = [];
  for (let turn = 0; turn < 5; turn++)
    trips.push((await count(() => createSession(pooled, fixture.owner, order), pooled)).roundTrips);
  expect(Math.min(...trips)).toBe(1);
  expect((await leastOf(cards.approved, pooled)).roundTrips).toBe(4);
  expect((await leastOf(cards.failover, pooled)).roundTrips).toBe(7);
});

// A feature is attached by a condition in one of these files; its own code stands in others. A session is read back only
// where its customer waits longer than usual.
const plain = [
  "client-secret.ts",
  "create-session.ts",
  "decide/because.ts",
  "decide/next-step.ts",
  "decide/plan-route.ts",
  "execute/circuit-breaker.ts",
  "execute/flow-steps.ts",
  "execute/gateway-calls.ts",
  "record/load-session.ts",
  "record/open-attempt.ts",
  "record/payment-functions.ts",
  "record/routing-rules.ts",
  "rows/payment.ts",
  "sessions.ts",
  "submit-payment.ts",
];

/** Returns the files of the core of which `work` runs a function. */
async function filesRunBy(work: () => Promise<void>): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await work();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const ran = result.filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && ranges[0]!.count > 0),
    );
    const paths = ran.map(({ url }) => (url.startsWith("file:") ? fileURLToPath(url) : url));
    const files = paths.map((path) => relative(join(import.meta.dirname, ".."), path));
    return files.filter((file) => !file.startsWith("..") && !file.startsWith("scenarios"));
  } finally {
    session.disconnect();
  }
}

it("runs no code of a feature", async () => {
  const files = await filesRunBy(() => pay(cards.approved));
  expect(files).toContain("execute/flow-steps.ts");
  expect(files.filter((file) => !plain.includes(file))).toEqual([]);
  // What follows a failure, and the notifications of SANDBOX_B, which cannot be read.
  const failed = await filesRunBy(() => pay(cards.failover));
  expect(failed.filter((file) => !plain.includes(file)).toSorted()).toEqual([
    "execute/after-failure.ts",
    "record/attempts.ts",
    "record/stored-notifications.ts",
  ]);
});
