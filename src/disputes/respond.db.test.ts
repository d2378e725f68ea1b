/** Answers to disputes, from the merchant's request to the gateway's word. The titles name the rules of docs/disputes.md. */
import { afterEach, describe, expect, it } from "vitest";
import type { Dispute } from "../core/rows/disputes.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { itemsOf, replaced } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { Connector, GatewayDisputeAnswers } from "../gateways/connector.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { encodeId } from "../platform/ids.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { eraseFromSession } from "../retention/erase-customer.ts";
import { sweepOldRowsOnce } from "../retention/sweep-old-rows.ts";
import { addFile } from "./dispute-files.ts";
import { readFeedOnce } from "./gateway-feeds.ts";
import { prepareResponse, type ResponseRequest } from "./prepare-response.ts";
import { resealDisputes } from "./reseal-contents.ts";
import { answerDueOnce, recordResponse, runResponse } from "./respond.ts";

const fixture = await forFile(startCoreFixture);
const { core } = fixture;
const [a, b] = fixture.connectionIds;
const second = 1_000;

afterEach(async () => {
  await fixture.after(200, () => work());
  await fixture.sandbox.setClockAhead(0);
});

/** Takes every answer that is due a step further. */
async function work(by = core) {
  while (await answerDueOnce(by));
}

/** A payment that is disputed at SANDBOX_A, which is read, or at SANDBOX_B, which notifies. */
async function disputed(name = "Disputed", connectionId = a!): Promise<{ session: PaymentSession; dispute: Dispute }> {
  await fixture.setRule([], [connectionId]);
  await fixture.sandbox.setClockAhead(0);
  const session = await fixture.newSession();
  await fixture.submit(session, disputeCards.find((card) => card.name === name)!.number);
  await Promise.all(core.inFlight);
  if (connectionId === b) {
    await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  }
  await fixture.sandbox.setClockAhead(6 * second);
  if (connectionId === a) await readAll();
  await expect.poll(() => disputesOf(session), { timeout: 10_000 }).toHaveLength(1);
  return { session: (await fixture.loadSession(session)).session, dispute: (await disputesOf(session))[0]! };
}
async function readAll() {
  await fixture.asOwner.query({ name: "forget_feeds", text: "DELETE FROM gateway_feed" }, []);
  while (await readFeedOnce(core));
}
const disputesOf = async ({ id }: Pick<PaymentSession, "id">) => (await fixture.loadSession({ id })).disputes ?? [];
const nameOf = ({ merchantId, sessionId, id }: Dispute) => ({ merchantId, sessionId, id });
const evidence = (more: Partial<Extract<ResponseRequest, { type: "EVIDENCE" }>> = {}) =>
  ({ type: "EVIDENCE", explanation: "It was delivered.", files: [], ...more }) as const;

/** Records an answer as a caller does who sends it. */
async function record(dispute: Dispute, request: ResponseRequest, isTaken = true) {
  const prepared = await prepareResponse(core, nameOf(dispute), request);
  return core.database.transaction((tx) => recordResponse(tx, core, nameOf(dispute), { prepared, isTaken }));
}
async function answer(dispute: Dispute, request: ResponseRequest, by = core) {
  const recorded = await record(dispute, request);
  if (recorded) await runResponse(by, recorded);
  return (await disputesOf({ id: dispute.sessionId }))[0]!;
}
const refund = ({ id: sessionId, merchantId }: PaymentSession) =>
  requestRefund(core, { sessionId, merchantId, key: "return-1" });
/** A core whose gateway answers so. */
function answering(change: Partial<GatewayDisputeAnswers>) {
  const bind: typeof core.bind = async (...asked) => {
    const bound = await core.bind(...asked);
    const connector =
      bound &&
      replaced<Connector>(bound.connector, { disputeAnswers: { ...bound.connector.disputeAnswers!, ...change } });
    return bound && { ...bound, connector: connector! };
  };
  return { ...core, bind };
}
const sealed = async ({ sessionId }: Dispute) => {
  const text = `SELECT (SELECT count(*)::int FROM dispute_file WHERE session_id = $1) AS files,
    (SELECT count(*)::int FROM dispute_response WHERE session_id = $1 AND content_sealed IS NOT NULL) AS contents`;
  return (await core.database.query<{ files: number; contents: number }>({ name: "sealed", text }, [sessionId]))[0]!;
};

