/** A report of a hundred thousand payments: its time and its memory. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { replaced } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { adyenStatements } from "../gateways/adyen/settlement.ts";
import type { Connector } from "../gateways/connector.ts";
import { encodeId } from "../platform/ids.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { readStatementsOnce } from "./statement-feed.ts";

const lines = 100_000;
const secondsMax = 60;
const bytesMax = 256 * 1024 * 1024;
// A few batches of rows, and what is under way. All rows would be 100 MiB and more.
const heldBytesMax = 48 * 1024 * 1024;

setFlagsFromString("--expose-gc");
// Memory that is only not collected yet depends on how busy the machine is.
const collect = runInNewContext("gc") as () => void;

const fixture = await forFile(startCoreFixture);
const { core, asOwner } = fixture;
const connection = fixture.connectionIds[1]!;
await fixture.setRule([], [connection]);
const run = <Row extends object>(text: string, values: unknown[] = []) =>
  asOwner.query<Row>({ name: `run_${v7()}`, text }, values);

/** Writes captured payments as rows. Their guards are off meanwhile: each payment would take five statements. */
async function fill(): Promise<void> {
  const tables = await run<{ name: string }>(
    "SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relnamespace = 'partitions'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^(payment_session|attempt)_'",
  );
  const guards = async (state: "ENABLE" | "DISABLE") => {
    for (const { name } of tables) await run(`ALTER TABLE ${name} ${state} TRIGGER USER`);
  };
  await guards("DISABLE");
  await run(
    `CREATE UNLOGGED TABLE filled AS SELECT uuidv7() AS session, uuidv7() AS attempt, i FROM generate_series(1, ${lines}) i`,
  );
  await run(`INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, phase, created_at, expires_at, submitted_at, card_brand)
    SELECT session, (SELECT merchant_id FROM connection WHERE id = '${connection}'), 4900, 'EUR', 'order-' || i, 1, 'PROCESSING', now(), now(), now(), 'visa' FROM filled`);
  await run(`INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, status,
      gateway_reference, capture_ordered_at, captured_amount_minor, latest_execution_at, completed_at)
    SELECT session, attempt, 1, 'SANDBOX_B', '${connection}', 1, 1, 'why', 4900, 'EUR', 'CAPTURED', 'PSP' || i, now(), 4900, now(), now() FROM filled`);
  await run(`UPDATE payment_session s SET winner_attempt_id = f.attempt, status = 'SUCCEEDED', phase = 'DONE', settled_at = now(), captured_via = 'SANDBOX_B', capture_confirmed = true
    FROM filled f WHERE s.id = f.session`);
  await guards("ENABLE");
  await run("ANALYZE payment_session");
  await run("ANALYZE attempt");
}

const header =
  "Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference,Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,Net Debit (NC),Net Credit (NC),Commission (NC),Markup (NC),Scheme Fees (NC),Interchange (NC),Payment Method Variant,Modification Merchant Reference,Batch Number,Reserved4,Reserved5,Reserved6,Reserved7,Reserved8,Reserved9,Reserved10";

/** Serves the report as it is made. */
async function serve(attempts: readonly string[]) {
  function* report() {
    yield `${header}\n`;
    for (const [place, attempt] of attempts.entries()) {
      yield `Company,Shop,PSP${place + 1},${attempt},visa,2026-03-02 10:00:00,CET,Settled,CAP${place + 1},EUR,,49.00,1,EUR,,48.06,0.94,,,,visaclassic,,1,,,,,,,\n`;
    }
    const net = ((lines * 4806) / 100).toFixed(2);
    yield `Company,Shop,,,,2026-03-05 05:00:00,CET,MerchantPayout,"TX1 batch 1",EUR,,,,EUR,${net},,,,,,,,1,,,,,,,\n`;
  }
  const server = createServer((_, response) => void Readable.from(report()).pipe(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => new Promise((resolve) => server.close(resolve)) };
}

it(`is read, matched and complete within ${secondsMax} s, in ${bytesMax / 2 ** 20} MiB`, async () => {
  await fill();
  const rows = await run<{ attempt: string }>("SELECT attempt FROM filled ORDER BY i");
  const server = await serve(rows.map(({ attempt }) => encodeId("att", attempt)));
  const http = new GatewayHttp();
  const statements = adyenStatements({
    download: ({ timeoutMs, signal }, name, most) =>
      http.download({ method: "GET", url: `${server.origin}/${name}`, headers: {}, timeoutMs, signal }, most),
    canRead: () => true,
  });
  const connectorOf = (gateway: string) => {
    const connector = core.connectorOf(gateway);
    if (gateway !== "SANDBOX_B" || !connector) return undefined;
    return replaced<Connector>(connector, { statements });
  };
  const bind: typeof core.bind = async (...[id, gateway, version]) => {
    const bound = await core.bind(id, gateway, version);
    return bound && { ...bound, connector: connectorOf(gateway)! };
  };
  await run(
    `INSERT INTO settlement_report (connection_id, name) VALUES ('${connection}', 'settlement_detail_report_batch_1.csv')`,
  );
  collect();
  const before = process.memoryUsage();
  let [most, inUse] = [before.rss, before.heapUsed];
  const sampling = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
    collect();
    inUse = Math.max(inUse, process.memoryUsage().heapUsed);
  }, 500);
  const begunAt = performance.now();
  while (await readStatementsOnce({ ...core, connectorOf, bind }));
  const seconds = (performance.now() - begunAt) / 1_000;
  clearInterval(sampling);
  await Promise.all([server.close(), http.close()]);
  const [grown, held] = [most - before.rss, inUse - before.heapUsed];
  const [grownMiB, heldMiB] = [grown, held].map((bytes) => (bytes / 2 ** 20).toFixed(0));
  console.info(
    `${lines} lines in ${seconds.toFixed(1)} s, ${grownMiB} MiB more than before, of which ${heldMiB} MiB were in use`,
  );
  const [counts] = await run(
    "SELECT count(*)::int AS lines, count(*) FILTER (WHERE status = 'MATCHED')::int AS matched FROM payout_line",
  );
  expect(counts).toEqual({ lines: lines + 1, matched: lines });
  const [payout] = await run("SELECT remainder_minor::int AS remainder, amount_minor::float8 AS amount FROM payout");
  expect(payout).toEqual({ remainder: 0, amount: lines * 4806 });
  expect(seconds).toBeLessThan(secondsMax);
  expect(grown).toBeLessThan(bytesMax);
  // Nothing of a row is kept: a report of any length needs as much.
  expect(held).toBeLessThan(heldBytesMax);
});
