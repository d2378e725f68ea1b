/** Measures a rotation of the store ring over many cards while customers pay: `npm run test:long -- store-rotation`. */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { type KeyRing, Secret, seal } from "../platform/secrets.ts";
import { resealStored, sealForStore } from "../platform/store-ring.ts";
import { clientOf, payment, startVaultFixture, testCard } from "./vault.fixture.ts";

const cards = 100_000;
const rowsAtOnce = 5_000;
const payers = 4;
// The goal of a rotation under load.
const withinMs = 120_000;

const fixture = await forFile(startVaultFixture);
const gateway = await forFile(() => Receiver.start());
const client = await forFile(() => clientOf(fixture));
const { storeRing } = fixture.config.environments[0]!;
const ring: KeyRing = { current: "2", keys: { ...storeRing!.keys, 2: randomBytes(32) } };
// As long as the inner layer of any card.
const inner = seal({ current: "handle", keys: { handle: randomBytes(32) } }, "", " ".repeat(512));

async function fill(): Promise<void> {
  for (let done = 0; done < cards; done += rowsAtOnce) {
    const rows = Array.from({ length: rowsAtOnce }, () => {
      const row = { handleHash: randomBytes(32), merchantId: "mer_1", sealed: inner };
      return { ...row, sealed: sealForStore(storeRing!, "test", row) };
    });
    await fixture.database.pool.query(
      `INSERT INTO stored_card (handle_hash, environment, merchant_id, session_id, sealed)
       SELECT hash, 'test', 'mer_1', 'ps_1', sealed FROM unnest($1::bytea[], $2::text[]) AS given (hash, sealed)`,
      [rows.map(({ handleHash }) => handleHash), rows.map(({ sealed }) => sealed)],
    );
  }
}

/** Pays with a new card, stores it, and pays with the stored one; throws if anything fails. */
async function payTwice(): Promise<void> {
  const merchantId = systemRuntime.uuid();
  const handle = new Secret(`vc_${randomBytes(24).toString("base64url")}`);
  const sessions = [systemRuntime.uuid(), systemRuntime.uuid()] as const;
  const [first, second] = sessions.map((id) => encodeId("ps", id));
  const grant = fixture.grant(first!, { profile: encodeId("mer", merchantId) });
  const { token } = await (await fixture.tokenize(first!, testCard, { grant })).json();
  await pay(first!, new Secret(token));
  const kept = await client.stored.keep({ sessionId: sessions[0], merchantId, token: new Secret(token), handle });
  const opened = await client.stored.open({ sessionId: sessions[1], merchantId, handle, code: "none" });
  if (kept === "lost" || opened === "lost") throw new Error("a card is lost");
  await pay(second!, opened.token);
}

async function pay(sessionId: string, token: Secret): Promise<void> {
  const { reply } = await client.forward(payment({ token, sessionId, origin: gateway.url }));
  if (reply.type !== "answer") throw new Error(`a payment failed: ${reply.type}`);
}

it("seals 100,000 cards anew within two minutes while customers pay, and no payment fails", async () => {
  await fill();
  // As after the step `use`: every vault seals with the new key.
  Object.assign(fixture.config.environments[0]!, { storeRing: ring });
  let isOver = false;
  let payments = 0;
  const paying = Array.from({ length: payers }, async () => {
    while (!isOver) {
      await payTwice();
      payments += 2;
    }
  });
  const begunAt = performance.now();
  const sealed = await resealStored(fixture.database, { environment: "test", ring, report: () => {} });
  const tookMs = performance.now() - begunAt;
  isOver = true;
  await Promise.all(paying);
  const figures = { sealed, seconds: Math.round(tookMs / 100) / 10, payments };
  console.log(JSON.stringify(figures));
  expect(sealed).toBeGreaterThanOrEqual(cards);
  expect(payments).toBeGreaterThan(0);
  expect(tookMs).toBeLessThan(withinMs);
});
