/** Manual decisions about attempts that no gateway resolves: who may decide, and what they state. */
import { describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { AttemptDecision_Kind as Kind } from "../../gen/dashboard/v1/payments_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { type MadePayment, makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => live);
const [live, test] = await Promise.all([
  forFile(() => startDashboardFixture({ members: true, live: true })),
  forFile(startDashboardFixture),
]);
const cookies = {
  olive: await pages.join("Olive", "OWNER"),
  dora: await pages.join("Dora", "DEVELOPER"),
  viv: await pages.join("Viv", "VIEWER"),
  stale: await pages.enterStale("Olive"),
};
await Promise.all([openTables(live), openTables(test)]);

const anHourAgo = () => new Date(Date.now() - 3_600_000);
const unanswered = (): MadePayment => ({
  status: "CREATED",
  processing: true,
  createdAt: anHourAgo(),
  attempts: [{ gateway: "SANDBOX_A", became: "CAPTURING", gatewayReference: `ch_${Math.random()}` }],
});
const voiding = (): MadePayment => ({
  status: "DEGRADED",
  processing: true,
  createdAt: anHourAgo(),
  attempts: [{ gateway: "SANDBOX_A", became: "VOIDING" }],
});
async function made(payment: MadePayment, at = live) {
  const { sessionId, attemptIds } = await makePayment(at, payment);
  const environment = at === live ? Environment.LIVE : Environment.TEST;
  return { merchantId: at.merchantId, environment, sessionId, attemptId: attemptIds[0]! };
}
const trailOf = (attemptId: string, at = live) =>
  at.rows("SELECT actor, action, before, after FROM audit_entry WHERE subject = $1 ORDER BY id", [attemptId]);
async function attemptOf(of: Awaited<ReturnType<typeof made>>) {
  const { payment } = await pages.payments(cookies.viv).getPayment(of);
  return payment!.attempts[0]!;
}
const givenUp = { kind: Kind.GIVEN_UP, reason: "Refunded there.", noMoneyKept: true };
const captured = { kind: Kind.CAPTURED, gatewayReference: "PSP1", reason: "Seen there." };

describe("a decision in live", () => {
  it("takes effect when a second member confirms it; the audit trail names both and what they saw", async () => {
    const of = await made(unanswered());
    expect((await attemptOf(of)).openDecisions).toEqual([Kind.GIVEN_UP, Kind.CAPTURED]);
    const { decision } = await pages.payments(cookies.dora).decideAttempt({ ...of, ...captured });
    expect(decision).toMatchObject({ kind: Kind.CAPTURED, takesTwo: true, confirmedBy: "", gatewayReference: "PSP1" });
    expect(decision?.confirmedAt).toBeUndefined();
    const seen = { ...of, kind: Kind.CAPTURED, gatewayReference: "PSP1" };
    expect(await codeOf(pages.payments(cookies.dora).confirmAttemptDecision(seen))).toBe("state_conflict");
    const other = { ...seen, gatewayReference: "PSP2" };
    expect(await codeOf(pages.payments(cookies.olive).confirmAttemptDecision(other))).toBe("state_conflict");
    await pages.payments(cookies.olive).confirmAttemptDecision(seen);
    expect((await attemptOf(of)).decision).toMatchObject({
      decidedBy: expect.stringMatching(/^dora@example.com \(mbr_/),
      confirmedBy: expect.stringMatching(/^olive@example.com \(mbr_/),
    });
    expect((await attemptOf(of)).openDecisions).toEqual([]);
    const record = { decision: "CAPTURED", reference: "PSP1", reason: "Seen there.", takesTwo: true };
    expect(await trailOf(of.attemptId)).toMatchObject([
      { action: "DecideAttempt", before: null, after: { ...record, confirmedBy: null } },
      {
        action: "ConfirmAttemptDecision",
        actor: expect.stringMatching(/^olive@/),
        before: { ...record, confirmedBy: null },
        after: { confirmedBy: expect.stringMatching(/^olive@/) },
      },
    ]);
    const { payment } = await pages.payments(cookies.viv).getPayment(of);
    expect(payment!.timeline).toContainEqual(
      expect.objectContaining({ step: "Decided that the attempt is captured as PSP1", why: "Seen there." }),
    );
  });

  it("names a captured amount that is not the ordered one, which the second member confirms as read", async () => {
    const of = await made(unanswered());
    const [dora, olive] = [pages.payments(cookies.dora), pages.payments(cookies.olive)];
    expect(await codeOf(dora.decideAttempt({ ...of, ...captured, amountMinor: 999_999n }))).toBe("amount_exceeds_held");
    const { decision } = await dora.decideAttempt({ ...of, ...captured, amountMinor: 900n });
    expect(decision?.amount).toMatchObject({ amountMinor: 900n, currency: "EUR", exponent: 2 });
    const seen = { ...of, kind: Kind.CAPTURED, gatewayReference: "PSP1" };
    for (const other of [seen, { ...seen, amountMinor: 901n }])
      expect(await codeOf(olive.confirmAttemptDecision(other))).toBe("state_conflict");
    await olive.confirmAttemptDecision({ ...seen, amountMinor: 900n });
    expect((await trailOf(of.attemptId))[1]).toMatchObject({ after: { amountMinor: 900, currency: "EUR" } });
    const { payment } = await pages.payments(cookies.viv).getPayment(of);
    expect(payment!.timeline).toContainEqual(
      expect.objectContaining({ step: "Decided that the attempt is captured as PSP1, 9.00 EUR" }),
    );
  });

  it("cannot be made or confirmed by operators, who may also be members, but can be withdrawn by them", async () => {
    const of = await made(voiding());
    const ada = pages.payments(undefined, await live.hireOperator("ada"));
    expect(await codeOf(ada.decideAttempt({ ...of, ...givenUp }))).toBe("role_not_allowed");
    expect(await trailOf(of.attemptId)).toEqual([]);
    await pages.payments(cookies.dora).decideAttempt({ ...of, ...givenUp });
    expect(await codeOf(ada.confirmAttemptDecision({ ...of, kind: Kind.GIVEN_UP }))).toBe("role_not_allowed");
    await ada.withdrawAttemptDecision(of);
    expect((await attemptOf(of)).decision).toBeUndefined();
  });

  it("is withdrawn, or replaces a pending one", async () => {
    const of = await made(unanswered());
    await pages.payments(cookies.dora).decideAttempt({ ...of, ...captured });
    await pages.payments(cookies.olive).decideAttempt({ ...of, ...givenUp });
    expect((await trailOf(of.attemptId))[1]).toMatchObject({
      before: { decision: "CAPTURED", reference: "PSP1" },
      after: { decision: "GIVEN_UP", reference: null, noMoneyKept: true },
    });
    await pages.payments(cookies.dora).withdrawAttemptDecision(of);
    expect((await attemptOf(of)).decision).toBeUndefined();
    expect(await codeOf(pages.payments(cookies.dora).withdrawAttemptDecision(of))).toBe("state_conflict");
  });

  it("requires the role of developer or owner and a fresh proof of identity", async () => {
    const of = await made(voiding());
    expect(await codeOf(pages.payments(cookies.viv).decideAttempt({ ...of, ...givenUp }))).toBe("role_not_allowed");
    expect(await codeOf(pages.payments(cookies.stale).decideAttempt({ ...of, ...givenUp }))).toBe(
      "fresh_sign_in_required",
    );
    expect(await trailOf(of.attemptId)).toEqual([]);
  });

  it.each<[string, object, string]>([
    ["no statement", { ...givenUp, noMoneyKept: false }, "invalid_field"],
    ["no reason", { ...givenUp, reason: "" }, "missing_field"],
    ["no kind", { ...givenUp, kind: Kind.KIND_UNSPECIFIED }, "missing_field"],
    ["no reference", { ...captured, gatewayReference: "" }, "invalid_field"],
    ["a reference that no gateway gives", { ...captured, gatewayReference: "a b" }, "invalid_field"],
    ["a reference without a capture", { ...givenUp, gatewayReference: "PSP1" }, "invalid_field"],
    ["an amount without a capture", { ...givenUp, amountMinor: 900n }, "invalid_field"],
    ["a capture that was never ordered", captured, "state_conflict"],
    ["another payment's attempt", { ...givenUp, attemptId: "att_01h455vb4pex5vsknk084sn02q" }, "not_found"],
  ])("is refused with %s", async (_, change, code) => {
    const of = await made(voiding());
    const request = { ...of, ...change } as Parameters<ReturnType<Pages["payments"]>["decideAttempt"]>[0];
    expect(await codeOf(pages.payments(cookies.dora).decideAttempt(request))).toBe(code);
    expect(await trailOf(of.attemptId)).toEqual([]);
  });
});

describe("a decision by rpc", () => {
  const run = async (method: string, { merchantId, ...of }: Awaited<ReturnType<typeof made>>, more: object = {}) => {
    const token = (await test.hireOperator("ada")).expose();
    const at = ["--grpc-address", test.address, "--merchant", merchantId];
    const { sessionId, attemptId } = of;
    const request = JSON.stringify({ sessionId, attemptId, ...more });
    return runCommandHere(["rpc", `PaymentService/${method}`, request, ...at], {
      env: { SWITCHYARD_OPERATOR_TOKEN: token },
    });
  };

  it("ends a test attempt by one person, who states that no money is held", async () => {
    const of = await made(voiding(), test);
    const end = (more: object) => run("DecideAttempt", of, { reason: "Refunded there.", ...more });
    expect(await end({})).toMatchObject({ code: 1, err: expect.stringMatching(/^Correct kind: it is required/) });
    expect(await end({ kind: "GIVEN_UP" })).toMatchObject({ code: 1, err: expect.stringContaining("noMoneyKept") });
    expect(await end({ kind: "GIVEN_UP", noMoneyKept: true })).toMatchObject({ code: 0 });
    expect(await trailOf(of.attemptId, test)).toMatchObject([
      { actor: expect.stringMatching(/^ada \(op_/), after: { decision: "GIVEN_UP", noMoneyKept: true } },
    ]);
    const withdrawn = await run("WithdrawAttemptDecision", of);
    expect(withdrawn).toMatchObject({ code: 1, err: expect.stringContaining("state_conflict") });
  });

  it("accepts the gateway's reference of a captured amount, and another amount than the ordered one", async () => {
    const captured = { kind: "CAPTURED", gatewayReference: "PSP1", reason: "Seen there." };
    const of = await made(unanswered(), test);
    expect(await run("DecideAttempt", of, captured)).toMatchObject({ code: 0 });
    const [after] = await trailOf(of.attemptId, test);
    expect(after).toMatchObject({ after: { decision: "CAPTURED", reference: "PSP1", takesTwo: false } });
    const other = await made(unanswered(), test);
    expect(await run("DecideAttempt", other, { ...captured, amountMinor: "900" })).toMatchObject({ code: 0 });
    expect(await trailOf(other.attemptId, test)).toMatchObject([{ after: { amountMinor: 900, currency: "EUR" } }]);
  });
});
