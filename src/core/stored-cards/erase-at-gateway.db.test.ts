/** Tests that a deleted card is also erased at the gateway that keeps it, until that is acknowledged. */
import { v7 } from "uuid";
import { beforeEach, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AgreementId } from "../../platform/ids.ts";
import { eraseByReference } from "../../retention/erase-customer.ts";
import { eraseCardsOnce } from "./keep-card.ts";
import { deleteMethod } from "./payment-methods.ts";
import { startRenewals } from "./renewals/renewals.fixture.ts";
import { methodsOf, rowsOf } from "./stored-cards.fixture.ts";

const fixture = await forFile(startRenewals);
const { core, base } = fixture;
const { merchantId } = base.owner;
beforeEach(async () => {
  await base.setClockAhead(0);
  await rowsOf(base, "DELETE FROM card_erasure");
});

const later = 16;
const days = 24 * 60;
let numbers = 4242424242440000;
const newNumber = () => String(++numbers);

/** Has a customer begin an agreement, and returns SANDBOX_A's names of its card. */
async function agreed(customerRef = v7(), storedAs = newNumber()) {
  const agreementId = await fixture.agree({ storedAs, customerRef });
  const { ownMethod, ownCustomer, methodId } = (await fixture.agreement(agreementId)).agreement;
  return { agreementId, customerRef, method: ownMethod!, customer: ownCustomer!, methodId: methodId! };
}
const isKept = async ({ method }: { readonly method: string }) =>
  (await base.sandbox.savedCards()).some((card) => card.method === method);
const erased = async () => (await base.sandbox.requests())["a.erase"] ?? 0;
const left = () => rowsOf(base, "SELECT 1 FROM card_erasure");

async function eraseAt(minutes: number) {
  await base.setClockAhead(minutes);
  await eraseCardsOnce(core);
}

it("erases a deleted card there once no renewal of it can be under way, and others not", async () => {
  const [card, other] = [await agreed(), await agreed()];
  await deleteMethod(core, { merchantId, methodId: card.methodId });
  await eraseAt(later - 2);
  expect(await isKept(card)).toBe(true);
  await eraseAt(later);
  expect([await isKept(card), await isKept(other)]).toEqual([false, true]);
  await base.setClockAhead(0);
  expect((await fixture.charge(other.agreementId)).payment.session.capturedVia).toBe("SANDBOX_A");
});

it("repeats it until the gateway acknowledges it", async () => {
  const card = await agreed();
  await deleteMethod(core, { merchantId, methodId: card.methodId });
  await base.sandbox.setDown("A", true);
  for (const minutes of [later, later + 6, later + 90]) await eraseAt(minutes);
  await base.sandbox.setDown("A", false);
  expect(await isKept(card)).toBe(true);
  await eraseAt(later + 100);
  expect(await isKept(card)).toBe(false);
});

it("erases the gateway's customer with the last card, when no payment gets that customer any more", async () => {
  const card = await agreed();
  await deleteMethod(core, { merchantId, methodId: card.methodId });
  const before = await erased();
  await eraseAt(later);
  expect(await erased()).toBe(before + 1);
  await eraseAt(2 * days - 5);
  expect(await erased()).toBe(before + 1);
  await eraseAt(2 * days + 5);
  expect(await erased()).toBe(before + 3);
  expect(await left()).toEqual([]);
});

it("leaves the customer whose other card is in use", async () => {
  const card = await agreed();
  const other = await agreed(card.customerRef);
  expect([other.customer, other.method]).toEqual([card.customer, expect.not.stringMatching(card.method)]);
  await deleteMethod(core, { merchantId, methodId: card.methodId });
  await eraseAt(later);
  await eraseAt(2 * days + 5);
  expect([await isKept(card), await isKept(other), await left()]).toEqual([false, true, []]);
  await deleteMethod(core, { merchantId, methodId: other.methodId });
  const before = await erased();
  await eraseAt(2 * days + 30);
  expect([await isKept(other), await erased(), await left()]).toEqual([false, before + 2, []]);
});

it("erases the card of an erased customer, and one that could not be stored here", async () => {
  const card = await agreed();
  await core.database.transaction((tx) => eraseByReference(tx, { merchantId, customerRef: card.customerRef }));
  fixture.vault.hasLost = true;
  const agreementId: AgreementId = await fixture.agree({ storedAs: newNumber() });
  fixture.vault.hasLost = false;
  const { status, ownMethod } = (await fixture.agreement(agreementId)).agreement;
  expect(status).toBe("NEEDS_CARD");
  await eraseAt(later);
  expect([await isKept(card), await isKept({ method: ownMethod! })]).toEqual([false, false]);
});

it("erases a replaced card an hour later, unless an agreement goes on with it", async () => {
  const storedAs = newNumber();
  const first = await agreed(v7(), storedAs);
  const again = await agreed(first.customerRef, storedAs);
  expect([again.methodId, await methodsOf(base, first.customerRef)]).toEqual([first.methodId, [expect.anything()]]);
  await eraseAt(90);
  expect([await isKept(first), await isKept(again)]).toEqual([true, true]);
  await base.setClockAhead(0);
  await deleteMethod(core, { merchantId, methodId: first.methodId });
  await eraseAt(later);
  expect([await isKept(first), await isKept(again)]).toEqual([false, false]);
});
