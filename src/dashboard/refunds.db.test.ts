/** Refunds by the dashboard's rpcs and commands: roles, keys, audit rows, lists, decisions and daily limits. */
import { ConnectError } from "@connectrpc/connect";
import { v7 } from "uuid";
import { describe, expect, it, onTestFinished } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { DecideRefundRequest_Decision as Decision } from "../../gen/dashboard/v1/payments_pb.ts";
import { type RefundFilter, Refund_Status as Status } from "../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { type MadePayment, makeDispute, makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const [dashboard, operators] = await Promise.all([
  forFile(() => startDashboardFixture({ members: true })),
  forFile(startDashboardFixture),
]);
const cookies = {
  olive: await pages.join("Olive", "OWNER"),
  dora: await pages.join("Dora", "DEVELOPER"),
  dan: await pages.join("Dan", "DEVELOPER"),
  viv: await pages.join("Viv", "VIEWER"),
  stale: await pages.enterStale("Olive"),
};
const ada = await operators.hireOperator("ada");

/** Makes a captured payment. The guards are off only while its rows are written. */
async function paid(payment: MadePayment = {}, at = dashboard) {
  await openTables(at);
  const { sessionId, attemptIds } = await makePayment(at, payment);
  const attempt = decodeId("att", attemptIds.at(-1)!);
  await at.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE id = $1", [attempt]);
  await at.rows(switchGuards("ENABLE"));
  return { merchantId: at.merchantId, environment: Environment.TEST, sessionId };
}
const scope = () => ({ merchantId: dashboard.merchantId, environment: Environment.TEST });
const refund = (cookie: string, of: Awaited<ReturnType<typeof paid>>, fields: object = {}) =>
  pages.payments(cookie).refundPayment({ ...of, idempotencyKey: v7(), ...fields });
const rowsOf = (sessionId: string, at = dashboard) =>
  at.rows<{ id: string; madeBy: string }>(`SELECT id, made_by AS "madeBy" FROM refund WHERE session_id = $1`, [
    decodeId("ps", sessionId),
  ]);
const trailOf = (refundId: string) =>
  dashboard.rows("SELECT actor, action, before, after FROM audit_entry WHERE subject = $1 ORDER BY id", [refundId]);
/** Ends a refund as a worker does when its gateway refuses it. */
const fail = (refundId: string) =>
  dashboard.rows("UPDATE refund SET status = 'FAILED', failure_code = 'no', completed_at = now() WHERE id = $1", [
    decodeId("ref", refundId),
  ]);
const messageOf = (call: Promise<unknown>) =>
  call.then(
    () => "",
    (error: unknown) => ConnectError.from(error).rawMessage,
  );

