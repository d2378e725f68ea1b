/** Disputes in the list of payments and on the home page: the filter, the mark of a row, the alert, and who sees them. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { AlertItem_Kind, type GetHomeResponse, HomeService } from "../../gen/dashboard/v1/home_pb.ts";
import { Dispute_Stage as Stage, Dispute_Status as Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { type MadePayment, makeDispute, makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import type { Queryable } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import type { PaymentFilter } from "../reporting/payment-filter.ts";
import { listPayments } from "../reporting/payment-list.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const [viv, nobody] = [await pages.join("Viv", "VIEWER"), await pages.join("Nobody")];
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

async function paid(payment: MadePayment): Promise<string> {
  await openTables(dashboard);
  const { sessionId, sessionUuid } = await makePayment(dashboard, payment);
  await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE session_id = $1", [sessionUuid]);
  await dashboard.rows(switchGuards("ENABLE"));
  return sessionId;
}

const [soon, late, over] = [inDays(3), inDays(9), inDays(-2)];
await paid({ orderRef: "plain" });
const charged = await paid({ orderRef: "charged" });
await makeDispute(dashboard, charged, { respondBy: late });
const reviewed = await paid({
  orderRef: "reviewed",
  attempts: [
    { gateway: "SANDBOX_B", became: "DECLINED" },
    { gateway: "SANDBOX_A", became: "CAPTURED" },
  ],
});
await makeDispute(dashboard, reviewed, { status: "UNDER_REVIEW" });
const warned = await paid({ orderRef: "warned" });
await makeDispute(dashboard, warned, { stage: "FRAUD_WARNING", status: "CLOSED" });
const twice = await paid({ orderRef: "twice" });
await makeDispute(dashboard, twice, { status: "LOST", amountMinor: 100 });
await makeDispute(dashboard, twice, { stage: "INQUIRY", respondBy: soon });
await makeDispute(dashboard, twice, { stage: "FRAUD_WARNING", status: "CLOSED" });
const overdue = await paid({ orderRef: "overdue" });
await makeDispute(dashboard, overdue, { respondBy: over });
const foreign = await paid({ orderRef: "foreign", merchantUuid: v7() });
await makeDispute(dashboard, foreign);

const scope = () => ({ merchantId: dashboard.merchantId, environment: Environment.TEST });
type Filter = NonNullable<Parameters<ReturnType<typeof pages.payments>["listPayments"]>[0]["filter"]>;
const list = async (filter: Filter) => (await pages.payments(viv).listPayments({ ...scope(), filter })).payments;
const refsOf = async (filter: Filter) => (await list(filter)).map(({ orderRef }) => orderRef);
const home = () =>
  pages.call(HomeService.method.getHome, viv, {
    merchantId: dashboard.merchantId,
    environment: "ENVIRONMENT_TEST",
  }) as Promise<GetHomeResponse>;

describe("the list of payments", () => {
  const all = ["overdue", "twice", "warned", "reviewed", "charged"];
  const filters: readonly [Filter, string[]][] = [
    [{ disputed: true }, all],
    [{ disputed: false }, ["plain"]],
    [{ disputeStatus: Status.NEEDS_RESPONSE }, ["overdue", "twice", "charged"]],
    [{ disputeStatus: Status.LOST }, ["twice"]],
    [{ disputeStatus: Status.CLOSED }, ["twice", "warned"]],
    [{ disputeStatus: Status.WON }, []],
    [{ disputed: true, gateway: "SANDBOX_B" }, ["reviewed"]],
    [{ disputed: true, orderRef: "w", orderRefPrefix: true }, ["warned"]],
  ];
  it.each(filters)("with the filter %# holds %j", async (filter, refs) => {
    expect(await refsOf(filter)).toEqual(refs);
    const { payments } = await pages.payments(viv).countPayments({ ...scope(), filter });
    expect(payments).toBe(refs.length);
  });

  it("has the disputed payments of the chosen days alone", async () => {
    expect(await refsOf({ disputed: true, createdAfter: timestampFromDate(inDays(1)) })).toEqual([]);
    expect(await refsOf({ disputed: true, createdBefore: timestampFromDate(inDays(1)) })).toEqual(all);
  });

  it("marks a row with its dispute to answer next, or the one that is still open, and the deadline", async () => {
    const rows = await list({});
    const marks = rows.map(({ orderRef, disputeStage, disputeStatus, disputeRespondBy }) => [
      orderRef,
      disputeStage,
      disputeStatus,
      disputeRespondBy && Number(disputeRespondBy.seconds) * 1000 + disputeRespondBy.nanos / 1e6,
    ]);
    expect(marks).toEqual([
      ["overdue", Stage.CHARGEBACK, Status.NEEDS_RESPONSE, over.getTime()],
      ["twice", Stage.INQUIRY, Status.NEEDS_RESPONSE, soon.getTime()],
      ["warned", Stage.FRAUD_WARNING, Status.CLOSED, undefined],
      ["reviewed", Stage.CHARGEBACK, Status.UNDER_REVIEW, undefined],
      ["charged", Stage.CHARGEBACK, Status.NEEDS_RESPONSE, late.getTime()],
      ["plain", Stage.STAGE_UNSPECIFIED, Status.STATUS_UNSPECIFIED, undefined],
    ]);
    const found = await pages.payments(viv).searchPayments({ ...scope(), text: "charged" });
    expect(found.matches[0]?.payment).toMatchObject({ disputeStatus: Status.NEEDS_RESPONSE });
    const { csv } = await pages.payments(viv).exportPayments({ ...scope(), filter: { orderRef: "charged" } });
    expect(csv).toMatch(new RegExp(`,NEEDS_RESPONSE,${late.toISOString()}\r\n$`));
  });

  it("marks each payment as its own page does, where that dispute is the first", async () => {
    for (const { sessionId, disputeStage, disputeStatus, disputeRespondBy } of await list({})) {
      const { payment } = await pages.payments(viv).getPayment({ ...scope(), sessionId });
      expect(payment!.summary).toMatchObject({ disputeStage, disputeStatus });
      expect(payment!.summary!.disputeRespondBy).toEqual(disputeRespondBy);
      expect(payment!.disputes[0]?.status ?? Status.STATUS_UNSPECIFIED).toBe(disputeStatus);
    }
  });

  it("looks for no dispute of a payment that has none", async () => {
    const readsOf = async (filter: PaymentFilter) => {
      const plans: string[] = [];
      const explained = {
        query: async (statement: { readonly text: string }, values: unknown[]) => {
          const text = `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${statement.text}`;
          plans.push(...(await dashboard.rows<Record<string, string>>(text, values)).map((row) => row["QUERY PLAN"]!));
          return dashboard.rows(statement.text, values);
        },
      } as unknown as Queryable;
      const merchantId = decodeId("mer", dashboard.merchantId)!;
      const { rows } = await listPayments(explained, { merchantId, filter, after: undefined, count: 50 });
      const reads = plans.filter((line) => / on dispute\w* /.test(line));
      return { rows: rows.length, reads: reads.filter((line) => !line.includes("never executed")).length };
    };
    expect(await readsOf({ disputed: false })).toEqual({ rows: 1, reads: 0 });
    expect((await readsOf({ orderRef: { text: "charged", isPrefix: false } })).reads).toBeGreaterThan(0);
  });

  it("is for the merchant's people alone", async () => {
    expect(await codeOf(pages.payments(nobody).listPayments({ ...scope(), filter: { disputed: true } }))).toBe(
      "not_found",
    );
  });

  it("is walked where a merchant has more disputes than are looked up", async () => {
    const merchantId = decodeId("mer", dashboard.merchantId);
    await dashboard.rows(`
      SET session_replication_role = replica;
      INSERT INTO dispute (session_id, id, merchant_id, attempt_id, connection_id, gateway, gateway_reference, stage, status, amount_minor, currency, reason, notices)
      SELECT gen_random_uuid(), gen_random_uuid(), '${merchantId}', gen_random_uuid(), gen_random_uuid(), 'SANDBOX_A', n::text, 'CHARGEBACK', 'WON', 1, 'EUR', 'other', '[]'
      FROM generate_series(1, 2001) n;
      SET session_replication_role = origin`);
    expect(await refsOf({ disputed: true })).toEqual(all);
    expect(await refsOf({ disputeStatus: Status.WON })).toEqual([]);
    await dashboard.rows(`
      SET session_replication_role = replica;
      DELETE FROM dispute WHERE merchant_id = '${merchantId}' AND amount_minor = 1;
      SET session_replication_role = origin`);
  });

  it("has the disputed payments at once, whatever number of others is newer", async () => {
    await openTables(dashboard);
    await dashboard.rows(
      `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at)
       SELECT (lpad(to_hex($2::bigint + i), 12, '0') || '70008' || lpad(to_hex(i), 15, '0'))::uuid, $1, 4900, 'EUR', 'newer', 1, now(), now() + interval '1 h'
       FROM generate_series(1, 10001) i`,
      [decodeId("mer", dashboard.merchantId), Date.now() + 1_000],
    );
    await dashboard.rows(switchGuards("ENABLE"));
    expect(await refsOf({ disputed: true })).toEqual(all);
    expect(await refsOf({ disputeStatus: Status.LOST })).toEqual(["twice"]);
  });
});

describe("the home page", () => {
  it("counts the disputes that can still be answered, with the payment and the day of the next one", async () => {
    const { alerts } = await home();
    expect(alerts).toMatchObject([
      { kind: AlertItem_Kind.DISPUTES_OPEN, text: "2 disputes need a response.", sessionId: twice, orderRef: "" },
    ]);
    expect(Number(alerts[0]!.dueBy!.seconds)).toBe(Math.floor(soon.getTime() / 1000));
  });
});
