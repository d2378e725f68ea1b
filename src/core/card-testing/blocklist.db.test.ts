/** Tests that a payment by what the merchant has blocked reaches no gateway, over the sandbox acquirers. */
import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { CardFingerprint } from "../../platform/card-token.ts";
import { Database } from "../../platform/database.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { eraseFromSession } from "../../retention/erase-customer.ts";
import type { Core } from "../core.ts";
import type { NewSession } from "../create-session.ts";
import type { Payment } from "../rows/payment.ts";
import { type CoreFixture, cards, openPool, startCoreFixture } from "../scenarios/core.fixture.ts";
import { submitPayment } from "../submit-payment.ts";
import { addEntry, type Blockable, endEntry, findBlockable, listBlocklist } from "./blocklist.ts";

const fixture = await forFile(startCoreFixture);
let fingerprint: CardFingerprint | undefined;
await fixture.setRule(["HARD_DECLINE"]);
beforeEach(() => {
  fingerprint = card();
});

// As every card of test but two.
const card = (...versions: string[]): CardFingerprint => ({
  versions: versions.length > 0 ? versions : [randomBytes(16).toString("hex")],
  isCounted: false,
});
const ipv4 = "93.184.216.34";
const ipv6 = "2a00:1450:4001:81b:1:2:3:4";

/** Returns a core whose vault knows the card. `beforeClaim` runs once the route and the token are read. */
function recognizing(on: CoreFixture, beforeClaim?: () => Promise<unknown>): Core {
  const checkToken = async () => {
    const known = fingerprint;
    await beforeClaim?.();
    return { state: "unused", fingerprint: known } as const;
  };
  return { ...on.core, vault: { ...on.core.vault, checkToken } };
}

type From = Partial<NewSession> & { readonly address?: string };

async function pay({ address, ...fields }: From = {}, on = fixture, core = recognizing(on)): Promise<Payment> {
  const session = await on.newSession(fields);
  on.useCard(cards.approved);
  const vaultToken = new Secret("tok_1");
  const signal = new AbortController().signal;
  await submitPayment(core, { session, vaultToken, signal, ...(address && { shopper: { shopperIp: address } }) });
  return on.loadSession(session);
}
const endOf = async (...from: Parameters<typeof pay>) => (await pay(...from)).session.declineCode;

async function block(blockable: Blockable | undefined, { endsAt = null as Date | null, on = fixture } = {}) {
  const added = { ...blockable!, id: systemRuntime.uuid(), reason: "Tried 30 codes", addedBy: "Dora", endsAt };
  return on.core.database.transaction((tx) => addEntry(tx, on.owner.merchantId, added));
}
const end = ({ id }: { readonly id: string }) =>
  fixture.core.database.transaction((tx) => endEntry(tx, fixture.owner.merchantId, id));
const partsOf = async ({ session: { id: sessionId } }: Payment) =>
  (await findBlockable(fixture.core.database, { merchantId: fixture.owner.merchantId, sessionId }))!;

