/** Answers to disputes by members: who may give them, what the audit trail has of them, and the limits of roles. */
import { describe, expect, it } from "vitest";
import { DisputeService } from "../../gen/dashboard/v1/disputes_pb.ts";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { SettlementService } from "../../gen/dashboard/v1/settlement_pb.ts";
import { LedgerEntry_Type } from "../../gen/payments/v1/ledger_pb.ts";
import { Dispute_Status, DisputeResponse_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { makeDisputed } from "../dev/testing/dashboard/disputed-payment.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const viv = await pages.join("Viv", "VIEWER");
const dev = await pages.join("Dev", "DEVELOPER");
const olive = await pages.join("Olive", "OWNER");

const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" } as const;
type Method = keyof typeof DisputeService.method;
const call = (method: Method, who: typeof viv, request: object) =>
  pages.call(DisputeService.method[method], who, { ...scope, ...request });
const disputeOf = async (sessionId: string) => {
  const { merchantId } = dashboard;
  const shown = await pages.payments(viv).getPayment({ merchantId, environment: Environment.TEST, sessionId });
  return shown.payment!.disputes[0]!;
};
const audited = async (action: string) =>
  dashboard.rows<{ actor: string; subject: string; after: object }>(
    "SELECT actor, subject, after FROM audit_entry WHERE action = $1 ORDER BY id DESC LIMIT 1",
    [action],
  );

describe("an answer to a dispute", () => {
  it("is given by developers and owners, and audited; a worker sends it", async () => {
    const dispute = await makeDisputed(dashboard);
    expect(await disputeOf(dispute.sessionId)).toMatchObject({ answerable: true, silent: false });
    for (const method of ["acceptDispute", "getDisputeOptions", "getDisputeFacts"] as const)
      expect(await codeOf(call(method, viv, dispute))).toBe("role_not_allowed");
    expect(await call("getDisputeOptions", dev, dispute)).toMatchObject({ options: { accept: true } });
    const content = Buffer.from("%PDF-1.4").toString("base64");
    const added = await call("addDisputeFile", dev, {
      ...dispute,
      file: { name: "receipt.pdf", contentType: "application/pdf", content },
    });
    const { file } = added as { file: { fileId: string } };
    const evidence = { explanation: "It was delivered.", files: [{ file: file.fileId, type: "receipt" }] };
    await call("submitEvidence", dev, { ...dispute, evidence });
    await call("submitEvidence", dev, { ...dispute, evidence });
    expect(await codeOf(call("acceptDispute", dev, dispute))).toBe("evidence_already_submitted");
    const { responses, status } = await disputeOf(dispute.sessionId);
    expect(status).toBe(Dispute_Status.NEEDS_RESPONSE);
    expect(responses).toMatchObject([
      { status: DisputeResponse_Status.REQUESTED, documents: [{ name: "receipt.pdf" }] },
    ]);
    const after = { sessionId: dispute.sessionId, type: "EVIDENCE", documents: 1 };
    expect(await audited("SubmitEvidence")).toMatchObject([{ subject: dispute.disputeId, after }]);
    expect(JSON.stringify(await audited("SubmitEvidence"))).not.toContain("delivered");
  });

  it("that accepts counts towards the daily limit of the role", async () => {
    const limits = { role: Role.DEVELOPER, limits: [{ currency: "EUR", amountMinor: 4900n }], revision: "" };
    const { merchantId } = dashboard;
    const refunds = pages.refunds(olive);
    const shown = await refunds.getRefundLimits({ merchantId, environment: Environment.TEST });
    const { revision } = shown.limits.find(({ role }) => role === Role.DEVELOPER)!;
    await refunds.setRefundLimits({ merchantId, environment: Environment.TEST, ...limits, revision });
    const [first, second] = [await makeDisputed(dashboard), await makeDisputed(dashboard)];
    await call("acceptDispute", dev, first);
    expect(await codeOf(call("acceptDispute", dev, second))).toBe("role_not_allowed");
    expect((await disputeOf(second.sessionId)).responses).toEqual([]);
    await call("acceptDispute", olive, second);
    const after = { type: "ACCEPT", amountMinor: 4900, currency: "EUR" };
    expect(await audited("AcceptDispute")).toMatchObject([{ actor: expect.stringContaining("olive@"), after }]);
  });

  it("is an owner's word where the gateway stays silent", async () => {
    const [silent, fresh] = [await makeDisputed(dashboard, { silent: true }), await makeDisputed(dashboard)];
    const word = { won: false, reason: "Adyen shows it as lost" };
    expect(await codeOf(call("decideDispute", dev, { ...silent, ...word }))).toBe("role_not_allowed");
    expect(await codeOf(call("decideDispute", olive, { ...fresh, ...word }))).toBe("state_conflict");
    await call("decideDispute", olive, { ...silent, ...word });
    expect(await disputeOf(silent.sessionId)).toMatchObject({
      status: Dispute_Status.LOST,
      silent: false,
      decidedBy: expect.stringContaining("olive@"),
      decisionReason: word.reason,
    });
    expect(await codeOf(call("decideDispute", olive, { ...silent, ...word }))).toBe("state_conflict");
  });

  it("is an owner's word that the gateway settled the dispute by a refund of its own", async () => {
    const settled = await makeDisputed(dashboard, { settled: true });
    const other = await makeDisputed(dashboard, { settled: true });
    const { sessionId, disputeId, refundId } = settled;
    const movedOf = async () => {
      const method = SettlementService.method.getPaymentSettlements;
      type Shown = { settlements: { type: number }[] };
      const { settlements } = (await pages.call(method, viv, { ...scope, sessionId })) as Shown;
      return settlements.map(({ type }) => type).toSorted();
    };
    const { CAPTURED, REFUNDED, CHARGEBACK, CHARGEBACK_REVERSED } = LedgerEntry_Type;
    const before = await disputeOf(sessionId);
    expect(await movedOf()).toEqual([CAPTURED, REFUNDED, CHARGEBACK]);
    expect(before).toMatchObject({ linkableRefundIds: [refundId], linkedRefundId: "" });
    expect(before.overlap).toMatchObject({ amountMinor: 4900n });
    const word = { ...settled, reason: "PayPal's activity shows one" };
    expect(await codeOf(call("linkDisputeRefund", dev, word))).toBe("role_not_allowed");
    expect(await codeOf(call("linkDisputeRefund", olive, { ...word, refundId: other.refundId }))).toBe("not_found");
    await call("linkDisputeRefund", olive, word);
    const after = await disputeOf(sessionId);
    expect(after).toMatchObject({
      linkableRefundIds: [],
      linkedRefundId: refundId,
      linkedBy: expect.stringContaining("olive@"),
      linkReason: word.reason,
    });
    expect([after.held, after.overlap]).toEqual([undefined, undefined]);
    // PayPal's statement has the refund alone.
    expect(await movedOf()).toEqual([CAPTURED, REFUNDED]);
    await dashboard.rows("SELECT FROM app.insert_dispute_movement($1, $2, 'CHARGEBACK', 4900, 'EUR')", [
      decodeId("ps", sessionId),
      decodeId("dsp", disputeId),
    ]);
    expect(await movedOf()).toEqual([CAPTURED, REFUNDED, CHARGEBACK, CHARGEBACK, CHARGEBACK_REVERSED]);
    expect(await codeOf(call("linkDisputeRefund", olive, word))).toBe("state_conflict");
    expect(await audited("LinkDisputeRefund")).toMatchObject([{ subject: disputeId, after: { sessionId, refundId } }]);
  });
});