describe("RefundPayment", () => {
  it("is for developers and owners with a fresh sign-in, and names them in row and audit trail", async () => {
    const of = await paid();
    expect(await codeOf(refund(cookies.viv, of))).toBe("role_not_allowed");
    expect(await codeOf(refund(cookies.stale, of))).toBe("fresh_sign_in_required");
    expect(await codeOf(refund("", of))).toBe("sign_in_required");
    expect(await rowsOf(of.sessionId)).toEqual([]);
    const fields = { amountMinor: 900n, reason: "duplicate", refundRef: "return-1" };
    const { refund: made, replayed } = await refund(cookies.dora, of, fields);
    expect(replayed).toBe(false);
    expect(made).toMatchObject({ sessionId: of.sessionId, gateway: "SANDBOX_A", status: Status.PENDING });
    expect(made).toMatchObject({
      reason: "duplicate",
      refundRef: "return-1",
      amount: { amountMinor: 900n, exponent: 2 },
    });
    expect(made?.doubt).toBe("Nothing was sent to SANDBOX_A yet.");
    const actor = expect.stringMatching(/^dora@example\.com \(mbr_\w{26}\)$/);
    expect(await rowsOf(of.sessionId)).toMatchObject([{ madeBy: actor }]);
    const after = { sessionId: of.sessionId, amountMinor: 900, currency: "EUR", gateway: "SANDBOX_A" };
    expect(await trailOf(made!.refundId)).toEqual([
      { actor, action: "RefundPayment", before: null, after: { ...after, reason: "duplicate", refundRef: "return-1" } },
    ]);
    await refund(cookies.olive, of);
    expect(await rowsOf(of.sessionId)).toHaveLength(2);
  });

  it("is one refund for each key, also at the same moment, with one audit row", async () => {
    const of = await paid();
    const fields = { idempotencyKey: "form-1", amountMinor: 700n };
    const made = await Promise.all([1, 2, 3, 4].map(() => refund(cookies.dora, of, fields)));
    const ids = new Set(made.map((each) => each.refund?.refundId));
    expect(ids.size).toBe(1);
    expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await rowsOf(of.sessionId)).toHaveLength(1);
    expect(await trailOf([...ids][0]!)).toHaveLength(1);
    expect(await codeOf(refund(cookies.dora, of, { ...fields, amountMinor: 701n }))).toBe("idempotency_key_reused");
    // Another member's page that has the same key is the same refund.
    expect((await refund(cookies.olive, of, fields)).replayed).toBe(true);
  });

  it("returns no more than was captured, and nothing of another merchant's payment", async () => {
    const of = await paid();
    expect(await codeOf(refund(cookies.dora, of, { amountMinor: 4901n }))).toBe("amount_exceeds_refundable");
    const [one, other] = await Promise.allSettled([
      refund(cookies.dora, of, { amountMinor: 2500n }),
      refund(cookies.dan, of, { amountMinor: 2500n }),
    ]);
    expect([one, other].filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await codeOf(refund(cookies.dora, await paid({ status: "DECLINED" })))).toBe("not_refundable");
    const foreign = await paid({ merchantUuid: v7() });
    expect(await codeOf(refund(cookies.dora, foreign))).toBe("not_found");
  });
});

describe("GetPayment", () => {
  it("has the disputes, what they hold, and a refund of the rest alone", async () => {
    const of = await paid();
    const read = async () => (await pages.payments(cookies.viv).getPayment(of)).payment!;
    expect((await read()).disputes).toEqual([]);
    await makeDispute(dashboard, of.sessionId);
    expect(await read()).toMatchObject({
      amountRefundable: { amountMinor: 900n },
      disputes: [
        {
          gateway: "SANDBOX_A",
          gatewayReference: expect.stringMatching(/^D-/),
          reason: "not_received",
          held: { amountMinor: 4000n },
        },
      ],
    });
    expect(await codeOf(refund(cookies.dora, of, { amountMinor: 901n }))).toBe("payment_disputed");
    await refund(cookies.dora, of);
    expect(await read()).toMatchObject({ notRefundableBecause: expect.stringMatching(/^A dispute holds/) });
  });

  it("has the refunds, what is left, and why nothing is; the timeline tells each step", async () => {
    const of = await paid();
    const read = async () => (await pages.payments(cookies.viv).getPayment(of)).payment!;
    expect(await read()).toMatchObject({ refunds: [], notRefundableBecause: "" });
    expect((await read()).amountRefunded).toBeUndefined();
    const { refund: part } = await refund(cookies.dora, of, { amountMinor: 900n, reason: "fraudulent" });
    await fail(part!.refundId);
    const listed = async () =>
      (await pages.payments(cookies.viv).listPayments({ ...scope(), pageSize: 1 })).payments[0]!;
    expect((await listed()).amountRefunded).toBeUndefined();
    const { refund: rest } = await refund(cookies.olive, of);
    const payment = await read();
    const whole = {
      sessionId: of.sessionId,
      amountCaptured: { amountMinor: 4900n },
      amountRefunded: { amountMinor: 4900n },
    };
    expect([payment.summary, await listed()]).toMatchObject([whole, whole]);
    expect(payment).toMatchObject({
      amountRefunded: { amountMinor: 4900n },
      amountRefundable: { amountMinor: 0n, currency: "EUR" },
      notRefundableBecause: expect.stringMatching(/^Nothing is left to refund/),
      refunds: [
        { refundId: part!.refundId, status: Status.FAILED, failureCode: "no", doubt: "" },
        { refundId: rest!.refundId, status: Status.PENDING, failureCode: "" },
      ],
    });
    expect(payment.timeline.filter(({ step }) => step.includes("refund"))).toMatchObject([
      { step: "Requested a refund of 9.00 EUR", why: "Reason: fraudulent.", actor: expect.stringMatching(/^dora@/) },
      { step: "Refused the refund of 9.00 EUR: no", actor: "SANDBOX_A" },
      { step: "Requested a refund of 49.00 EUR", why: "", actor: expect.stringMatching(/^olive@/) },
    ]);
    const declined = await paid({ status: "DECLINED" });
    const { payment: other } = await pages.payments(cookies.viv).getPayment(declined);
    expect(other?.notRefundableBecause).toBe("Only a payment that has succeeded can be refunded.");
    expect(other?.amountRefundable).toBeUndefined();
  });
});

