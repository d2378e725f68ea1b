/** Alerts about payments that are not paid out, payouts that do not add up, and accounts whose statements cannot be read. */
import { v7 } from "uuid";
import { beforeEach, expect, it } from "vitest";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { topicOf } from "../events/alerts.ts";
import { raiseAlertsOnce } from "./raise-alerts.ts";

const fixture = await forFile(startCoreFixture);
const { core, asOwner } = fixture;
const [connection] = fixture.connectionIds;

const run = (text: string) => asOwner.query<Record<string, unknown>>({ name: `run_${v7()}`, text }, []);
beforeEach(() => run("TRUNCATE alert, payout_line, payout, gateway_feed"));
type Row = { kind: "SETTLEMENT_OVERDUE"; detail: string; isOver: boolean };
async function alerts(): Promise<Row[]> {
  await raiseAlertsOnce(core);
  const text = `SELECT kind, detail, over_at IS NOT NULL AS "isOver" FROM alert ORDER BY kind`;
  return core.database.query<Row>({ name: "alerts_about_settlement", text }, []);
}
const read = (columns: string) =>
  run(`INSERT INTO gateway_feed (connection_id, kind, next_read_at, read_at, blocked_reason, blocked_at, overdue)
    VALUES ('${connection}', 'settlement', now(), now(), ${columns})`);

it("are about payments that are overdue, until they are paid out", async () => {
  await read("NULL, NULL, 2");
  const [alert, ...others] = await alerts();
  expect(others).toEqual([]);
  expect(alert).toMatchObject({ kind: "SETTLEMENT_OVERDUE", isOver: false });
  expect(alert!.detail).toContain("2 captured payments are in no statement");
  expect(topicOf(alert!.kind)).toBe("SETTLEMENT");
  expect(await alerts()).toHaveLength(1);
  await run("UPDATE gateway_feed SET overdue = 0");
  expect(await alerts()).toMatchObject([{ isOver: true }]);
});

it("are about an account whose statements cannot be read, and say nothing of its disputes", async () => {
  await read("'the key may not read payouts', now(), 0");
  expect(await alerts()).toMatchObject([
    { kind: "SETTLEMENT_UNREADABLE", detail: expect.stringContaining("the key may not read payouts") },
  ]);
});

it("are about the last payout that does not add up, for a month", async () => {
  await read("NULL, NULL, 0");
  const id = v7();
  await run(`INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency)
    VALUES ('${id}', '${v7()}', '${connection}', 'X', 'po_1', 'PAID', 4806, 'EUR')`);
  expect(await alerts()).toEqual([]);
  await run(`UPDATE payout SET complete_at = now() WHERE id = '${id}'`);
  expect(await alerts()).toMatchObject([
    {
      kind: "PAYOUT_REMAINDER",
      detail: "The lines of the payout po_1 over 48.06 EUR do not add up: 48.06 EUR is not explained.",
    },
  ]);
  await fixture.setClockAhead(31 * 24 * 60);
  expect(await alerts()).toMatchObject([{ isOver: true }]);
  await fixture.setClockAhead(0);
});
