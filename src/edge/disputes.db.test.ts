import { describe, expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { dispute } from "../disputes/disputes.fixture.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { findDispute, listDisputes } from "../reporting/dispute-list.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);

async function paid(fields: object = {}): Promise<PaymentSession> {
  const session = await edge.core.pay(cards.approved, fields);
  return session;
}
const pathOf = ({ id }: PaymentSession) => `/payment-sessions/${encodeId("ps", id)}`;
const refund = (session: PaymentSession, key: string) =>
  edge.call("POST", `${pathOf(session)}/refunds`, { body: "{}", headers: { "Idempotency-Key": key } });
const list = async (query = "") => (await edge.call("GET", `/disputes${query}`)).json;

describe("a disputed payment", () => {
  it("has its dispute, what it holds, and no refund", async () => {
    const session = await paid();
    expect((await edge.call("GET", pathOf(session))).json).not.toHaveProperty("disputes");
    const notice = { reasonCode: "13.1", network: "visa", respondBy: "2026-12-20T00:00:00.000Z" };
    const { id } = await dispute(edge.core.core, session, notice);
    const { json } = await edge.call("GET", pathOf(session));
    expect(json).toMatchObject({
      amountRefundableMinor: 0,
      amountDisputedMinor: 4900,
      disputes: [{ heldMinor: 4900 }],
    });
    const one = await edge.call("GET", `/disputes/${encodeId("dsp", id)}`);
    expect(one.json).toEqual({
      disputeId: encodeId("dsp", id),
      sessionId: encodeId("ps", session.id),
      orderRef: session.orderRef,
      attemptId: json.attempts[0].attemptId,
      gateway: "SANDBOX_A",
      gatewayReference: `DSP-${session.id}`,
      stage: "CHARGEBACK",
      status: "NEEDS_RESPONSE",
      amountMinor: 4900,
      currency: "EUR",
      heldMinor: 4900,
      reason: "not_received",
      networkReasonCode: "13.1",
      network: "visa",
      respondBy: notice.respondBy,
      movements: [{ type: "CHARGEBACK", amountMinor: 4900, currency: "EUR", recordedAt: expect.any(String) }],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(json.disputes).toEqual([one.json]);
    const refused = await refund(session, "return-1");
    expect([refused.status, refused.json.code]).toEqual([409, "payment_disputed"]);
    await dispute(edge.core.core, session, { event: "returned" });
    expect((await refund(session, "return-2")).status).toBe(201);
  });

  it("names the refunds that had paid the money back before", async () => {
    const session = await paid();
    const { json: made } = await refund(session, "return-3");
    const { id } = await dispute(edge.core.core, session);
    const { json } = await edge.call("GET", `/disputes/${encodeId("dsp", id)}`);
    expect(json).toMatchObject({ overlapMinor: 4900, refundIds: [made.refundId] });
  });
});

describe("the list of disputes", () => {
  it("has the newest first, in pages, by each filter", async () => {
    const sessions: PaymentSession[] = [];
    for (const orderRef of ["list-1", "list-2", "list-3"]) sessions.push(await paid({ orderRef }));
    const respondBy = "2026-12-02T00:00:00.000Z";
    await dispute(edge.core.core, sessions[0]!, { event: "inquiryOpened", respondBy });
    await dispute(edge.core.core, sessions[1]!);
    await dispute(edge.core.core, sessions[2]!, { event: "chargedAgain" });
    const refs = ({ disputes }: { disputes: { orderRef: string }[] }) => disputes.map(({ orderRef }) => orderRef);
    const first = await list("?pageSize=2");
    expect(refs(first)).toEqual(["list-3", "list-2"]);
    const second = await list(`?pageSize=2&pageToken=${first.nextPageToken}`);
    expect(refs(second)[0]).toBe("list-1");
    expect(refs(await list("?orderRef=list-2"))).toEqual(["list-2"]);
    expect(refs(await list("?status=LOST"))).toEqual(["list-3"]);
    expect(refs(await list("?stage=INQUIRY"))).toEqual(["list-1"]);
    expect(refs(await list("?respondBefore=2026-12-03T00:00:00Z"))).toEqual(["list-1"]);
    expect(refs(await list("?gateway=ADYEN"))).toEqual([]);
    expect(refs(await list("?createdAfter=2030-01-01T00:00:00Z"))).toEqual([]);
    const wrong = await edge.call("GET", `/disputes?status=WON&pageToken=${first.nextPageToken}`);
    expect([wrong.status, wrong.json.code]).toEqual([400, "invalid_parameter"]);
  });

  it("shows nothing of another merchant", async () => {
    const session = await paid();
    const { id } = await dispute(edge.core.core, session);
    const [databases, merchantId] = [[edge.core.core.database], systemRuntime.uuid()];
    expect(await findDispute(databases, { merchantId, id })).toBeUndefined();
    const keys = edge.core.core.pageTokenKey;
    const page = await listDisputes(databases, { merchantId, filters: {}, keys, now: new Date() });
    expect(page.disputes).toEqual([]);
    expect((await edge.call("GET", "/disputes/dsp_nonsense")).status).toBe(404);
  });
});

it("D8: is in the ledger of the day, as taken and returned", async () => {
  const session = await paid();
  const { id } = await dispute(edge.core.core, session, { event: "returned" });
  const day = new Date().toISOString().slice(0, 10);
  await edge.core.setClockAhead(2 * 24 * 60);
  const { json } = await edge.call("GET", `/ledger?day=${day}&pageSize=1000`);
  await edge.core.setClockAhead(0);
  const disputeId = encodeId("dsp", id);
  expect(json.entries.filter((entry: { disputeId?: string }) => entry.disputeId === disputeId)).toMatchObject([
    { type: "CHARGEBACK", amountMinor: 4900, gateway: "SANDBOX_A", gatewayReference: `DSP-${session.id}` },
    { type: "CHARGEBACK_REVERSED", amountMinor: 4900, attemptId: expect.stringMatching(/^att_/) },
  ]);
});
