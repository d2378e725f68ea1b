/**
 * A worker that dies during a webhook's delivery, at each point: another one finishes, and only what was sent may be
 * repeated.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RoleProcess } from "../../demo/roles.ts";
import { decodeId } from "../../platform/ids.ts";
import { HeldCommits } from "../testing/held-commits.ts";
import { type Act, killNow, WebhookFixture } from "./webhook-fixture.ts";

// Past the relay's lease and the sweep's 10 s (outbox.ts, webhook-worker.ts).
const pastSweepS = 11;
// Past a delivery's lease of 35 s (delivery-pool.ts).
const pastLeaseS = 36;
// What a published event has in its subject, and nothing else that goes to NATS or comes from it.
const eventSubject = "payments.test.v1.payment_session.expired";

let fixture: WebhookFixture;
let worker: RoleProcess;
let act: Act;
beforeAll(async () => {
  fixture = await WebhookFixture.open({ natsServers: 1 });
  worker = await fixture.startWorker();
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  act = await fixture.begin();
});

/** Kills the worker, moves time forward, and starts another one. */
async function replaceWorker(seconds: number): Promise<void> {
  await killNow(worker);
  fixture.natsGate!.cut();
  await fixture.site.passSeconds(seconds);
  worker = await fixture.startWorker();
}

const outboxOf = (sessionId: string) =>
  fixture.site.query<{ publishCount: number; published: boolean; fannedOut: boolean }>(
    `SELECT publish_count AS "publishCount", published_at IS NOT NULL AS published,
       fanned_out_at IS NOT NULL AS "fannedOut"
     FROM outbox_event WHERE session_id = $1 AND type = 'payment_session.expired'`,
    [decodeId("ps", sessionId)],
  );

describe("a worker that is killed", { timeout: 90_000 }, () => {
  it("between claiming an event and publishing it leaves it to the next one", async () => {
    // The session's first event must not be under way when the worker dies: it would be sent again.
    const unlock = await act.lock();
    const caught = fixture.natsGate!.holdAt("in", eventSubject);
    const sessionId = await act.settle();
    await caught;
    await killNow(worker);
    await unlock();
    await replaceWorker(pastSweepS);
    await act.expectAllCame();
    await expect.poll(() => outboxOf(sessionId)).toMatchObject([{ publishCount: 2, published: true }]);
  });

  it("between publishing an event and marking it has it published twice and posted once", async () => {
    const unlock = await act.lock();
    const caught = fixture.natsGate!.holdAt("out", '"stream":"PAYMENTS_TEST_V1"');
    const sessionId = await act.settle();
    await caught;
    await killNow(worker);
    await unlock();
    expect((await outboxOf(sessionId))[0]?.published).toBe(false);
    await replaceWorker(pastLeaseS);
    await act.expectAllCame();
  });

  it("before it has fanned out what JetStream delivered leaves it to the sweep", async () => {
    const unlock = await act.lock();
    const caught = fixture.natsGate!.holdAt("out", eventSubject);
    const sessionId = await act.settle();
    await caught;
    await killNow(worker);
    await unlock();
    expect(await outboxOf(sessionId)).toMatchObject([{ fannedOut: false }]);
    await replaceWorker(pastSweepS);
    await act.expectAllCame();
  });

  it("after the fan-out and before the acknowledgement leaves deliveries that are made once", async () => {
    const unlock = await act.lock();
    const caught = fixture.natsGate!.holdAt("in", "$JS.ACK.");
    const sessionId = await act.settle();
    await caught;
    await killNow(worker);
    await unlock();
    await replaceWorker(pastLeaseS);
    await act.expectAllCame();
    expect(await outboxOf(sessionId)).toMatchObject([{ fannedOut: true }]);
  });

  it("while it sends sends again, with the same id and the same bytes", async () => {
    fixture.receiver.answerWith((request) => (act.isHere(request) ? "hang" : { status: 204 }));
    const sessionId = await act.settle();
    const sent = await fixture.receiver.waitFor((request) => act.isHere(request, sessionId));
    fixture.receiver.answerWith({ status: 204 });
    await replaceWorker(pastLeaseS);
    const sentId = String(sent.headers["webhook-id"]);
    expect(await act.expectAllCame((eventId) => eventId === sentId)).toHaveLength(1);
  });

  it("between the answer and its commit sends again, with the same id and the same bytes", async () => {
    const held = await holdResult();
    await act.settle();
    await held.held();
    await killNow(worker);
    await held.abort(fixture.site.environment.database.pool);
    await held.release();
    const [sent] = act.arrivals();
    await replaceWorker(pastLeaseS);
    expect(await act.expectAllCame((eventId) => eventId === sent?.eventId)).toHaveLength(1);
  });

  it("while the answer's commit goes through sends nothing again", async () => {
    const held = await holdResult();
    await act.settle();
    await held.held();
    await killNow(worker);
    await held.release();
    await replaceWorker(pastLeaseS);
    await act.expectAllCame();
  });
});

/** Results of deliveries to the act's endpoint wait at their commit. */
function holdResult(): Promise<HeldCommits> {
  const when = `NEW.endpoint_id = '${act.endpoint.endpointId}' AND NEW.status = 'SUCCEEDED'`;
  return HeldCommits.startAt(fixture.asOwner, { table: "delivery", change: "UPDATE", when });
}