describe("an acceptance", () => {
  it.each([
    ["SANDBOX_A", a!],
    ["SANDBOX_B", b!],
  ])("ends the dispute at %s, for good", async (_, connectionId) => {
    const { session, dispute } = await disputed("Disputed", connectionId);
    const now = await answer(dispute, { type: "ACCEPT" });
    expect(now.responses).toMatchObject([{ type: "ACCEPT", status: "TAKEN", sends: 1 }]);
    const ended = { status: "ACCEPTED", heldMinor: 4900 };
    await expect.poll(() => disputesOf(session), { timeout: 10_000 }).toMatchObject([ended]);
    await expect(refund(session)).rejects.toMatchObject({ code: "payment_disputed" });
    // A repeat answers the dispute as it stands.
    expect(await record(dispute, { type: "ACCEPT" })).toBeUndefined();
    await expect(record(dispute, evidence())).rejects.toMatchObject({ code: "evidence_already_submitted" });
  });

  it("D2: holds the money from its commit on, and is refused for what was refunded", async () => {
    const { session, dispute } = await disputed("Inquiry");
    const by = answering({ options: async () => ({ accept: true, defenses: [] }) });
    await refund(session);
    const prepared = prepareResponse(by, nameOf(dispute), { type: "ACCEPT" });
    await expect(prepared).rejects.toMatchObject({ code: "payment_refunded" });
  });

  it("D2: is made, or a refund of the inquiry is, at one moment", async () => {
    const by = answering({
      options: async () => ({ accept: true, defenses: [] }),
      accept: async () => ({ type: "taken" }),
    });
    for (let pair = 0; pair < 5; pair++) {
      const { session, dispute } = await disputed("Inquiry");
      const prepared = await prepareResponse(by, nameOf(dispute), { type: "ACCEPT" });
      const results = await Promise.allSettled([
        core.database.transaction((tx) => recordResponse(tx, core, nameOf(dispute), { prepared, isTaken: true })),
        refund(session),
      ]);
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
  });
});

describe("evidence", () => {
  it("is examined, and won: then the payment can be refunded again", async () => {
    const { session, dispute } = await disputed();
    const file = { name: "receipt.pdf", contentType: "application/pdf", content: Buffer.from("%PDF-1.4 …") };
    const { id } = await core.database.transaction((tx) => addFile(tx, core, nameOf(dispute), file));
    const files = [
      { file: "facts", type: "other" },
      { file: encodeId("file", id), type: "receipt" },
    ];
    const now = await answer(dispute, evidence({ explanation: "winning_evidence", files }));
    expect(now).toMatchObject({ status: "UNDER_REVIEW", responses: [{ type: "EVIDENCE", status: "TAKEN" }] });
    expect(now.responses[0]!.documents).toMatchObject([{ name: "receipt.pdf" }, { name: "payment-facts.pdf" }]);
    await fixture.sandbox.setClockAhead(20 * second);
    await readAll();
    expect(await disputesOf(session)).toMatchObject([{ status: "WON", heldMinor: 0 }]);
    await refund(session);
  });

  it("at SANDBOX_B has its explanation in the facts", async () => {
    const { session, dispute } = await disputed("Disputed", b!);
    const defense = "SUPPLYDEFENSEMATERIAL";
    const request = evidence({ defense, explanation: "(winning_evidence)" });
    await expect(record(dispute, request)).rejects.toMatchObject({ code: "invalid_field", field: "explanation" });
    await answer(dispute, { ...request, files: [{ file: "facts", type: "DefenseMaterial" }] });
    await expect.poll(() => disputesOf(session), { timeout: 10_000 }).toMatchObject([{ status: "UNDER_REVIEW" }]);
    await fixture.sandbox.setClockAhead(20 * second);
    await expect.poll(() => disputesOf(session), { timeout: 10_000 }).toMatchObject([{ status: "WON", heldMinor: 0 }]);
  });

  it.each<[string, Partial<Parameters<typeof evidence>[0]>, string, string]>([
    ["nothing", { explanation: undefined }, "invalid_field", "explanation"],
    ["a card's number", { explanation: "Card 4242 4242 4242 4242" }, "invalid_field", "explanation"],
    [
      "a card's number in place of a parcel's",
      { shipping: { carrier: "DHL", trackingNumber: "4242 4242 4242 4242", shippedOn: "2026-02-28" } },
      "invalid_field",
      "shipping.trackingNumber",
    ],
    [
      "a card's number in place of the carrier",
      { shipping: { carrier: "4242424242424242", trackingNumber: "1", shippedOn: "2026-02-28" } },
      "invalid_field",
      "shipping.carrier",
    ],
    [
      "a day that is none",
      { shipping: { carrier: "DHL", trackingNumber: "1", shippedOn: "2026-02-30" } },
      "invalid_field",
      "shipping.shippedOn",
    ],
    ["a defense of another gateway", { defense: "LIABILITY_SHIFT" }, "not_offered", "defense"],
    ["a document of another gateway", { files: [{ file: "facts", type: "selfie" }] }, "not_offered", "files[0].type"],
    [
      "no file",
      { files: [{ file: "file_01m7yf98y0ffn9t7q13cv6rysk", type: "receipt" }] },
      "invalid_field",
      "files[0].file",
    ],
    [
      "a file twice",
      {
        files: [
          { file: "facts", type: "receipt" },
          { file: "facts", type: "other" },
        ],
      },
      "invalid_field",
      "files[1].file",
    ],
    [
      "a type twice",
      {
        files: [
          { file: "facts", type: "other" },
          { file: "x", type: "other" },
        ],
      },
      "invalid_field",
      "files[1].type",
    ],
  ])("is refused with its field and rule: %s", async (_, change, code, field) => {
    const { dispute } = await theOne();
    await expect(record(dispute, evidence(change))).rejects.toMatchObject({ code, field });
    expect((await disputesOf({ id: dispute.sessionId }))[0]!.responses).toEqual([]);
  });
  let one: ReturnType<typeof disputed> | undefined;
  const theOne = () => (one ??= disputed());

  it("has a tracking number with the check digit of a card, as one in ten has, but of no card's first digits and length", async () => {
    const { session, dispute } = await disputed();
    await record(
      dispute,
      evidence({ shipping: { carrier: "FedEx", trackingNumber: "612999984109", shippedOn: "2026-02-28" } }),
    );
    expect((await disputesOf(session))[0]!.responses).toMatchObject([{ type: "EVIDENCE" }]);
  });

  it("is refused for the deadline once the gateway takes nothing more", async () => {
    const { dispute } = await disputed();
    await fixture.setClockAhead(19 * 24 * 60);
    const by = answering({ options: async () => ({ accept: false, defenses: [] }) });
    const late = prepareResponse(by, nameOf(dispute), evidence());
    await expect(late).rejects.toMatchObject({ code: "response_closed", field: "respondBy" });
  });

  it("is a file that is what it says, five of them, 4 MiB together", async () => {
    const { dispute } = await disputed();
    const add = (content: Buffer, contentType = "application/pdf", name = "a.pdf") =>
      core.database.transaction((tx) => addFile(tx, core, nameOf(dispute), { name, contentType, content }));
    const pdf = (bytes: number) => Buffer.concat([Buffer.from("%PDF-1.4"), Buffer.alloc(bytes - 8)]);
    const refused = { code: "invalid_field", field: "content" };
    await expect(add(Buffer.from("<html>"))).rejects.toMatchObject(refused);
    await expect(add(pdf(9), "image/jpeg", "a.jpg")).rejects.toMatchObject(refused);
    await expect(add(pdf(9), "application/pdf", "a.jpg")).rejects.toMatchObject(refused);
    const named = add(pdf(9), "application/pdf", "4242 4242 4242 4242.pdf");
    await expect(named).rejects.toMatchObject({ ...refused, field: "name" });
    await add(Buffer.from([0xff, 0xd8, 0xff, 0xe0]), "image/jpeg", "a.jpeg");
    await add(pdf(2 * 1024 * 1024));
    await expect(add(pdf(2 * 1024 * 1024))).rejects.toMatchObject(refused);
    for (let count = 2; count < 5; count++) await add(pdf(9));
    await expect(add(pdf(9))).rejects.toMatchObject(refused);
  });
});

describe("an answer without an answer of the gateway", () => {
  it("D7: is looked up, and made once", async () => {
    const { session, dispute } = await disputed("Disputed, and answers are lost");
    const lost = await answer(dispute, evidence());
    expect(lost.responses).toMatchObject([{ status: "REQUESTED", sends: 1 }]);
    await fixture.setClockAhead(2);
    expect(await answerDueOnce(core)).toBe(true);
    expect(await disputesOf(session)).toMatchObject([
      { status: "UNDER_REVIEW", responses: [{ status: "TAKEN", sends: 1 }] },
    ]);
    expect(await answerDueOnce(core)).toBe(false);
  });

  it("D7: is sent again with the same key where the gateway has nothing", async () => {
    const { dispute } = await disputed();
    const keys: string[] = [];
    const by = answering({
      accept: async ({ idempotencyKey }) => {
        keys.push(idempotencyKey);
        return keys.length === 1 ? { type: "unknown", reason: "no answer" } : { type: "taken" };
      },
    });
    await answer(dispute, { type: "ACCEPT" }, by);
    await fixture.setClockAhead(2);
    await answerDueOnce(by);
    expect(keys).toEqual([keys[0], keys[0]]);
    expect((await disputesOf({ id: dispute.sessionId }))[0]!.responses).toMatchObject([{ status: "TAKEN", sends: 2 }]);
  });

  it("D7: is sent by a worker if its process died before the first byte", async () => {
    const { session, dispute } = await disputed();
    await record(dispute, { type: "ACCEPT" });
    expect(await answerDueOnce(core)).toBe(false);
    await fixture.setClockAhead(2);
    expect(await answerDueOnce(core)).toBe(true);
    expect(await disputesOf(session)).toMatchObject([{ status: "ACCEPTED", responses: [{ status: "TAKEN" }] }]);
  });

  it("D7: waits for a notice where a repeat is refused and nothing can be read, and a person is notified", async () => {
    const { session, dispute } = await disputed("Disputed", b!);
    let sent = 0;
    const by = answering({
      accept: async () =>
        sent++ === 0 ? { type: "unknown", reason: "no answer" } : { type: "refused", gatewayCode: "already" },
    });
    await answer(dispute, { type: "ACCEPT" }, by);
    await fixture.setClockAhead(2);
    await answerDueOnce(by);
    expect(await disputesOf(session)).toMatchObject([{ responses: [{ status: "REQUESTED", sends: 2 }] }]);
    await fixture.setClockAhead(65);
    await answerDueOnce(by);
    const open = { kind: "RESPONSE_UNANSWERED", rule: encodeId("dsp", dispute.id), resolvedAt: null };
    expect(await itemsOf(fixture, session)).toMatchObject([open]);
    // The first request had arrived.
    const { bind } = core;
    const bound = (await bind(b!, "SANDBOX_B", 1))!;
    await bound.connector.disputeAnswers!.accept({ ...bound, timeoutMs: 5_000, idempotencyKey: "x" }, dispute);
    await expect.poll(() => disputesOf(session), { timeout: 10_000 }).toMatchObject([{ status: "ACCEPTED" }]);
    await fixture.setClockAhead(130);
    await answerDueOnce(by);
    expect(await disputesOf(session)).toMatchObject([{ responses: [{ status: "TAKEN" }] }]);
    expect(await itemsOf(fixture, session)).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  });

  it("D7: waits for a notice where its only request is refused because a proxy sent it twice", async () => {
    const { session, dispute } = await disputed("Disputed", b!);
    const bound = (await core.bind(b!, "SANDBOX_B", 1))!;
    const by = answering({
      accept: async (...call) => {
        await bound.connector.disputeAnswers!.accept(...call);
        return { type: "refused", gatewayCode: "already" };
      },
    });
    await answer(dispute, { type: "ACCEPT" }, by);
    expect(await disputesOf(session)).toMatchObject([{ responses: [{ status: "REQUESTED", sends: 1 }] }]);
    await expect.poll(() => disputesOf(session), { timeout: 10_000 }).toMatchObject([{ status: "ACCEPTED" }]);
    await fixture.setClockAhead(2);
    await answerDueOnce(by);
    expect(await disputesOf(session)).toMatchObject([{ responses: [{ status: "TAKEN" }] }]);
  });

  it.each<[string, string, ResponseRequest, object]>([
    ["SANDBOX_A", a!, evidence(), { status: "UNDER_REVIEW" }],
    ["SANDBOX_B", b!, { type: "ACCEPT" }, {}],
  ])("D7: that %s refuses has no effect, and another one may follow", async (_, connectionId, other, now) => {
    const { dispute } = await disputed("Disputed", connectionId);
    const by = answering({ accept: async () => ({ type: "refused", gatewayCode: "not_now" }) });
    const refused = { status: "REFUSED", failureCode: "not_now" };
    expect((await answer(dispute, { type: "ACCEPT" }, by)).responses).toMatchObject([refused]);
    expect(await answer(dispute, other)).toMatchObject({ ...now, responses: [refused, { status: "TAKEN" }] });
  });
});

it("seals files and explanations again with a new key, which sends them too", async () => {
  const { dispute } = await disputed();
  const files = [{ file: "facts", type: "other" }];
  await record(dispute, evidence({ files }));
  const second = { ...core.sealing.keys, k2: Buffer.alloc(32, 9) };
  expect(await resealDisputes(fixture.asOwner, { current: "k2", keys: second })).toBeGreaterThanOrEqual(2);
  expect(await resealDisputes(fixture.asOwner, { current: "k2", keys: second })).toBe(0);
  await fixture.setClockAhead(2);
  await work({ ...core, sealing: { current: "k2", keys: { k2: second.k2! } } });
  expect((await disputesOf({ id: dispute.sessionId }))[0]).toMatchObject({ responses: [{ status: "TAKEN" }] });
});

it("erases the files of a customer's disputes at once, those of an open one at its end", async () => {
  const [ended, open] = [await disputed(), await disputed()];
  const files = [{ file: "facts", type: "other" }];
  await answer(ended.dispute, evidence({ explanation: "losing_evidence", files }));
  await fixture.sandbox.setClockAhead(20 * second);
  await readAll();
  await answer(open.dispute, evidence({ files }));
  for (const { merchantId, sessionId } of [ended.dispute, open.dispute])
    await core.database.transaction((tx) => eraseFromSession(tx, { merchantId, sessionId }));
  expect(await sealed(ended.dispute)).toEqual({ files: 0, contents: 0 });
  expect(await sealed(open.dispute)).toEqual({ files: 1, contents: 1 });
});

it("keeps files and explanations for 90 days after the dispute's end, then names, sizes and hashes alone", async () => {
  const { dispute } = await disputed();
  const files = [{ file: "facts", type: "other" }];
  await answer(dispute, evidence({ explanation: "losing_evidence", files }));
  await fixture.sandbox.setClockAhead(20 * second);
  await readAll();
  await fixture.setClockAhead(89 * 24 * 60);
  await sweepOldRowsOnce(core.database);
  expect(await sealed(dispute)).toEqual({ files: 1, contents: 1 });
  await fixture.setClockAhead(91 * 24 * 60);
  await sweepOldRowsOnce(core.database);
  expect(await sealed(dispute)).toEqual({ files: 0, contents: 0 });
  const [{ responses }] = (await disputesOf({ id: dispute.sessionId })) as [Dispute];
  expect(responses[0]!.documents).toMatchObject([{ name: "payment-facts.pdf", sha256: expect.any(String) }]);
});