describe("DecideRefund", () => {
  const reason = "Seen in the gateway's list.";
  async function alarmed() {
    const of = await paid();
    const { refund: made } = await refund(cookies.dora, of);
    const refundId = made!.refundId;
    const read = async () => (await pages.refunds(cookies.viv).getRefund({ ...scope(), refundId })).refund!;
    expect((await read()).needsDecision).toBe(false);
    await dashboard.rows(
      `INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, rule, detail)
       SELECT $2, 'REFUND_UNANSWERED', merchant_id, session_id, attempt_id, $3, 'SANDBOX_A has not answered.'
       FROM refund WHERE id = $1`,
      [decodeId("ref", refundId), v7(), refundId],
    );
    return { of: { ...of, refundId }, read };
  }

  it("is for an owner with a fresh sign-in, is offered while its alarm is open, and is audited", async () => {
    const { of, read } = await alarmed();
    expect(await read()).toMatchObject({ needsDecision: true, mayBeSent: true, doubt: "SANDBOX_A has not answered." });
    const request = { ...of, decision: Decision.MADE, gatewayReference: "re_77", reason };
    expect(await codeOf(pages.payments(cookies.dora).decideRefund(request))).toBe("role_not_allowed");
    expect(await codeOf(pages.payments(cookies.stale).decideRefund(request))).toBe("fresh_sign_in_required");
    expect(await codeOf(pages.payments(cookies.olive).decideRefund({ ...request, gatewayReference: "" }))).toBe(
      "invalid_field",
    );
    await pages.payments(cookies.olive).decideRefund(request);
    expect(await read()).toMatchObject({ needsDecision: false, decisionReason: reason });
    expect((await read()).doubt).toMatch(/^A person has recorded its end/);
    expect(await codeOf(pages.payments(cookies.olive).decideRefund(request))).toBe("state_conflict");
    expect(await trailOf(of.refundId)).toMatchObject([
      { action: "RefundPayment" },
      {
        action: "DecideRefund",
        actor: expect.stringMatching(/^olive@/),
        before: { status: "REQUESTED" },
        after: { sessionId: of.sessionId, type: "succeeded", gatewayReference: "re_77", reason },
      },
    ]);
  });
});

