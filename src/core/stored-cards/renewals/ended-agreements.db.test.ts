/** Tests that an agreement ends after its last day, and with its last instalment. */
import { expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import type { AgreementId } from "../../../platform/ids.ts";
import { cancelAgreement, endAgreementsOnce } from "../agreements.ts";
import { startRenewals } from "./renewals.fixture.ts";

const fixture = await forFile(startRenewals);
const { core, base } = fixture;
const day = 24 * 60;
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
const stateOf = async (agreementId: AgreementId) => {
  const { status, statusBecause, sessionId } = (await fixture.agreement(agreementId)).agreement;
  return {
    status,
    statusBecause,
    updates: (await base.eventTypes({ id: sessionId })).filter((type) => type === "agreement.updated").length,
  };
};

it("ends after its last day, once, and its merchant gets an event", async () => {
  const last = await fixture.agree({ terms: { endsOn: inDays(1) } });
  const later = await fixture.agree({ terms: { endsOn: inDays(9) } });
  const cancelled = await fixture.agree({ terms: { endsOn: inDays(1) } });
  await cancelAgreement(core, { merchantId: base.owner.merchantId, agreementId: cancelled }, "merchant");
  await endAgreementsOnce(core);
  expect(await stateOf(last)).toEqual({ status: "ACTIVE", statusBecause: null, updates: 1 });
  await base.setClockAhead(3 * day);
  await Promise.all([endAgreementsOnce(core), endAgreementsOnce(core)]);
  expect(await stateOf(last)).toEqual({ status: "ENDED", statusBecause: "last_day", updates: 2 });
  expect(await stateOf(later)).toEqual({ status: "ACTIVE", statusBecause: null, updates: 1 });
  expect(await stateOf(cancelled)).toEqual({ status: "CANCELLED", statusBecause: "merchant", updates: 2 });
  await base.setClockAhead(0);
});

it("ends with its last instalment, of which the first payment is the first", async () => {
  const terms = { type: "INSTALMENT", everyDays: 1, endsOn: inDays(99), instalments: 3 } as const;
  const agreementId = await fixture.agree({ terms });
  for (const renewalRef of ["second", "third"]) {
    await endAgreementsOnce(core);
    expect((await stateOf(agreementId)).status).toBe("ACTIVE");
    await fixture.charge(agreementId, { renewalRef });
  }
  await expect(fixture.charge(agreementId, { renewalRef: "fourth" })).rejects.toMatchObject({
    code: "agreement_not_active",
    state: { status: "ENDED" },
  });
  await endAgreementsOnce(core);
  expect(await stateOf(agreementId)).toEqual({ status: "ENDED", statusBecause: "instalments_paid", updates: 2 });
  await expect(fixture.charge(agreementId, { renewalRef: "fourth" })).rejects.toMatchObject({
    code: "agreement_not_active",
    state: { status: "ENDED" },
  });
});

it("finds the agreements that end by indexes of those that have not ended", async () => {
  const client = await base.asOwner.pool.connect();
  const { rows } = await client.query("SELECT prosrc FROM pg_proc WHERE oid = 'app.end_agreements(int)'::regprocedure");
  await client.query("SET enable_seqscan = off");
  const { rows: plan } = await client.query<Record<string, string>>(
    `EXPLAIN (COSTS OFF) ${String(rows[0].prosrc).replaceAll("at_most", "100")}`,
  );
  client.release(true);
  const lines = plan.map((row) => row["QUERY PLAN"]!.trim()).join("\n");
  expect(lines).toMatch(/using agreement_ending on agreement a\n\s*Index Cond: \(ends_on < /);
  expect(lines).toContain("agreement_in_instalments");
  expect(lines).not.toContain("Seq Scan on agreement");
});