describe("a payment by what its merchant has blocked", () => {
  it("ends in one commit with its claim, before any gateway, and the trail says what blocked it", async () => {
    const entry = await block((await partsOf(await pay())).CARD);
    const { session, attempts } = await pay();
    const { status, phase, declineCode, vaultToken, plan, skipped } = session;
    expect({ status, phase, declineCode, vaultToken, plan, attempts }).toEqual({
      status: "DECLINED",
      phase: "DONE",
      declineCode: "blocked",
      vaultToken: null,
      plan: [],
      attempts: [],
    });
    const because = "The card is on the block list, so no gateway gets the payment: “Tried 30 codes”.";
    expect(skipped?.map((one) => one.because)).toEqual([because, because]);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.declined"]);
    expect(await end(entry)).toMatchObject({ id: entry.id });
    expect(await endOf()).toBeNull();
  });

  it.each<[string, string, From, From, From]>([
    ["a card", "CARD", {}, { customerEmail: "other@example.com", address: ipv4 }, {}],
    ["an e-mail address", "EMAIL", { customerEmail: "Eve@example.com" }, { customerEmail: "eVE@Example.com" }, {}],
    ["an IPv4 address", ipv4, { address: ipv4 }, { address: ipv4 }, { address: "93.184.216.35" }],
    ["a /24", "NETWORK", { address: ipv4 }, { address: "93.184.216.35" }, { address: "93.184.217.34" }],
    [
      "a /64",
      "2a00:1450:4001:81b::/64",
      { address: ipv6 },
      { address: "2a00:1450:4001:81b::9" },
      { address: "2a00:1450:4001:81c::9" },
    ],
    ["a /48", "NETWORK", { address: ipv6 }, { address: "2a00:1450:4001:ffff::9" }, { address: "2a00:1450:4002::9" }],
  ])("is found by %s, and one by another is paid", async (_name, part, first, same, other) => {
    const blocked = fingerprint;
    const parts: Partial<Record<string, Blockable>> = await partsOf(await pay(first));
    const entry = await block(parts[part] ?? { kind: "NETWORK", given: part });
    if (part !== "CARD") fingerprint = card();
    expect(await endOf(same)).toBe("blocked");
    fingerprint = part === "CARD" ? card() : blocked;
    expect(await endOf(other)).toBeNull();
    await end(entry);
  });

  it("is not counted among the submissions of its card", async () => {
    fingerprint = { ...card(), isCounted: true };
    const { CARD } = await partsOf(await pay());
    const entry = await block(CARD);
    for (let time = 0; time < 12; time++) expect(await endOf()).toBe("blocked");
    await end(entry);
    expect(await endOf()).toBeNull();
  });

  it("is refused by an entry that was added after its route was read", async () => {
    const { CARD } = await partsOf(await pay());
    expect(
      await endOf(
        {},
        fixture,
        recognizing(fixture, () => block(CARD)),
      ),
    ).toBe("blocked");
  });

  it("is refused by a process that started after the entry was added", async () => {
    const entry = await block({ kind: "EMAIL", given: "restart@example.com" });
    const pool = openPool(fixture.core.database.pool.options.connectionString!, 2);
    const started: Core = { ...recognizing(fixture), database: new Database(pool), inFlight: new Set() };
    expect(await endOf({ customerEmail: "restart@example.com" }, fixture, started)).toBe("blocked");
    await Promise.all(started.inFlight);
    await pool.end();
    await end(entry);
  });

  it("can be one of a card that was tried too often, as no gateway has got it", async () => {
    fingerprint = { ...card(), isCounted: true };
    for (let time = 0; time < 10; time++) await pay();
    const refused = await pay();
    expect(refused.session.declineCode).toBe("too_many_attempts");
    await block((await partsOf(refused)).CARD);
    expect(await endOf()).toBe("blocked");
  });

  it("stays blocked over a rotation of the vault's key, once it was tried during it", async () => {
    const [old, next] = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
    fingerprint = card(old);
    // An older entry that stops the same payment does not keep the card's from being renewed.
    await block({ kind: "EMAIL", given: "rotated@example.com" });
    await block((await partsOf(await pay())).CARD);
    fingerprint = card(next, old);
    expect(await endOf({ customerEmail: "rotated@example.com" })).toBe("blocked");
    fingerprint = card(next);
    expect(await endOf()).toBe("blocked");
  });
});