describe("ListRefunds", () => {
  const list = async (filter: Partial<RefundFilter> = {}, page: object = {}) => {
    const { $typeName: _, $unknown: __, ...fields } = filter as RefundFilter;
    return pages.refunds(cookies.viv).listRefunds({ ...scope(), filter: fields, ...page });
  };
  const ids = async (filter: Partial<RefundFilter>) => (await list(filter)).refunds.map(({ refundId }) => refundId);

  it("pages newest first by signed tokens, which fit no other filter, and shows no other merchant's", async () => {
    const made: string[] = [];
    for (let count = 0; count < 5; count++) {
      const of = await paid({ orderRef: "paged" });
      made.unshift((await refund(cookies.dora, of)).refund!.refundId);
    }
    const seen: string[] = [];
    const filter = { reference: "paged" };
    for (let pageToken = ""; ; ) {
      const page = await list(filter, { pageSize: 2, pageToken });
      expect(page.refunds.length).toBeLessThanOrEqual(2);
      seen.push(...page.refunds.map(({ refundId }) => refundId));
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
      expect(await codeOf(list({}, { pageToken }))).toBe("invalid_parameter");
    }
    expect(seen).toEqual(made);
    const foreign = await foreignRefund();
    expect((await list({}, { pageSize: 100 })).refunds.map(({ refundId }) => refundId)).not.toContain(foreign);
    expect(await codeOf(pages.refunds(cookies.viv).getRefund({ ...scope(), refundId: foreign }))).toBe("not_found");
  });

  async function foreignRefund(): Promise<string> {
    const of = await paid({ merchantUuid: v7() });
    const [row] = await dashboard.rows<{ id: string }>(
      `INSERT INTO refund (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, request_hash, next_try_at)
       SELECT session_id, $2, id, connection_id, gateway, 100, currency, '\\x00', now() FROM attempt WHERE session_id = $1
       RETURNING id`,
      [decodeId("ps", of.sessionId), v7()],
    );
    return encodeId("ref", row!.id);
  }

  it("finds by state, gateway, currency, amount, day, and any reference", async () => {
    const of = await paid({ orderRef: "find-me", currency: "KWD", amountMinor: 4900 });
    const { refund: made } = await refund(cookies.dora, of, { amountMinor: 1234n, refundRef: "my-ref" });
    const id = made!.refundId;
    for (const filter of [
      { reference: id },
      { reference: "my-ref" },
      { reference: "find-me" },
      { currency: "KWD", status: Status.PENDING },
      { currency: "KWD", gateway: "SANDBOX_A", amountFrom: 1234n, amountTo: 1234n },
    ])
      expect(await ids(filter)).toEqual([id]);
    for (const filter of [
      { reference: "find" },
      { currency: "KWD", status: Status.SUCCEEDED },
      { currency: "KWD", gateway: "STRIPE" },
      { currency: "KWD", amountFrom: 1235n },
      { currency: "KWD", createdBefore: made!.createdAt! },
    ])
      expect(await ids(filter)).toEqual([]);
    await dashboard.rows("UPDATE refund SET status = 'PENDING', gateway_reference = 'psp-9' WHERE id = $1", [
      decodeId("ref", id),
    ]);
    expect(await ids({ reference: "psp-9" })).toEqual([id]);
    expect(await ids({ currency: "KWD", createdAfter: made!.createdAt! })).toEqual([id]);
    expect(await codeOf(list({ amountFrom: 2n, amountTo: 1n }))).toBe("invalid_parameter");
  });

  it("is exported as CSV without formulas, with one audit row", async () => {
    const of = await paid({ orderRef: "=1+1" });
    await refund(cookies.dora, of, { amountMinor: 5n, refundRef: "4242424242424242" });
    const { csv, refunds } = await pages
      .refunds(cookies.viv)
      .exportRefunds({ ...scope(), filter: { reference: "=1+1" } });
    expect(refunds).toBe(1);
    const [headings, row] = csv.split("\r\n");
    expect(headings).toMatch(
      /^refund_id,session_id,order_ref,amount,amount_minor,currency,status,gateway,gateway_reference,/,
    );
    expect(row).toMatch(/^ref_\w{26},ps_\w{26},"'=1\+1",0\.05,5,EUR,PENDING,SANDBOX_A,,,,\*{12}4242,dora@example\.com/);
    expect(await dashboard.rows("SELECT 1 FROM audit_entry WHERE action = 'ExportRefunds'")).toHaveLength(1);
  });
});

