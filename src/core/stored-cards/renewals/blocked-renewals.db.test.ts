/** Tests that a renewal of a customer whom the merchant has blocked reaches no gateway. */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { declareRestore } from "../../../oversight/declare-restore.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { addEntry, type Blockable, endEntry, listBlocklist } from "../../card-testing/blocklist.ts";
import type { Core } from "../../core.ts";
import { browser } from "../../scenarios/core.fixture.ts";
import * as restore from "../../scenarios/restore.fixture.ts";
import { fingerprintOf } from "../../scenarios/stored-vault.fixture.ts";
import { startRenewals } from "./renewals.fixture.ts";

const fixture = await forFile(startRenewals);
const { database } = fixture.core;
const { merchantId } = fixture.base.owner;

const block = (blockable: Blockable) =>
  database.transaction((tx) =>
    addEntry(tx, merchantId, {
      ...blockable,
      id: systemRuntime.uuid(),
      reason: "Disputed twice",
      addedBy: "Dora",
      endsAt: null,
    }),
  );
const end = ({ id }: { readonly id: string }) => database.transaction((tx) => endEntry(tx, merchantId, id));
let numbers = 4242424242430000;
const newNumber = () => String(++numbers);

it("declines the renewal of a blocked card before a gateway, in one commit, and charges it once the block is lifted", async () => {
  const storedAs = newNumber();
  const agreementId = await fixture.agree({ storedAs });
  const entry = await block({ kind: "CARD", given: fingerprintOf(storedAs) });
  const { payment } = await fixture.charge(agreementId);
  const { status, phase, declineCode, vaultToken, plan, skipped } = payment.session;
  expect({ status, phase, declineCode, vaultToken, plan, attempts: payment.attempts }).toEqual({
    status: "DECLINED",
    phase: "DONE",
    declineCode: "blocked",
    vaultToken: null,
    plan: [],
    attempts: [],
  });
  const because = "The card is on the block list, so no gateway gets the payment: “Disputed twice”.";
  expect(skipped?.map((one) => one.because)).toEqual([because, because]);
  expect(await fixture.base.eventTypes(payment.session)).toEqual(["payment_session.declined"]);
  await end(entry);
  expect((await fixture.charge(agreementId)).payment.session.status).toBe("SUCCEEDED");
});

it.each([
  { kind: "NETWORK", given: "93.184.216.0/24" },
  { kind: "EMAIL", given: "Mallory@example.com" },
] as const)("declines the renewal of a customer whose $kind is blocked", async (blockable) => {
  const shopper = { browser, shopperIp: "93.184.216.34" };
  const agreementId = await fixture.agree({
    storedAs: newNumber(),
    shopper,
    order: { customerEmail: "mallory@example.com" },
  });
  const other = await fixture.agree({ storedAs: newNumber() });
  const entry = await block(blockable);
  expect((await fixture.charge(agreementId)).payment.session.declineCode).toBe("blocked");
  expect((await fixture.charge(other)).payment.session.status).toBe("SUCCEEDED");
  await end(entry);
});

it("recognizes a card by an earlier key of the vault, and keeps it blocked by the current one", async () => {
  const versions = [1, 2].map(() => randomBytes(16).toString("hex"));
  const agreementId = await fixture.agree({ storedAs: newNumber() });
  await block({ kind: "CARD", given: versions[1]! });
  const checkToken = async () => ({ state: "unused", fingerprint: { versions, isCounted: false } }) as const;
  const core: Core = { ...fixture.core, vault: { ...fixture.core.vault, checkToken } };
  expect((await fixture.charge(agreementId, {}, core)).payment.session.declineCode).toBe("blocked");
  const text = "SELECT replace(value, '-', '') AS value FROM blocklist_entry WHERE kind = 'CARD' AND ends_at IS NULL";
  expect(await fixture.base.asOwner.query({ name: "values", text }, [])).toEqual([{ value: versions[0] }]);
  for (const entry of await listBlocklist(database, merchantId)) await end(entry);
});

it("asks gateways first about what a restore has lost", async () => {
  const storedAs = newNumber();
  const agreementId = await fixture.agree({ storedAs });
  await block({ kind: "CARD", given: fingerprintOf(storedAs) });
  await declareRestore(fixture.base.asOwner, { backupTakenAt: undefined });
  const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() });
  expect(payment.session.status).toBe("CREATED");
  expect(await restore.turns(fixture.base, payment.session, 7, fixture.core)).toMatchObject({ status: "DEGRADED" });
  expect((await fixture.base.loadSession(payment.session)).attempts).toEqual([]);
});
