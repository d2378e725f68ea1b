/** A worker that dies at each point of a delivery: another finishes, and only what was sent is repeated. */
import { beforeEach, describe, expect, it } from "vitest";
import type { RoleProcess } from "../../demo/roles.ts";
import { decodeId } from "../../platform/ids.ts";
import { forFile } from "../testing/for-file.ts";
import { HeldCommits } from "../testing/held-commits.ts";
import { type Act, killNow, WebhookFixture } from "./webhook-fixture.ts";

// Past the sweep's 10 s (outbox.ts).
const pastSweepS = 11;
// Past a delivery's lease of 35 s (delivery-pool.ts).
const pastLeaseS = 36;
// What a published event has in its subject, and nothing else that goes to NATS or comes from it.
const eventSubject = "payments.test.v1.payment_session.expired";

let worker: RoleProcess;
let act: Act;
const fixture = await forFile(() => WebhookFixture.open({ natsServers: 1 }));
worker = await fixture.startWorker();
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

const todoOf = (sessionId: string) =>
  fixture.site.query<{ fannedOut: boolean; publishCount: number }>(
    `SELECT fanned_out AS "fannedOut", publish_count AS "publishCount" FROM event_todo WHERE session_id = $1`,
    [decodeId("ps", sessionId)],
  );

/** Resolves when this many deliveries of the session are recorded: what is under way when a worker dies is sent again. */
async function recorded(sessionId: string, deliveries: number): Promise<void> {
  const accepted = "SELECT FROM delivery WHERE session_id = $1 AND status = 'SUCCEEDED'";
  const count = async () => (await fixture.site.query(accepted, [decodeId("ps", sessionId)])).length;
  await expect.poll(count, { timeout: 20_000 }).toBe(deliveries);
}

describe("a worker that is killed", { timeout: 90_000 }, () => {
  it("between claiming an unpublished event and publishing it leaves it to the next one", async () => {
    const caught = fixture.natsGate!.holdAt("in", eventSubject);
    const sessionId = await act.settle({ events: 1, isSilent: true });
    await fixture.site.passSeconds(pastSweepS);
    await caught;
    await recorded(sessionId, 1);
    expect(await todoOf(sessionId)).toEqual([{ fannedOut: true, publishCount: 2 }]);
    await replaceWorker(pastSweepS);
    await act.expectAllCame();
    await expect.poll(() => todoOf(sessionId), { timeout: 20_000 }).toEqual([]);
  });

  it("between publishing an event and removing it has it published twice and posted once", async () => {
    const caught = fixture.natsGate!.holdAt("out", '"stream":"PAYMENTS_TEST_V1"');
    const sessionId = await act.settle({ events: 1, isSilent: true });
    await fixture.site.passSeconds(pastSweepS);
    await caught;
    await recorded(sessionId, 1);
    expect(await todoOf(sessionId)).toEqual([{ fannedOut: true, publishCount: 2 }]);
    await replaceWorker(pastLeaseS);
    await act.expectAllCame();
    await expect.poll(() => todoOf(sessionId), { timeout: 20_000 }).toEqual([]);
  });

  it("before it has read what JetStream delivered leaves it to the sweep", async () => {
    const caught = fixture.natsGate!.holdAt("out", eventSubject);
    const sessionId = await act.settle();
    await caught;
    await recorded(sessionId, 1);
    expect(await todoOf(sessionId)).toEqual([{ fannedOut: false, publishCount: 1 }]);
    await replaceWorker(pastSweepS);
    await act.expectAllCame();
  });

  it("after the result and before the acknowledgement leaves nothing to do", async () => {
    const caught = fixture.natsGate!.holdAt("in", "$JS.ACK.");
    const sessionId = await act.settle({ events: 1 });
    await caught;
    await replaceWorker(pastLeaseS);
    await act.expectAllCame();
    expect(await todoOf(sessionId)).toEqual([]);
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
  return HeldCommits.startAt(fixture.asOwner, { table: "delivery", change: "INSERT", when });
}
