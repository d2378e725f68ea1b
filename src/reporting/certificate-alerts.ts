/** Finds the certificates of Apple Pay that end soon, or have ended. */
import type { Matter, OpenMatter } from "../events/alerts.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { AlertId, MerchantId } from "../platform/ids.ts";

const dayMs = 24 * 60 * 60_000;
// A certificate takes some days at Apple, and a person who may request it. Each of these days opens a separate alert.
const daysBefore = [60, 30, 7, 0] as const;

// The ends are written by Date.toISOString().
const selectEnding: Statement = {
  name: "select_ending_certificates",
  text: `SELECT merchant_id AS "merchantId", name, ends_at AS "endsAt" FROM (
      SELECT DISTINCT ON (m.merchant_id) m.merchant_id, c.name, c.ends_at::timestamptz AS ends_at
      FROM merchant_settings m CROSS JOIN LATERAL (VALUES
        ('payment processing', m.wallets->'apple'->>'endsAt'), ('merchant identity', m.wallets->'apple'->>'identityEndsAt')) c(name, ends_at)
      WHERE c.ends_at IS NOT NULL ORDER BY m.merchant_id, c.ends_at) first
    WHERE ends_at <= (SELECT app.clock()) + ${daysBefore[0]} * interval '1 day'`,
};

type Ending = { readonly merchantId: MerchantId; readonly name: string; readonly endsAt: Date };
type Found = Matter & { readonly detail: string; readonly since: Date };

/**
 * Compares the first certificate of each merchant with the alerts that are open. `replaced` are those that opened for
 * an earlier day before the same end, with the current state.
 */
export async function compareCertificates(
  database: Queryable,
  { open, now }: { readonly open: readonly OpenMatter[]; readonly now: Date },
): Promise<{
  readonly found: readonly Found[];
  readonly over: readonly OpenMatter[];
  readonly replaced: readonly { readonly replaced: AlertId; readonly found: Found }[];
}> {
  const found = (await database.query<Ending>(selectEnding, [])).map(({ merchantId, name, endsAt }): Found => {
    // The last of the days that has come.
    const since = daysBefore
      .map((days) => new Date(endsAt.getTime() - days * dayMs))
      .filter((at) => at <= now)
      .at(-1)!;
    const day = `${endsAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
    const detail =
      endsAt > now
        ? `The ${name} certificate of Apple Pay ends at ${day}. From then on no checkout offers Apple Pay.`
        : `The ${name} certificate of Apple Pay has ended at ${day}: no checkout offers Apple Pay.`;
    const subject = { merchantId, kind: "APPLE_PAY_ENDING" as const, endpointId: null, connectionId: null };
    return { ...subject, gateway: null, since, detail };
  });
  const ofKind = open.filter(({ kind }) => kind === "APPLE_PAY_ENDING");
  const foundOf = (alert: OpenMatter) => found.find(({ merchantId }) => merchantId === alert.merchantId);
  return {
    found,
    over: ofKind.filter((alert) => foundOf(alert) === undefined),
    replaced: ofKind.flatMap((alert) => {
      const next = foundOf(alert);
      return next !== undefined && next.since > alert.since ? [{ replaced: alert.id, found: next }] : [];
    }),
  };
}