describe("a member's daily limit", () => {
  const set = (cookie: string, role: Role, limits: { currency: string; amountMinor: bigint }[]) =>
    pages.refunds(cookie).setRefundLimits({ ...scope(), role, limits });
  const usd = (): MadePayment => ({ currency: "USD" });

  it("is set by an owner with a fresh sign-in, per role and currency, and audited before and after", async () => {
    const limits = [{ currency: "USD", amountMinor: 1000n }];
    expect(await codeOf(set(cookies.dora, Role.DEVELOPER, limits))).toBe("role_not_allowed");
    expect(await codeOf(set(cookies.stale, Role.DEVELOPER, limits))).toBe("fresh_sign_in_required");
    expect(await codeOf(set(cookies.olive, Role.VIEWER, limits))).toBe("invalid_field");
    expect(await codeOf(set(cookies.olive, Role.DEVELOPER, [...limits, ...limits]))).toBe("invalid_field");
    expect(await codeOf(set(cookies.olive, Role.DEVELOPER, [{ currency: "XYZ", amountMinor: 1n }]))).toBe(
      "invalid_field",
    );
    await set(cookies.olive, Role.DEVELOPER, limits);
    const { limits: kept } = await pages.refunds(cookies.viv).getRefundLimits(scope());
    expect(kept).toMatchObject([
      { role: Role.SUPPORT, amounts: [] },
      { role: Role.DEVELOPER, amounts: [{ currency: "USD", amountMinor: 1000n, exponent: 2 }] },
      { role: Role.OWNER, amounts: [] },
    ]);
    expect(await trailOf(`${dashboard.merchantId}/refund-limits`)).toMatchObject([
      { action: "SetRefundLimits", before: { DEVELOPER: {} }, after: { DEVELOPER: { USD: 1000 } } },
    ]);
    // Another owner was first, about the same role.
    const { revision } = kept[1]!;
    await set(cookies.olive, Role.DEVELOPER, [{ currency: "USD", amountMinor: 1n }]);
    const late = pages.refunds(cookies.olive).setRefundLimits({ ...scope(), role: Role.DEVELOPER, limits, revision });
    expect(await codeOf(late)).toBe("state_conflict");
    const ofOwners = { ...scope(), role: Role.OWNER, limits: [], revision: kept[2]!.revision };
    await pages.refunds(cookies.olive).setRefundLimits(ofOwners);
  });

  it("lets through no more at one moment than alone, and names the limit and what is left", async () => {
    await set(cookies.olive, Role.DEVELOPER, [{ currency: "USD", amountMinor: 1000n }]);
    const payments = [await paid(usd()), await paid(usd()), await paid(usd())];
    const answers = await Promise.allSettled(payments.map((of) => refund(cookies.dora, of, { amountMinor: 600n })));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const of = payments[answers.findIndex(({ status }) => status === "rejected")]!;
    const more = refund(cookies.dora, of, { amountMinor: 401n });
    expect(await codeOf(more)).toBe("role_not_allowed");
    expect(await messageOf(more)).toBe(
      "Your role may refund at most 10.00 USD per day (UTC), and 4.00 USD of it is left today. An owner can change the limit in the settings.",
    );
    expect(await rowsOf(of.sessionId)).toEqual([]);
    await refund(cookies.dora, of, { amountMinor: 400n });
  });

  it("makes the refunds of one member take turns", async () => {
    await set(cookies.olive, Role.DEVELOPER, [{ currency: "USD", amountMinor: 100_000n }]);
    const of = await paid(usd());
    const [dora] = await dashboard.accountRows<{ id: string }>("SELECT id FROM member WHERE name = 'Dora'");
    const client = await dashboard.database.pool.connect();
    onTestFinished(() => client.release());
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('refund cap ' || $1, 0))", [dora!.id]);
    const made = refund(cookies.dora, of, { amountMinor: 600n });
    const waiting = () => dashboard.rows("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    await expect.poll(async () => (await waiting()).length).toBe(1);
    await client.query("ROLLBACK");
    await made;
  });

  it("is counted while a change of the configuration is under way", async () => {
    await set(cookies.olive, Role.DEVELOPER, [{ currency: "USD", amountMinor: 100_000n }]);
    const of = await paid(usd());
    const client = await dashboard.database.pool.connect();
    onTestFinished(() => client.release());
    await client.query("BEGIN");
    await client.query("SELECT FROM merchant_settings FOR UPDATE");
    await refund(cookies.dora, of, { amountMinor: 600n });
    await client.query("ROLLBACK");
  });

  it("is that of the role when the refund is durable: one that began under another role is refused", async () => {
    await set(cookies.olive, Role.DEVELOPER, [{ currency: "USD", amountMinor: 100n }]);
    const { memberId } = await dashboard.addMember("Uma", "OWNER");
    const [cookie, of] = [await pages.enter("Uma"), await paid(usd())];
    const client = await dashboard.accounts.pool.connect();
    onTestFinished(() => client.release());
    await client.query("BEGIN");
    await client.query("UPDATE membership SET role = 'DEVELOPER', live_role = 'DEVELOPER' WHERE member_id = $1", [
      decodeId("mbr", memberId),
    ]);
    const code = codeOf(refund(cookie, of, { amountMinor: 600n }));
    await dashboard.waitForLock("FOR NO KEY UPDATE");
    await client.query("COMMIT");
    expect(await code).toBe("state_conflict");
    expect(await rowsOf(of.sessionId)).toEqual([]);
    expect(await codeOf(refund(cookie, of, { amountMinor: 600n }))).toBe("role_not_allowed");
  });

  it("counts the member's own refunds of today that have not failed, and stops no repeat", async () => {
    await set(cookies.olive, Role.DEVELOPER, [{ currency: "USD", amountMinor: 1000n }]);
    const of = await paid(usd());
    const fields = { idempotencyKey: "all", amountMinor: 1000n };
    const { refund: made } = await refund(cookies.dan, of, fields);
    expect((await refund(cookies.dan, of, fields)).replayed).toBe(true);
    expect(await codeOf(refund(cookies.dan, of, { amountMinor: 1n }))).toBe("role_not_allowed");
    await fail(made!.refundId);
    await refund(cookies.dan, of, { amountMinor: 1000n });
    expect(await codeOf(refund(cookies.dan, of, { amountMinor: 1n }))).toBe("role_not_allowed");
    await dashboard.setClockAhead("1 day");
    onTestFinished(() => dashboard.setClockAhead("0 s"));
    await refund(cookies.dan, of, { amountMinor: 1000n });
    await refund(cookies.olive, of, { amountMinor: 1001n });
    await refund(cookies.dan, await paid({ currency: "EUR" }), { amountMinor: 1001n });
    await set(cookies.olive, Role.DEVELOPER, []);
    await refund(cookies.dan, of, { amountMinor: 1n });
  });
});

