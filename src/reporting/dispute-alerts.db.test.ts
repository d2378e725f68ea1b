/** Alerts and webhooks about disputes that need a response, and about accounts whose disputes cannot be read. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { dispute } from "../disputes/disputes.fixture.ts";
import { emitDueDisputesOnce } from "../disputes/due-disputes.ts";
import { topicOf } from "../events/alerts.ts";
import { encodeId } from "../platform/ids.ts";
import { raiseAlertsOnce } from "./raise-alerts.ts";

const fixture = await forFile(startCoreFixture);
const { core, asOwner } = fixture;
const hour = 60;
const day = 24 * hour;

beforeEach(() => asOwner.query({ name: "forget_alerts", text: "DELETE FROM alert" }, []));
afterEach(() => fixture.setClockAhead(0));

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const dueEvents = async (session: PaymentSession) =>
  (await fixture.eventTypes(session)).filter((type) => type === "dispute.due_soon").length;
type Row = { kind: "DISPUTE_OPENED" | "DISPUTES_UNREADABLE"; detail: string; isOver: boolean };
async function alerts(): Promise<Row[]> {
  await raiseAlertsOnce(core);
  const text = `SELECT kind, detail, over_at IS NOT NULL AS "isOver" FROM alert ORDER BY kind DESC, id`;
  return core.database.query<Row>({ name: "alerts_about_disputes", text }, []);
}

it("are one when it opens and one 72 hours before its deadline, each once, until it needs no response", async () => {
  const session = await fixture.pay();
  await dispute(core, session, { respondBy: inHours(100) });
  await emitDueDisputesOnce(core);
  expect(await dueEvents(session)).toBe(0);
  const [opened, ...others] = await alerts();
  expect(others).toEqual([]);
  expect(opened).toMatchObject({ kind: "DISPUTE_OPENED", isOver: false });
  expect(opened!.detail).toContain(
    `a chargeback over 49.00 EUR of the payment ${encodeId("ps", session.id)}. Answer it by `,
  );
  expect(topicOf(opened!.kind)).toBe("DISPUTES");
  await fixture.setClockAhead(30 * hour);
  await emitDueDisputesOnce(core);
  await emitDueDisputesOnce(core);
  expect(await dueEvents(session)).toBe(1);
  const both = ["DISPUTE_OPENED", "DISPUTE_DUE"];
  expect((await alerts()).map(({ kind }) => kind)).toEqual(both);
  expect((await alerts()).map(({ kind }) => kind)).toEqual(both);
  await dispute(core, session, { event: "answered" });
  expect((await alerts()).map(({ isOver }) => isOver)).toEqual([true, true]);
  await fixture.setClockAhead(40 * hour);
  expect((await alerts()).map(({ kind }) => kind)).toEqual(both);
});

it("come again before the deadline of another stage, by webhook", async () => {
  const session = await fixture.pay();
  await dispute(core, session, { event: "inquiryOpened", respondBy: inHours(10) });
  await emitDueDisputesOnce(core);
  await dispute(core, session, { event: "charged", respondBy: inHours(20) });
  await emitDueDisputesOnce(core);
  expect(await dueEvents(session)).toBe(2);
});

it("are none for a deadline that is over, and for a dispute that was open for days when it became known", async () => {
  const session = await fixture.pay();
  await dispute(core, session, { respondBy: inHours(-1) });
  await emitDueDisputesOnce(core);
  expect(await dueEvents(session)).toBe(0);
  await fixture.setClockAhead(4 * day);
  expect(await alerts()).toEqual([]);
});

it("are one for each connection whose disputes cannot be read, until they can", async () => {
  const [connectionId] = fixture.connectionIds;
  const change = (name: string, text: string) => asOwner.query({ name, text }, [connectionId]);
  const unreadable = async () => (await alerts()).filter(({ kind }) => kind === "DISPUTES_UNREADABLE");
  await change(
    "block_feed",
    `INSERT INTO gateway_feed (connection_id, kind, next_read_at, blocked_reason, blocked_at)
     VALUES ($1, 'disputes', app.clock(), 'the key may not read disputes', app.clock())`,
  );
  expect(await unreadable()).toMatchObject([
    {
      kind: "DISPUTES_UNREADABLE",
      detail: expect.stringContaining(
        "SANDBOX_A does not let the disputes of this connection be read: the key may not",
      ),
      isOver: false,
    },
  ]);
  await change(
    "free_feed",
    "UPDATE gateway_feed SET blocked_reason = NULL, blocked_at = NULL WHERE connection_id = $1",
  );
  expect(await unreadable()).toMatchObject([{ isOver: true }]);
});
