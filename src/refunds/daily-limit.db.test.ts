/** Tests that a daily limit counts the refund that it checks, also where the day ends between the two. */
import { afterEach, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId, type KeyId, type MemberId } from "../platform/ids.ts";
import { requireWithinCap, requireWithinLimit } from "./daily-limit.ts";
import { refundIdOf } from "./refund-rows.ts";
import { startRefundFixture } from "./refunds.fixture.ts";
import { recordRequest } from "./request-refund.ts";

const fixture = await forFile(startRefundFixture);
const { base, core } = fixture;
afterEach(() => base.setClockAhead(0));

it.each(["key", "member"] as const)("counts a refund of yesterday on its own day, for a %s", async (maker) => {
  const session = await fixture.pay();
  const { id: sessionId, merchantId } = session;
  const keyId = core.runtime.uuid() as KeyId;
  const memberId = core.runtime.uuid() as MemberId;
  const id = refundIdOf(sessionId, "over-the-limit");
  const madeBy = maker === "key" ? `key (${encodeId("key", keyId)})` : `ada (${encodeId("mbr", memberId)})`;
  const limits = JSON.stringify({ DEVELOPER: { EUR: 4_899 } });
  await base.asOwner.pool.query(
    `INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, publishable_key, refund_limits) VALUES ($1, 1800000, 'pk', $2)
     ON CONFLICT (merchant_id) DO UPDATE SET refund_limits = $2`,
    [merchantId, limits],
  );
  const checked = core.database.transaction(async (tx) => {
    await recordRequest(tx, core, { sessionId, merchantId, key: "over-the-limit", amountMinor: 4_900, madeBy }, id);
    const [row] = await tx.query<{ createdAt: Date }>(
      { name: "refund_made", text: `SELECT created_at AS "createdAt" FROM refund WHERE session_id = $1 AND id = $2` },
      [sessionId, id],
    );
    await base.setClockAhead(24 * 60);
    if (maker === "key") return requireWithinCap(tx, { keyId, amounts: { EUR: 4_899 } }, { sessionId, id });
    const made = { merchantId, memberId, role: "DEVELOPER", currency: "EUR", amountMinor: 4_900 } as const;
    return requireWithinLimit(tx, { ...made, createdAt: row!.createdAt });
  });
  await expect(checked).rejects.toMatchObject({ code: maker === "key" ? "refund_cap_exceeded" : "role_not_allowed" });
  expect(await fixture.refundsOf(session)).toEqual([]);
});