describe("refunds by switchyard rpc", () => {
  const env = { SWITCHYARD_OPERATOR_TOKEN: ada.expose() };
  const at = ["--grpc-address", operators.address, "--merchant", operators.merchantId];
  const run = (method: string, request: object = {}, ...more: string[]) =>
    runCommandHere(["rpc", method, JSON.stringify(request), ...at, ...more], { env });

  it("are made, listed, shown and exported, and an operator has no limit", async () => {
    const { sessionId } = await paid({ orderRef: "order-7" }, operators);
    const limits = { role: "ROLE_OWNER", limits: [{ currency: "EUR", amountMinor: "1" }] };
    expect(await run("RefundService/SetRefundLimits", limits)).toMatchObject({ code: 0 });
    const part = { sessionId, idempotencyKey: "k-1", amountMinor: "700", refundRef: "return-7" };
    const made = JSON.parse((await run("PaymentService/RefundPayment", part)).out);
    expect(made).toMatchObject({ refund: { gateway: "SANDBOX_A", amount: { amountMinor: "700" } }, replayed: false });
    const { refundId } = made.refund;
    const filter = { status: "PENDING", reference: "return-7" };
    const { refunds } = JSON.parse((await run("RefundService/ListRefunds", { filter })).out);
    expect(refunds).toMatchObject([{ refundId, orderRef: "order-7", status: "PENDING" }]);
    expect(JSON.parse((await run("RefundService/GetRefund", { refundId })).out)).toMatchObject({
      refund: {
        refundId,
        madeBy: expect.stringMatching(/^ada \(op_/),
        doubt: expect.stringMatching(/^Nothing was sent/),
      },
    });
    const { out } = await run("RefundService/ExportRefunds", {}, "--all-pages", "--print", "csv");
    expect(out).toContain(`${refundId},${sessionId},order-7,7.00,700,EUR,PENDING,SANDBOX_A,`);
  });

  it("shows what each restricted key may refund per day", async () => {
    const key = (...args: string[]) => runCommandHere(["keys", ...args, ...at], { env });
    const rights = ["--rights", "refunds.create,sessions.read"];
    await key("create", "--name", "Capped", ...rights, "--refund-cap", "500.00EUR,200JPY");
    await key("create", "--name", "Free", ...rights);
    await key("create", "--name", "Reader", "--rights", "sessions.read");
    const { out } = await key("list");
    expect(out).toMatch(/ RIGHTS +REFUNDS A DAY +SINCE/);
    expect(out).toMatch(/ Capped .* refunds\.create, sessions\.read +500\.00 EUR, 200 JPY +20/);
    expect(out).toMatch(/ Free .* refunds\.create, sessions\.read +no limit +20/);
    expect(out).toMatch(/ Reader .* sessions\.read +20/);
  });
});
