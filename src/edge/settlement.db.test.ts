import { v7 } from "uuid";
import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([], [edge.core.connectionIds[0]!]);
const { core } = edge.core;

const run = (text: string) => core.database.query<Record<string, string>>({ name: `run_${v7()}`, text }, []);
const read = (query: string) => edge.call("GET", query);

const paid: { sessionId: string; attemptId: string; connectionId: string }[] = [];
for (let count = 0; count < 3; count++) {
  const session = await edge.core.pay();
  const [row] = await run(
    `SELECT session_id AS "sessionId", id AS "attemptId", connection_id AS "connectionId" FROM attempt WHERE session_id = '${session.id}'`,
  );
  paid.push(row as (typeof paid)[number]);
}
const [first, second] = paid;
const connection = first!.connectionId;
const payout = v7();
const lineOf = (id: string, one: (typeof paid)[number], payoutId: string | null) => `
  INSERT INTO payout_line (connection_id, line_id, digest, merchant_id, gateway, payout_id, kind, status, gross_minor, currency, settled_gross_minor,
    fee_minor, net_minor, settlement_currency, gateway_type, gateway_reference, session_id, entry_type, entry_id, entry_ordinal, entry_at)
  VALUES ('${connection}', '${id}', '', '${v7()}', 'X', ${payoutId ? `'${payoutId}'` : "NULL"}, 'CAPTURE', 'MATCHED', 4900, 'EUR', 4900, 94, 4806, 'EUR',
    'charge', 'ch_1', '${one.sessionId}', 'CAPTURED', '${one.attemptId}', 0, now())`;

it("is empty before a gateway's statement is read", async () => {
  expect((await read("/payouts")).json).toEqual({ payouts: [] });
  expect((await read("/payout-lines")).json).toEqual({ lines: [] });
  const { json } = await read("/settlements");
  expect(json.settlements).toHaveLength(3);
  for (const one of json.settlements) {
    expect(one).toMatchObject({ entry: { type: "CAPTURED" }, state: "OPEN", ageDays: 0, reason: "no_feed" });
  }
  expect((await read("/settlements?state=PAID")).json).toEqual({ settlements: [] });
});

it("names the payout that paid a movement, and what the gateway kept", async () => {
  await run(`INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency, arrives_on)
    VALUES ('${payout}', '${v7()}', '${connection}', 'X', 'po_1', 'PAID', 4806, 'EUR', '2026-03-05')`);
  await run(lineOf("txn_1", first!, payout));
  await run(lineOf("txn_2", second!, null));
  await run(`UPDATE payout SET complete_at = now() WHERE id = '${payout}'`);
  const payoutId = encodeId("pout", payout);
  const described = {
    ...{ payoutId, gateway: "SANDBOX_A", connectionId: encodeId("gc", connection), gatewayReference: "po_1" },
    ...{ status: "PAID", amountMinor: 4806, currency: "EUR", arrivesOn: "2026-03-05", remainderMinor: 0 },
    completeAt: expect.any(String),
  };
  expect((await read("/payouts")).json).toEqual({ payouts: [described] });
  expect((await read(`/payouts/${payoutId}`)).json).toEqual(described);
  expect((await read("/payouts?from=2026-03-06")).json).toEqual({ payouts: [] });
  expect((await read("/payouts?to=2026-03-05&gateway=SANDBOX_A")).json.payouts).toHaveLength(1);
  const { lines } = (await read(`/payout-lines?payoutId=${payoutId}`)).json;
  const sessionId = encodeId("ps", first!.sessionId);
  const entry = { sessionId, entryType: "CAPTURED", entryId: encodeId("att", first!.attemptId) };
  expect(lines).toMatchObject([
    { kind: "CAPTURE", status: "MATCHED", feeMinor: 94, netMinor: 4806, payoutId, ...entry },
  ]);
  const { settlements } = (await read("/settlements")).json;
  const money = { feeMinor: 94, netMinor: 4806, settlementCurrency: "EUR" };
  expect(settlements).toMatchObject([
    { entry: { sessionId }, state: "PAID", payoutId, ...money },
    { entry: { sessionId: encodeId("ps", second!.sessionId) }, state: "IN_BALANCE", ...money },
    { state: "OPEN" },
  ]);
  expect(settlements[1]).not.toHaveProperty("payoutId");
  for (const [state, place] of [
    ["PAID", 0],
    ["IN_BALANCE", 1],
    ["OPEN", 2],
  ] as const) {
    expect((await read(`/settlements?state=${state}`)).json.settlements).toEqual([settlements[place]]);
  }
});

it("is read in pages, the lines newest first, the movements oldest first", async () => {
  const all = (await read("/settlements")).json.settlements;
  const page = (await read("/settlements?pageSize=2")).json;
  const rest = (await read(`/settlements?pageSize=2&pageToken=${page.nextPageToken}`)).json;
  expect([...page.settlements, ...rest.settlements]).toEqual(all);
  expect(rest).not.toHaveProperty("nextPageToken");
  const lines = (await read("/payout-lines")).json.lines;
  const newest = (await read("/payout-lines?pageSize=1")).json;
  const oldest = (await read(`/payout-lines?pageSize=1&pageToken=${newest.nextPageToken}`)).json;
  expect([...newest.lines, ...oldest.lines]).toEqual(lines);
  expect(oldest).not.toHaveProperty("nextPageToken");
});

it.each([
  ["/payouts?from=2026-02-30", "from"],
  ["/settlements?from=2026-02-30", "from"],
  ["/settlements?from=2026-01-01&to=2026-03-01", "to"],
  ["/payout-lines?payoutId=pout_1", "payoutId"],
  ["/settlements?pageToken=x", "pageToken"],
])("refuses %s", async (query, param) => {
  const { status, json } = await read(query);
  expect([status, json.code, json.param]).toEqual([400, "invalid_parameter", param]);
});

it("knows no payout of another id", async () => {
  expect((await read(`/payouts/${encodeId("pout", v7())}`)).status).toBe(404);
});
