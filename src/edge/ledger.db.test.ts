import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const dayMs = 24 * 60 * 60_000;
// The next noon, so that no midnight passes while the test pays.
const noon = Math.ceil(Date.now() / dayMs) * dayMs + dayMs / 2;
const day = new Date(noon).toISOString().slice(0, 10);

const paid: string[] = [];

const setClock = (days: number) => edge.core.setClockAhead(Math.round((noon + days * dayMs - Date.now()) / 60_000));

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);
await setClock(0);
for (const key of ["order-1", "order-2"]) {
  const session = await edge.core.pay();
  paid.push(encodeId("ps", session.id));
  const headers = { "idempotency-key": key };
  const body = JSON.stringify({ amountMinor: 900 });
  expect((await edge.call("POST", `/payment-sessions/${paid.at(-1)}/refunds`, { body, headers })).status).toBe(201);
}
const read = (query: string) => edge.call("GET", `/ledger?${query}`);

it("refuses a day that is not over, that no calendar has, or that is missing", async () => {
  for (const query of [`day=${day}`, "day=2026-02-30", "day=2026-2-3", "", "day=2026-03-04&pageSize=1001"]) {
    const { status, json } = await read(query);
    expect([status, json.code, json.param], query).toEqual([
      ...[400, "invalid_parameter", query.includes("pageSize") ? "pageSize" : "day"],
    ]);
  }
});

it.each([
  ["", "day", "is required, unless from and to name a range"],
  ["day=", "day", "is required, unless from and to name a range"],
  ["day=4.3.2026", "day", "must be a day such as 2026-03-04"],
  ["from=2026-03-01", "to", "is required with from"],
  ["from=2026-03-01&to=31.3.2026", "to", "must be a day such as 2026-03-04"],
  ["from=2026-03-02&to=2026-03-01", "to", "must not be before from"],
])("says what a query of %j needs", async (query, param, detail) => {
  expect((await read(query)).json.errors).toEqual([
    expect.objectContaining({ code: "invalid_parameter", param, detail }),
  ]);
});

it("returns the day's entries, which are the same bytes each time", async () => {
  await setClock(2);
  const { json } = await read(`day=${day}`);
  expect(json.entries).toHaveLength(4);
  expect(json.entries.filter(({ sessionId }: { sessionId: string }) => sessionId === paid[0])).toEqual([
    {
      type: "CAPTURED",
      recordedAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      sessionId: paid[0],
      attemptId: expect.stringMatching(/^att_/),
      orderRef: expect.stringMatching(/^order-/),
      amountMinor: 4900,
      currency: "EUR",
      gateway: "SANDBOX_A",
      gatewayReference: expect.any(String),
    },
    expect.objectContaining({ type: "REFUNDED", amountMinor: 900, refundId: expect.stringMatching(/^ref_/) }),
  ]);
  const first = await read(`day=${day}&pageSize=3`);
  const second = await read(`day=${day}&pageSize=3&pageToken=${first.json.nextPageToken}`);
  expect([...first.json.entries, ...second.json.entries]).toEqual(json.entries);
  expect(second.json).not.toHaveProperty("nextPageToken");
  await setClock(30);
  expect((await read(`day=${day}&pageSize=3`)).text).toBe(first.text);
  const before = new Date(noon - 30 * dayMs).toISOString().slice(0, 10);
  const range = await read(`from=${before}&to=${day}&pageSize=3`);
  expect(range.json.entries).toEqual(first.json.entries);
  const rest = await read(`from=${before}&to=${day}&pageSize=3&pageToken=${range.json.nextPageToken}`);
  expect(rest.json).toEqual(second.json);
  expect((await read(`from=${before}&to=${day}&pageSize=3`)).text).toBe(range.text);
});
