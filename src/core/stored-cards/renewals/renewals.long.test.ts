/** A thousand renewals, each asked for by two keys at once; of every fifth the process that began it has died before. */
import { expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { encodeId } from "../../../platform/ids.ts";
import type { Core } from "../../core.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { recoverSessionsOnce } from "../../submit-payment.ts";
import { startRenewals } from "./renewals.fixture.ts";

const renewals = 1_000;
const agreements = 20;
const atOnce = 25;

const fixture = await forFile(startRenewals);

/** Runs work for each, so many at once. */
async function inGroups<One>(all: readonly One[], work: (one: One) => Promise<void>): Promise<void> {
  for (let first = 0; first < all.length; first += atOnce)
    await Promise.all(all.slice(first, first + atOnce).map(work));
}

it("captures each renewal once", { timeout: 1_800_000 }, async () => {
  const ids: string[] = [];
  // A card each, for the tries of a card that are under way count to its limit.
  for (let nth = 0; nth < agreements; nth++) ids.push(await fixture.agree({ storedAs: `42424242424${10_000 + nth}` }));
  const all = Array.from({ length: renewals }, (_, nth) => ({
    agreementId: ids[nth % agreements]!,
    orderRef: `invoice-${nth}`,
    dies: Math.floor(nth / agreements) % 5 === 0,
  }));
  const begun: PaymentSession[] = [];
  await inGroups(
    all.filter(({ dies }) => dies),
    async ({ agreementId, orderRef }) => {
      const dying: Core = {
        ...fixture.core,
        inFlight: new Set(),
        renewals: new Set(),
        bind: () => new Promise(() => {}),
      };
      const { payment } = await fixture.charge(agreementId, { orderRef, signal: AbortSignal.abort() }, dying);
      begun.push(payment.session);
    },
  );
  expect(begun).toHaveLength(renewals / 5);
  await fixture.base.setClockAhead(2);
  while ((await recoverSessionsOnce(fixture.core)) > 0) await fixture.settled();
  await inGroups(all, async ({ agreementId, orderRef }) => {
    await Promise.allSettled([fixture.charge(agreementId, { orderRef }), fixture.charge(agreementId, { orderRef })]);
  });
  await fixture.settled();
  const text = `SELECT r.renewal_ref AS ref, r.paid_session_id IS NOT NULL AS paid, array_agg(t.id) AS attempts
    FROM renewal r JOIN renewal_try y USING (agreement_id, renewal_ref) JOIN attempt t ON t.session_id = y.session_id GROUP BY 1, 2`;
  type Row = { ref: string; paid: boolean; attempts: string[] };
  const rows = await fixture.base.asOwner.query<Row>({ name: "renewals", text }, []);
  const captured = new Map<string, number>();
  for (const { reference, status } of await fixture.base.sandbox.authorizations())
    if (status === "captured") captured.set(reference, (captured.get(reference) ?? 0) + 1);
  const counts = rows.map(({ attempts }) =>
    attempts.reduce((sum, id) => sum + (captured.get(encodeId("att", id)) ?? 0), 0),
  );
  expect(rows).toHaveLength(renewals);
  expect(rows.filter(({ paid }) => !paid)).toEqual([]);
  expect(new Set(counts)).toEqual(new Set([1]));
});
