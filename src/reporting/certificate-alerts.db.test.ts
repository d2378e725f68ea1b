import { v7 } from "uuid";
import { expect, it } from "vitest";
import { recordWallets } from "../accounts/merchant-wallets.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { openTestDatabase } from "../dev/testing/postgres.ts";
import { systemRuntime } from "../platform/runtime.ts";
import type { MerchantWallets } from "../platform/wallets.ts";
import { raiseAlertsOnce } from "./raise-alerts.ts";

const { owner, database } = await forFile(openTestDatabase);
const merchantId = v7();
await owner.query(`INSERT INTO merchant_settings (merchant_id, publishable_key, session_lifetime_ms)
  VALUES ('${merchantId}', 'pk_${merchantId}', 1800000)`);

const setClockAhead = (interval: string) =>
  owner.query(`CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$SELECT clock_timestamp() + interval '${interval}'$$`);
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const use = (wallets: MerchantWallets) =>
  database.transaction((tx) => recordWallets(tx, merchantId, { wallets, setUp: {} }));
const apple = (endsAt: string, identityEndsAt: string) => ({
  apple: { merchantIdentifier: "merchant.com.example", endsAt, identityEndsAt },
});

/** Returns what is open, and how many alerts there were. */
async function raise(ahead = "0 days") {
  await setClockAhead(ahead);
  await raiseAlertsOnce({ database, runtime: systemRuntime, log: { warn: () => {} }, connectorOf: () => undefined });
  type Row = { detail: string; over: boolean; isSent: boolean };
  const text = `SELECT detail, over_at IS NOT NULL AS over, send_at IS NOT NULL AS "isSent" FROM alert
    WHERE merchant_id = $1 ORDER BY id`;
  const rows: Row[] = (await owner.query(text, [merchantId])).rows;
  const [open, ended] = [rows.filter(({ over }) => !over), rows.filter(({ over }) => over)];
  const endsSent = ended.filter(({ isSent }) => isSent).length;
  return { count: rows.length, open: open.map(({ detail }) => detail), endsSent };
}

it("opens 60, 30 and 7 days before the first certificate ends, and when it has, until it is renewed", async () => {
  const [first, later] = [inDays(65), inDays(700)];
  await use(apple(later, first));
  expect(await raise()).toMatchObject({ count: 0 });
  const words = `The merchant identity certificate of Apple Pay`;
  const ends = expect.stringMatching(new RegExp(`^${words} ends at .* UTC. From then on no checkout`));
  expect(await raise("6 days")).toMatchObject({ count: 1, open: [ends] });
  expect(await raise("34 days")).toMatchObject({ count: 1 });
  for (const [index, day] of [36, 59, 66].entries()) {
    // The alert before ends without a message, and the next one opens at once.
    const opened = await raise(`${day} days`);
    expect([opened.count, opened.open.length, opened.endsSent]).toEqual([index + 2, 1, 0]);
    expect(await raise(`${day} days 2 hours`)).toMatchObject({ count: index + 2 });
  }
  expect((await raise("67 days")).open).toEqual([expect.stringMatching(new RegExp(`^${words} has ended at`))]);
  await use(apple(later, later));
  expect(await raise("67 days")).toMatchObject({ count: 4, open: [] });
  await use({ ...apple(inDays(75), later) });
  expect((await raise("70 days")).open).toEqual([expect.stringContaining("The payment processing certificate")]);
  await use({});
  expect(await raise("70 days")).toMatchObject({ open: [] });
});
