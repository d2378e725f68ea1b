/**
 * An edge process that dies while it creates a session: a repeat finds the session it made, or makes the one it did
 * not.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HeldCommits } from "../testing/held-commits.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";

let demo: TestDemo;
let merchant: ApiCheckout;
let asOwner: Pool;
let asRuntime: Pool;

const database = "switchyard_test";

beforeAll(async () => {
  demo = await startTestDemo();
  merchant = new ApiCheckout(demo.file);
  asOwner = poolTo({});
  const passwords = JSON.parse(readFileSync(join(demo.stateFolder, "database-passwords.json"), "utf8"));
  asRuntime = poolTo({ username: database, password: passwords.test });
});
afterAll(async () => {
  await Promise.all([asOwner?.end(), asRuntime?.end()]);
  await demo?.close();
});

/** Connections to the database of the test environment. */
function poolTo(login: { username?: string; password?: string }): Pool {
  const url = Object.assign(new URL(demo.postgresUrl), { pathname: database, ...login });
  return new Pool({ connectionString: url.href, max: 2 });
}

/** Starts a creation that waits at its commit, and never answers: its client sees the connection end. */
async function beginCreation() {
  const orderRef = `order-${randomUUID()}`;
  const headers = { "idempotency-key": randomUUID() };
  const held = await HeldCommits.start(asOwner, orderRef);
  const answer = merchant.create({ orderRef }, headers).catch(() => "no answer");
  await held.held();
  return { held, answer, orderRef, send: () => merchant.create({ orderRef }, headers) };
}

async function sessionsOf(orderRef: string): Promise<string[]> {
  const { rows } = await asOwner.query<{ id: string }>("SELECT id FROM payment_session WHERE order_ref = $1", [
    orderRef,
  ]);
  return rows.map(({ id }) => id);
}

describe("an edge that is killed while it creates a session", { timeout: 60_000 }, () => {
  it("before the commit leaves no session, and its key to the repeat", async () => {
    const { held, answer, orderRef, send } = await beginCreation();
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await answer).toBe("no answer");
    await held.abort(asRuntime);
    await held.release();
    expect(await sessionsOf(orderRef)).toEqual([]);
    await demo.restart("edge");
    const [first, second] = [await send(), await send()];
    expect([first, second].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true"]);
    expect(await second.text()).toBe(await first.text());
    expect(await sessionsOf(orderRef)).toHaveLength(1);
  });

  it("after the commit and before its answer leaves a session, which is the repeat's answer", async () => {
    const { held, answer, orderRef, send } = await beginCreation();
    // A stopped process reads nothing: the database commits, and no process learns of it.
    process.kill(demo.file.pids.edge!, "SIGSTOP");
    await held.release();
    await expect.poll(() => sessionsOf(orderRef)).toHaveLength(1);
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await answer).toBe("no answer");
    await demo.restart("edge");
    const [first, second] = [await send(), await send()];
    expect([first, second].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual(["true", "true"]);
    expect(await second.text()).toBe(await first.text());
    expect(await sessionsOf(orderRef)).toHaveLength(1);
  });
});
