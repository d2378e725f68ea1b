/** Tests that payments whose commits go together hold up, and fail, none of each other. */

import { Pool } from "pg";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { Database } from "../../platform/database.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { submitPayment } from "../submit-payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);

// A lock is waited for as long as it takes.
const pool = new Pool({
  connectionString: fixture.core.database.pool.options.connectionString!,
  max: 20,
  pipeline: true,
});
const core: Core = { ...fixture.core, database: new Database(pool), inFlight: new Set() };
beforeAll(async () => {
  await fixture.setRule(["HARD_DECLINE"]);
  await core.database.namePartitions();
  fixture.useCard(cards.approved);
});
afterAll(async () => {
  await Promise.all(core.inFlight);
  await pool.end();
});

const newSessions = (count: number) => Promise.all(Array.from({ length: count }, () => fixture.newSession()));
const pay = (session: PaymentSession, by = core, signal = new AbortController().signal) =>
  submitPayment(by, { session, vaultToken: new Secret("tok_1"), signal });
const statusesOf = (sessions: readonly PaymentSession[]) => sessions.map(({ status }) => status);
const succeeded = (count: number) => Array.from({ length: count }, () => "SUCCEEDED");

/** Returns a core whose gateways hold back their answers until `release`. `asked` resolves with the last of `count` questions. */
function holdingBack(count: number) {
  const [released, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let questions = 0;
  const by = withAnswers(core, (own) => ({
    authorize: async (...request) => {
      const answer = await own.authorize(...request);
      if (++questions === count) asked.resolve();
      await released.promise;
      return answer;
    },
  }));
  onTestFinished(() => released.resolve());
  return { by, asked: asked.promise, release: released.resolve };
}

it("pays for 64 customers of one merchant at once, in fewer commits than one after another", async () => {
  const [each, together] = [await newSessions(64), await newSessions(64)];
  for (const session of each) expect((await pay(session)).status).toBe("SUCCEEDED");
  expect(statusesOf(await Promise.all(together.map((session) => pay(session))))).toEqual(succeeded(64));
  expect(await commitsOf(each)).toBe(64);
  expect(await commitsOf(together)).toBeLessThan(64);
  for (const session of together) expect(await fixture.capturedAtGateways(session)).toBe(1);
});

/** Returns the number of commits in which these sessions ended: one that ends writes its event. */
async function commitsOf(sessions: readonly PaymentSession[]): Promise<number> {
  const text = "SELECT count(DISTINCT xmin::text)::int FROM outbox_event WHERE session_id = ANY ($1)";
  const { rows } = await fixture.asOwner.pool.query(text, [sessions.map(({ id }) => id)]);
  return rows[0].count;
}

it("pays for others while a session is locked, and then for its customer", async () => {
  const [locked, ...others] = await newSessions(9);
  const client = await fixture.asOwner.pool.connect();
  onTestFinished(async () => {
    await client.query("ROLLBACK");
    client.release();
  });
  await client.query("BEGIN");
  await client.query("SELECT FROM payment_session WHERE id = $1 FOR UPDATE", [locked!.id]);
  const first = pay(others[0]!);
  const waiting = pay(locked!);
  const paid = [await first, ...(await Promise.all(others.slice(1).map((session) => pay(session))))];
  expect(statusesOf(paid)).toEqual(succeeded(8));
  expect((await fixture.loadSession(locked!)).session.phase).toBe("IDLE");
  await client.query("ROLLBACK");
  expect((await waiting).status).toBe("SUCCEEDED");
});

it("refuses the hold of a session that another process has taken over, and none of those beside it", async () => {
  const sessions = await newSessions(9);
  const taken = sessions[4]!;
  const { by, asked, release } = holdingBack(9);
  const signals = sessions.map(() => new AbortController());
  const paying = sessions.map((session, place) => pay(session, by, signals[place]!.signal));
  await asked;
  await fixture.lapseLease(taken);
  const takeOver = { name: "take", text: "SELECT FROM app.take_over($1, 20000)" };
  expect(await core.database.query(takeOver, [taken.id])).toHaveLength(1);
  release();
  const others = paying.filter((_, place) => sessions[place] !== taken);
  expect(statusesOf(await Promise.all(others))).toEqual(succeeded(8));
  signals[4]!.abort();
  await Promise.all([...paying, ...by.inFlight]);
  const { session, attempts } = await fixture.loadSession(taken);
  expect([session.winnerAttemptId, attempts[0]!.status]).toEqual([null, "AUTHORIZING"]);
});

it("pays for others while a gateway does not answer for one", async () => {
  const [stalled, ...others] = await newSessions(9);
  const { by, asked, release } = holdingBack(1);
  const waiting = pay(stalled!, by);
  await asked;
  expect(statusesOf(await Promise.all(others.map((session) => pay(session))))).toEqual(succeeded(8));
  expect((await fixture.loadSession(stalled!)).attempts).toMatchObject([{ status: "AUTHORIZING" }]);
  release();
  expect((await waiting).status).toBe("SUCCEEDED");
});
