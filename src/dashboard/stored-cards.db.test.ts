/** What members and operators see of stored cards, delete, cancel and lift. */
import { expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { makePayment, makeStoredCard, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { countSettledOnce } from "../reporting/analytics/count-settled.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
await openTables(dashboard);
const { scope } = dashboard;

const auditOf = (subject: string) =>
  dashboard.rows<{ action: string; before: object; after: object }>(
    "SELECT action, before, after FROM audit_entry WHERE subject = $1 ORDER BY id",
    [subject],
  );
const shown = (customerRef: string) => client.storedCards.getStoredCards({ ...scope, customerRef });

it("shows a customer's cards, agreements, gateways and renewals, and nothing of another customer", async () => {
  const made = await makeStoredCard(dashboard, { customerRef: "shown", expYear: 2020 });
  await makeStoredCard(dashboard, { customerRef: "other" });
  const connection = { gateway: "SANDBOX_A", account: "mine", credentials: { apiKey: "sandbox_test_mine" } };
  const { connection: added } = await client.connections.addGatewayConnection({ ...scope, ...connection });
  await client.connections.verifyGatewayConnection({ ...scope, connectionId: added!.connectionId! });
  const { sessionId, sessionUuid } = await makePayment(dashboard, { status: "DECLINED", amountMinor: 4900 });
  await dashboard.rows(`
    SET session_replication_role = replica;
    INSERT INTO renewal (agreement_id, renewal_ref, merchant_id, session_id, tries, only_by_link)
    VALUES ('${made.agreementUuid}', 'november', '${decodeId("mer", dashboard.merchantId)}', '${sessionUuid}', 2, true);
    SET session_replication_role = origin`);
  const { cards = [], agreements = [] } = await shown("shown");
  expect(cards).toMatchObject([
    {
      paymentMethodId: made.paymentMethodId,
      card: { brand: "visa", last4: "4242" },
      expired: true,
      stoppedBecause: "",
    },
  ]);
  expect(agreements).toMatchObject([
    {
      agreementId: made.agreementId,
      paymentMethodId: made.paymentMethodId,
      terms: { type: "RECURRING", everyDays: 28, endsOn: "2099-12-31" },
      maxAmount: { amountMinor: "9900", currency: "EUR" },
      status: "ACTIVE",
      gateways: [{ gateway: "SANDBOX_A", because: "SANDBOX_A continues only agreements that began in its account." }],
      renewals: [
        { renewalRef: "november", tries: 2, sessionId, paid: false, customerNeeded: true, status: "DECLINED" },
      ],
      renewalCount: 1,
    },
  ]);
  expect(await shown("nobody")).toMatchObject({ cards: [], agreements: [] });
});

it("deletes a card once and for ever, and says in the audit trail which agreements need another one", async () => {
  const { paymentMethodId, agreementId, methodUuid } = await makeStoredCard(dashboard, { customerRef: "deleted" });
  const remove = () => client.storedCards.deleteStoredCard({ ...scope, paymentMethodId, reason: "asked by mail" });
  await remove();
  const { cards, agreements } = await shown("deleted");
  expect(cards).toEqual([]);
  expect(agreements).toMatchObject([{ agreementId, status: "NEEDS_CARD", statusBecause: "card_deleted" }]);
  expect(await dashboard.rows("SELECT handle_sealed FROM payment_method WHERE id = $1", [methodUuid])).toEqual([
    { handle_sealed: null },
  ]);
  expect(await dashboard.rows("SELECT FROM card_erasure")).toHaveLength(1);
  await expect(remove()).rejects.toMatchObject({ code: "not_found" });
  expect(await auditOf(paymentMethodId)).toEqual([
    {
      action: "DeleteStoredCard",
      before: { cardBrand: "visa", cardLast4: "4242", expires: "03/2099" },
      after: { reason: "asked by mail", agreementsWithoutCard: [agreementId] },
    },
  ]);
});

it("cancels an agreement once, and keeps its card", async () => {
  const { agreementId } = await makeStoredCard(dashboard, { customerRef: "cancelled" });
  const cancel = () => client.storedCards.cancelStoredAgreement({ ...scope, agreementId, reason: "asked by mail" });
  await cancel();
  const { cards, agreements } = await shown("cancelled");
  expect(cards).toHaveLength(1);
  expect(agreements).toMatchObject([{ status: "CANCELLED", statusBecause: "merchant" }]);
  await expect(cancel()).rejects.toMatchObject({ code: "state_conflict" });
  expect(await auditOf(agreementId)).toEqual([
    {
      action: "CancelStoredAgreement",
      before: { status: "ACTIVE" },
      after: { status: "CANCELLED", reason: "asked by mail" },
    },
  ]);
});

it("lifts the stop of a number, for each customer with it, and no other stop", async () => {
  const made = await makeStoredCard(dashboard, { customerRef: "stopped", stoppedBecause: "lost_or_stolen" });
  await makeStoredCard(dashboard, { customerRef: "stopped too", fingerprint: made.fingerprint });
  const { paymentMethodId } = made;
  const stops = async () =>
    (await Promise.all(["stopped", "stopped too"].map(shown))).map(({ cards }) => cards?.[0]?.stoppedBecause);
  expect(await stops()).toEqual(["lost_or_stolen", "lost_or_stolen"]);
  const lift = () => client.storedCards.liftCardStop({ ...scope, paymentMethodId, reason: "set up wrongly" });
  expect(await lift()).toEqual({ stoppedBecause: "lost_or_stolen" });
  expect(await stops()).toEqual(["", ""]);
  await expect(lift()).rejects.toThrow("The card is not stopped.");
  const [entry, ...others] = await auditOf(paymentMethodId);
  expect(others).toEqual([]);
  expect(entry).toMatchObject({ before: { stoppedBecause: "lost_or_stolen" }, after: { reason: "set up wrongly" } });
  await dashboard.rows("UPDATE payment_method SET stopped_because = 'card_lost' WHERE id = $1", [made.methodUuid]);
  await expect(lift()).rejects.toThrow("The vault has lost the card");
  expect(await stops()).toEqual(["card_lost", ""]);
});

it("finds a customer by the reference, a stored card or an agreement, and the payments, refunds and totals", async () => {
  const { paymentMethodId, agreementId } = await makeStoredCard(dashboard, { customerRef: "found" });
  const { sessionId, sessionUuid } = await makePayment(dashboard, { orderRef: "order of found" });
  await dashboard.rows("UPDATE payment_session SET customer_ref = 'found' WHERE id = $1", [sessionUuid]);
  for (const text of ["found", paymentMethodId, agreementId]) {
    const { customerRef, matches = [] } = await client.payments.searchPayments({ ...scope, text });
    expect([customerRef, matches.map(({ payment, by }) => [payment?.sessionId, by])]).toEqual([
      "found",
      [[sessionId, "CUSTOMER_REF"]],
    ]);
  }
  const { totals } = await client.payments.getCustomerTotals({ ...scope, customerRef: "found" });
  expect(totals).toMatchObject([{ payments: 1, succeeded: 1, captured: { amountMinor: "4900" } }]);
  const filter = { customerRef: "found" };
  const { payments = [] } = await client.payments.listPayments({ ...scope, filter });
  expect(payments.map((payment) => payment.sessionId)).toEqual([sessionId]);
  expect((await client.refunds.listRefunds({ ...scope, filter })).refunds ?? []).toEqual([]);
});

it("counts payments by who made them, if it is asked for, before and after a worker has counted them", async () => {
  const day = "2026-03-10";
  const createdAt = new Date(`${day}T12:00:00Z`);
  await makePayment(dashboard, { createdAt });
  for (const status of ["SUCCEEDED", "DECLINED"] as const) {
    const { sessionUuid } = await makePayment(dashboard, { createdAt, status });
    await dashboard.rows(`
      SET session_replication_role = replica;
      INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id, chain_version)
      SELECT id, merchant_id, amount_minor, currency, 'c', 'RENEWAL', gen_random_uuid(), 'r', 1, gen_random_uuid(), 1
      FROM payment_session WHERE id = '${sessionUuid}';
      UPDATE payment_session SET stored = true WHERE id = '${sessionUuid}';
      SET session_replication_role = origin`);
  }
  const asked = { ...scope, firstDay: day, lastDay: day, timeZone: "UTC" };
  const initiators = [
    { initiator: "CUSTOMER", succeeded: "1", declined: "0", approvalRate: 1 },
    { initiator: "MERCHANT", succeeded: "1", declined: "1", approvalRate: 0.5 },
  ];
  const counted = async () => (await client.analytics.getAnalytics({ ...asked, withInitiators: true })).initiators;
  expect(await counted()).toMatchObject(initiators);
  await countSettledOnce(dashboard.database);
  expect(await counted()).toMatchObject(initiators);
  expect((await client.analytics.getAnalytics(asked)).initiators).toEqual([]);
});