describe("an entry", () => {
  it("blocks until its end, and can be added again afterwards", async () => {
    const { CARD } = await partsOf(await pay());
    const hour = 3_600_000;
    await block(CARD, { endsAt: new Date(Date.now() + hour) });
    expect(await endOf()).toBe("blocked");
    await expect(block(CARD)).rejects.toMatchObject({ code: "state_conflict" });
    await fixture.setClockAhead(61);
    expect(await endOf()).toBeNull();
    await block(CARD);
    expect(await endOf()).toBe("blocked");
    await fixture.setClockAhead(0);
  });

  it("of another merchant, or of the other environment, blocks nothing here", async () => {
    const other = await startCoreFixture();
    try {
      await other.setRule([]);
      // A merchant without entries is not looked up.
      for (const on of [fixture, other]) await block({ kind: "EMAIL", given: "nobody@example.com" }, { on });
      const { CARD } = await partsOf(await pay());
      await block(CARD, { on: other });
      const added = { ...CARD!, id: systemRuntime.uuid(), reason: "x", addedBy: "Dora", endsAt: null };
      await fixture.core.database.transaction((tx) => addEntry(tx, systemRuntime.uuid(), added));
      expect(await endOf()).toBeNull();
      await block(CARD);
      expect(await endOf()).toBe("blocked");
      // Of the same merchant.
      const ofOne = { kind: "EMAIL", given: "eve@example.com" } as const;
      await block(ofOne);
      expect(await endOf({ customerEmail: "eve@example.com" }, other)).toBe("blocked");
      fingerprint = card();
      expect(await endOf({ customerEmail: "eve@example.com" }, other)).toBeNull();
    } finally {
      await other.close();
    }
  });

  it("has of an e-mail address only a hash, which the database demands", async () => {
    const entry = await block({ kind: "EMAIL", given: "Hidden@example.com" });
    const read = (text: string) => fixture.asOwner.pool.query(text);
    const { rows } = await read("SELECT b::text AS row FROM blocklist_entry b");
    expect(JSON.stringify(rows)).not.toMatch(/hidden/i);
    await expect(
      read(`UPDATE blocklist_entry SET value = 'hidden@example.com' WHERE id = '${entry.id}'`),
    ).rejects.toThrow(/check constraint/);
  });

  it("stays when the customer's data are erased, and the payment has nothing left to block", async () => {
    const paid = await pay({ customerEmail: "erased@example.com", address: ipv4 });
    const { CARD, EMAIL } = await partsOf(paid);
    await block(CARD);
    await block(EMAIL);
    const [merchantId, sessionId] = [fixture.owner.merchantId, paid.session.id];
    await fixture.core.database.transaction((tx) => eraseFromSession(tx, { merchantId, sessionId }));
    expect(await partsOf(paid)).toEqual({});
    expect(await endOf()).toBe("blocked");
    fingerprint = card();
    expect(await endOf({ customerEmail: "erased@example.com" })).toBe("blocked");
    // PostgreSQL keeps a submission's origin from being changed otherwise.
    const change = `UPDATE payment_session SET customer_network = '1.1.1.0/24' WHERE id = '${sessionId}'`;
    await expect(fixture.asOwner.pool.query(change)).rejects.toThrow(/is erased, never changed/);
  });

  it("is listed until it ends, newest first, at most a thousand", async () => {
    const { merchantId } = fixture.owner;
    await fixture.asOwner.pool.query("UPDATE blocklist_entry SET ends_at = app.clock()");
    const [first, second] = [
      await block({ kind: "NETWORK", given: "8.8.8.0/24" }),
      await block({ kind: "NETWORK", given: "8.8.8.8/32" }),
    ];
    expect(await listBlocklist(fixture.core.database, merchantId)).toEqual([second, first]);
    await end(second);
    expect(await end(second)).toBeUndefined();
    expect(await listBlocklist(fixture.core.database, merchantId)).toEqual([first]);
    await fixture.asOwner.pool.query(
      `INSERT INTO blocklist_entry (id, merchant_id, kind, value, reason, added_by)
       SELECT gen_random_uuid(), $1, 'NETWORK', '9.9.' || n / 256 || '.' || n % 256 || '/32', 'x', 'x' FROM generate_series(1, 999) n`,
      [merchantId],
    );
    await expect(block({ kind: "NETWORK", given: "8.8.4.4/32" })).rejects.toThrow(/at most 1000 entries/);
  });
});
