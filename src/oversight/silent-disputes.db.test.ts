import { afterEach, expect, it } from "vitest";
import { closeWorkItem } from "../core/record/work-items.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { itemsOf } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { dispute } from "../disputes/disputes.fixture.ts";
import { encodeId } from "../platform/ids.ts";
import { raiseAlarmsOnce } from "./raise-alarms.ts";

const fixture = await forFile(startCoreFixture);
const { core } = fixture;
const day = 24 * 60;
afterEach(() => fixture.setClockAhead(0));

const inDays = (days: number) => new Date(Date.now() + days * 24 * 3_600_000).toISOString();
async function silentAfter(days: number, session: PaymentSession) {
  await fixture.setClockAhead(days * day);
  await raiseAlarmsOnce(core);
  return (await itemsOf(fixture, session)).filter(({ kind }) => kind === "DISPUTE_SILENT");
}

it.each([
  ["30 days after its deadline", [{ respondBy: inDays(10) }], 40],
  ["60 days without a deadline", [{}], 60],
  ["180 days under review", [{ respondBy: inDays(10) }, { event: "answered" }], 180],
] as const)("a dispute is silent %s", async (_, notices, days) => {
  const session = await fixture.pay();
  let id = "";
  for (const notice of notices) ({ id } = await dispute(core, session, notice));
  expect(await silentAfter(days - 1, session)).toEqual([]);
  expect(await silentAfter(days + 1, session)).toMatchObject([{ rule: encodeId("dsp", id), resolvedAt: null }]);
  expect(await silentAfter(days + 2, session)).toHaveLength(1);
});

it("a dispute that is silent no more resolves its row, and a closed row opens again after news only", async () => {
  const session = await fixture.pay();
  await dispute(core, session);
  const [item] = await silentAfter(61, session);
  await core.database.transaction((tx) => closeWorkItem(tx, { id: item!.id, by: "ada", note: "asked the bank" }));
  expect(await silentAfter(70, session)).toHaveLength(1);
  await dispute(core, session, { event: "answered" });
  expect(await silentAfter(71, session)).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  expect(await silentAfter(260, session)).toHaveLength(2);
});

it("a dispute that has ended is never silent", async () => {
  const session = await fixture.pay();
  await dispute(core, session, { event: "returned" });
  expect(await silentAfter(400, session)).toEqual([]);
});
