/** Tests that an erased customer leaves no card, agreement or reference, and that stored cards move with their merchant. */
import { expect, it } from "vitest";
import { recordSettings } from "../../accounts/merchant-settings.ts";
import { closeCell, readConfiguration, recordCards } from "../../accounts/move-merchant.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AgreementId, MerchantId, MethodId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { eraseByReference } from "../../retention/erase-customer.ts";
import { browser, startCoreFixture } from "../scenarios/core.fixture.ts";
import { cancelAgreement, findAgreement } from "./agreements.ts";
import { eraseCardsOnce, saveDueCardsOnce } from "./keep-card.ts";
import { deleteMethod, listMethods } from "./payment-methods.ts";
import { methodsOf, monthly, payAndStore, rowsOf, savingSession, withVault } from "./stored-cards.fixture.ts";
import { useStoredCard } from "./use-stored-card.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule([]);
const { core, vault } = withVault(fixture);
const { merchantId } = fixture.owner;
const tables = ["payment_method", "card_erasure", "agreement", "renewal", "renewal_try", "card_state", "card_decline"];

const erase = (customerRef: string) =>
  core.database.transaction((tx) => eraseByReference(tx, { merchantId, customerRef }));

it("erases a customer by the merchant's reference", async () => {
  const customerRef = "customer-to-erase";
  const shopper = { browser, shopperIp: "198.51.100.7", shopperUserAgent: "Browser of somebody" };
  const session = await savingSession(fixture, { customerRef, agreement: monthly, customerEmail: "ada@example.com" });
  await fixture.submitWith(session, {
    number: "4242424242424242",
    core,
    consent: { template: "x", locale: "en" },
    shopper,
  });
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  const other = await savingSession(fixture, { customerRef: "customer-to-keep" });
  await payAndStore(fixture, core, other);
  const [method] = await methodsOf(fixture, customerRef);
  expect(await erase(customerRef)).toBe(1);
  for (const table of ["payment_session", "stored_payment", ...tables]) {
    const rows = await rowsOf<{ row: string }>(fixture, `SELECT t::text AS row FROM ${table} t`);
    for (const { row } of rows)
      expect([table, row]).not.toEqual([table, expect.stringMatching(/to-erase|198\.51|somebody|ada@/)]);
  }
  const agreements = await rowsOf(fixture, "SELECT status, status_because FROM agreement WHERE session_id = $1", [
    session.id,
  ]);
  expect(agreements).toEqual([{ status: "CANCELLED", status_because: "customer_erased" }]);
  await eraseCardsOnce(core);
  expect(vault.erased).toEqual([method!.handle]);
  expect(await methodsOf(fixture, "customer-to-keep")).toMatchObject([{ status: "ACTIVE" }]);
  expect(await erase(customerRef)).toBe(0);
});

it("stores no card for a customer who was erased meanwhile", async () => {
  const customerRef = "customer-erased-early";
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  vault.losesAnswer = true;
  await payAndStore(fixture, core, session);
  await erase(customerRef);
  await fixture.setClockAhead(1);
  await saveDueCardsOnce(core);
  const before = vault.cards.size;
  await eraseCardsOnce(core);
  await fixture.setClockAhead(0);
  expect(vault.cards.size).toBe(before - 1);
  const [{ saving }] = (await rowsOf<{ saving: string }>(
    fixture,
    "SELECT saving FROM stored_payment WHERE session_id = $1",
    [session.id],
  )) as [{ saving: string }];
  expect(saving).toBe("DROPPED");
  expect(await rowsOf(fixture, "SELECT 1 FROM agreement WHERE session_id = $1", [session.id])).toEqual([]);
});

it("moves cards and agreements with their merchant, and leaves none behind", async () => {
  const customerRef = "customer-to-move";
  await core.database.transaction((tx) => recordSettings(tx, fixture.owner));
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef, agreement: monthly }));
  const [method] = await methodsOf(fixture, customerRef);
  const methodId = method!.id as MethodId;
  // A renewal that was tried.
  await rowsOf(fixture, "ALTER TABLE renewal DISABLE TRIGGER USER");
  await rowsOf(
    fixture,
    "INSERT INTO renewal (agreement_id, renewal_ref, merchant_id, tries) SELECT id, 'r1', merchant_id, 1 FROM agreement WHERE method_id = $1",
    [methodId],
  );
  await rowsOf(fixture, "ALTER TABLE renewal ENABLE TRIGGER USER");
  const contents = () =>
    Promise.all(tables.map((table) => rowsOf(fixture, `SELECT t::text FROM ${table} t ORDER BY 1`)));
  const before = await contents();
  // The other cell would not know of a restore.
  await rowsOf(fixture, "UPDATE replica_mark SET restored_at = app.clock() + interval '1 minute'");
  const copied = await readConfiguration(core.database, merchantId);
  const early = core.database.transaction((tx) => closeCell(tx, copied, { merchantId, toCell: 2 }, async () => {}));
  await expect(early).rejects.toThrow("45 days after a restore");
  await rowsOf(fixture, "UPDATE replica_mark SET restored_at = NULL");
  const handed: string[] = [];
  const isClosed = await core.database.transaction((tx) =>
    closeCell(tx, copied, { merchantId, toCell: 2 }, async ({ cards }) => void handed.push(cards!.text)),
  );
  expect(isClosed).toBe(true);
  expect((await contents()).flat()).toEqual([]);
  // What still reaches the cell that the merchant has left changes nothing there.
  await expect(deleteMethod(core, { merchantId, methodId })).rejects.toMatchObject({ code: "LL002" });
  await expect(
    cancelAgreement(core, { merchantId, agreementId: methodId as string as AgreementId }, "merchant"),
  ).rejects.toMatchObject({
    code: "LL002",
  });
  // The same database as the other cell.
  const arrive = () => core.database.transaction((tx) => recordCards(tx, merchantId, { text: handed[0]! }));
  const foreign = core.database.transaction((tx) =>
    recordCards(tx, systemRuntime.uuid() as MerchantId, { text: handed[0]! }),
  );
  await expect(foreign).rejects.toThrow("with their merchant alone");
  await rowsOf(fixture, "ALTER TABLE merchant_settings DISABLE TRIGGER USER");
  await rowsOf(fixture, "UPDATE merchant_settings SET moved_to = NULL WHERE merchant_id = $1", [merchantId]);
  await rowsOf(fixture, "ALTER TABLE merchant_settings ENABLE TRIGGER USER");
  for (let times = 0; times < 2; times++) await arrive();
  expect(await contents()).toEqual(before);
  const wanted = { merchantId, customerRef, keys: core.pageTokenKey, now: new Date(), pageSize: 9 };
  expect((await listMethods(core.database, wanted)).methods).toHaveLength(1);
  const session = await fixture.newSession({ customerRef });
  expect((await useStoredCard(core, session, methodId)).token).toBeDefined();
  const [agreement] = await rowsOf<{ id: string }>(fixture, "SELECT id FROM agreement WHERE customer_ref = $1", [
    customerRef,
  ]);
  expect((await findAgreement(core, { merchantId, agreementId: agreement!.id }))!.agreement.status).toBe("ACTIVE");
});
