/** An edge that is killed around the commit that ends a session: the event exists with the end, and is posted once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { Database } from "../../platform/database.ts";
import { decodeId } from "../../platform/ids.ts";
import { Secret, sha256 } from "../../platform/secrets.ts";
import { checkArrivals } from "../simulation/webhooks/check-arrivals.ts";
import { readEmittedEvents } from "../simulation/webhooks/emitted-events.ts";
import { setClockAhead } from "../testing/database-clock.ts";
import { HeldCommits } from "../testing/held-commits.ts";
import { Receiver } from "../testing/receiver.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";

const approvedCard = "4242424242424242";
const database = "switchyard_test";
// Past the lease under which a worker leaves a submission to its edge (20 s).
const pastLeaseMinutes = 1;

const [demo, receiver] = await Promise.all([startTestDemo(), Receiver.start()]);
const merchant = new ApiCheckout(demo.file);
const endpoint = await addEndpoint();
const asOwner = poolTo({});
const passwords = JSON.parse(readFileSync(join(demo.stateFolder, "database-passwords.json"), "utf8"));
const asRuntime = poolTo({ username: database, password: passwords.test });
afterAll(async () => {
  await Promise.all([asOwner.end(), asRuntime.end()]);
  await Promise.all([demo.close(), receiver.close()]);
});

async function addEndpoint(): Promise<{ id: string; secret: string }> {
  const dashboard = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
  const scope = { merchantId: demo.file.merchants[0]!.merchantId, environment: "ENVIRONMENT_TEST" as const };
  const added = await dashboard.endpoints.addWebhookEndpoint({ ...scope, url: receiver.url });
  const endpointId = added.endpoint?.endpointId ?? "";
  await dashboard.endpoints.verifyWebhookEndpoint({ ...scope, endpointId });
  dashboard.close();
  return { id: endpointId, secret: added.signingSecret ?? "" };
}

function poolTo(login: { username?: string; password?: string }): Pool {
  const url = Object.assign(new URL(demo.postgresUrl), { pathname: database, ...login });
  return new Pool({ connectionString: url.href, max: 3, pipeline: true });
}

/** Starts a payment that the gateway has made, whose end waits at its commit. */
async function payUntilCommit() {
  const session = await merchant.open();
  const when = `NEW.session_id = '${decodeId("ps", session.sessionId)}'`;
  const held = await HeldCommits.startAt(asOwner, { table: "outbox_event", change: "INSERT", when });
  const answer = merchant.submit(session, await merchant.tokenize(session, approvedCard)).catch(() => "no answer");
  await held.held();
  return { sessionId: session.sessionId, held, answer };
}

/** Expects every event of the session, its end among them, genuine and unchanged, once. */
async function expectAllCame(sessionId: string): Promise<void> {
  const end = '"payment_session.succeeded"';
  await receiver.waitFor(({ body }) => body.includes(sessionId) && body.includes(end), 30_000);
  const query = (sql: string, values: unknown[]) => asOwner.query(sql, values).then(({ rows }) => rows);
  const ours = async () => {
    const emitted = await readEmittedEvents(query, decodeId("mer", demo.file.merchants[0]!.merchantId) ?? "");
    const events = emitted.filter((event) => event.sessionId === sessionId);
    return events.map((event) => ({ ...event, endpoints: [endpoint.id] }));
  };
  const open = `SELECT FROM delivery WHERE status <> 'SUCCEEDED' AND session_id = $1`;
  await expect.poll(() => query(open, [decodeId("ps", sessionId)])).toEqual([]);
  const came = receiver.requests.filter(({ body }) => body.includes(sessionId));
  const arrivals = came.map((request) => ({
    endpoint: endpoint.id,
    eventId: String(request.headers["webhook-id"]),
    bodyHash: sha256(request.body).toString("hex"),
    isGenuine: objectionsTo(request, [endpoint.secret], []).length === 0,
  }));
  expect(checkArrivals(await ours(), arrivals, () => false).violations).toEqual([]);
}

describe("an edge that is killed while it ends a session", { timeout: 90_000 }, () => {
  it("before the commit leaves no event, and the end and its event to a worker", async () => {
    const { sessionId, held, answer } = await payUntilCommit();
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await answer).toBe("no answer");
    await held.abort(asRuntime);
    await held.release();
    const events = "SELECT FROM outbox_event WHERE session_id = $1";
    expect((await asOwner.query(events, [decodeId("ps", sessionId)])).rowCount).toBe(0);
    await setClockAhead(new Database(asOwner), pastLeaseMinutes);
    await expectAllCame(sessionId);
    await demo.restart("edge");
    expect(await merchant.read(sessionId)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
  });

  it("after the commit, before it could report it, leaves an event that is found and posted", async () => {
    const { sessionId, held, answer } = await payUntilCommit();
    // A stopped process reads nothing: the database commits, and no process learns of it.
    process.kill(demo.file.pids.edge!, "SIGSTOP");
    await held.release();
    const ended = "SELECT FROM payment_session WHERE id = $1 AND settled_at IS NOT NULL";
    await expect.poll(() => asOwner.query(ended, [decodeId("ps", sessionId)])).toMatchObject({ rowCount: 1 });
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await answer).toBe("no answer");
    await expectAllCame(sessionId);
  });
});
