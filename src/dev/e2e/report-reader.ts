/** A process that reads settlement reports of SANDBOX_B into an environment's database, as a worker does; the reports are made up. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import type { Core } from "../../core/core.ts";
import { adyenStatements } from "../../gateways/adyen/settlement.ts";
import type { Connector } from "../../gateways/connector.ts";
import { Database, type Statement } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/log.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { readStatementsOnce } from "../../settlement/statement-feed.ts";
import { answerParent } from "../testing/child-process.ts";

export type ReportOrder = {
  readonly databaseUrl: string;
  readonly batch: number;
  readonly attemptIds: readonly string[];
};

const header =
  "Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference,Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,Net Debit (NC),Net Credit (NC),Commission (NC),Markup (NC),Scheme Fees (NC),Interchange (NC),Payment Method Variant,Modification Merchant Reference,Batch Number,Reserved4,Reserved5,Reserved6,Reserved7,Reserved8,Reserved9,Reserved10";

const linesOfBlock = 100;
const lineOf = (id: string, batch: number) =>
  `Company,Shop,PSP${id},${encodeId("att", id)},visa,2026-03-02 10:00:00,CET,Settled,CAP${id},EUR,,49.00,1,EUR,,48.06,0.94,,,,visaclassic,,${batch},,,,,,,\n`;

function* report({ batch, attemptIds }: ReportOrder) {
  yield `${header}\n`;
  // The lines come in blocks, as a network brings them.
  for (let from = 0; from < attemptIds.length; from += linesOfBlock)
    yield attemptIds
      .slice(from, from + linesOfBlock)
      .map((id) => lineOf(id, batch))
      .join("");
  const net = ((attemptIds.length * 4806) / 100).toFixed(2);
  yield `Company,Shop,,,,2026-03-05 05:00:00,CET,MerchantPayout,"TX${batch} batch ${batch}",EUR,,,,EUR,${net},,,,,,,,${batch},,,,,,,\n`;
}

const nameOf = ({ batch }: ReportOrder) => `settlement_detail_report_batch_${batch}.csv`;
const makeDue: Statement = {
  name: "make_settlement_due",
  text: `UPDATE gateway_feed f SET next_read_at = app.clock(), lease_token = NULL FROM connection c
    WHERE c.id = f.connection_id AND c.gateway = 'SANDBOX_B' AND f.kind = 'settlement'`,
};
async function isRead(database: Database, order: ReportOrder): Promise<boolean> {
  const text = "SELECT FROM settlement_report WHERE name = $1 AND read_at IS NOT NULL";
  return (await database.query({ name: "find_read_report", text }, [nameOf(order)])).length > 0;
}

/** Reads one report to its end, and returns how long that took. */
async function read(order: ReportOrder): Promise<number> {
  const server = createServer((_, response) => void Readable.from(report(order)).pipe(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const http = new GatewayHttp();
  const statements = adyenStatements({
    download: ({ timeoutMs, signal }, name, most) =>
      http.download({ method: "GET", url: `http://127.0.0.1:${port}/${name}`, headers: {}, timeoutMs, signal }, most),
    canRead: () => true,
  });
  // All that the reading of a report uses of a connector and of the core.
  const connector = { statements } as unknown as Connector;
  const pool = new Pool({ connectionString: order.databaseUrl, max: 1, pipeline: true });
  const core = {
    database: new Database(pool),
    runtime: systemRuntime,
    sleep: pause,
    log: createLogger({ name: "reader", level: "warn" }),
    connectorOf: (gateway: string) => (gateway === "SANDBOX_B" ? connector : undefined),
    bind: async () => ({ connector, credentials: {} }),
  } as unknown as Core;
  const begunAt = performance.now();
  // The worker beside may have taken the account first: what it could not read is due again at once.
  while (!(await isRead(core.database, order))) {
    await core.database.query(makeDue, []);
    while (await readStatementsOnce(core));
  }
  const took = performance.now() - begunAt;
  await Promise.all([pool.end(), http.close()]);
  await new Promise((resolve) => server.close(resolve));
  return took;
}

answerParent({ read });
