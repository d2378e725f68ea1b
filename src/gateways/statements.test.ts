/** Statements as each gateway makes them, at its emulator and against its own files. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { holdPayment, startGatewayHarness } from "../dev/testing/gateway-harness.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { Secret } from "../platform/secrets.ts";
import { AdyenConnector } from "./adyen/connector.ts";
import { signNotification } from "./adyen/notification-signature.ts";
import { adyenStatements, isReportName } from "./adyen/settlement.ts";
import type { CapturedPayment } from "./connector.ts";
import { disputeCards } from "./sandbox/dispute-cards.ts";
import type { ListedStatements, ReportedStatements, ReportRow, StatementLine } from "./statements.ts";
import { subjects } from "./subjects.fixture.ts";

const second = 1_000;
const day = 24 * 60 * 60 * second;

const gateways = ["SANDBOX_A", "SANDBOX_B", "STRIPE", "ADYEN", "PAYPAL"] as const;
const reporting = { reportUser: new Secret("report@Company.Sandbox"), reportPassword: new Secret("secret") };

describe.each(gateways)("the statements of %s", async (gateway) => {
  const credentials = { ...subjects[gateway].credentials, ...(gateway === "ADYEN" && reporting) };
  const harness = await forFile(() => startGatewayHarness({ ...subjects[gateway], credentials }));
  let aheadMs = 0;
  afterEach(() => harness.replaceWith(() => undefined));
  const wait = (ms: number) => {
    aheadMs += ms;
    return harness.sandbox.setClockAhead(aheadMs);
  };

  const pay = async (name?: string): Promise<CapturedPayment> => {
    const card = disputeCards.find((one) => one.name === name);
    if (card) harness.forwarder.useCard(card.number);
    const hold = await holdPayment(harness, harness.newPayment());
    const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    await harness.sandbox.quiet();
    const captureReference = answer.type === "done" ? answer.captureReference : undefined;
    return { ...hold, capturedMinor: hold.amountMinor, captureReference };
  };
  const call = () => harness.call("");
  const listed = () => harness.connector.statements as ListedStatements;
  const until = () => new Date(Date.now() + aheadMs + 60 * second);
  const readLines = async (payout?: string) => {
    const found: StatementLine[] = [];
    let page: string | undefined;
    do {
      const read = await listed().readLines(call(), {
        since: new Date(Date.now() - 40 * day),
        until: until(),
        payout,
        page,
      });
      if (read.type !== "page") throw new Error(`expected a page, got ${JSON.stringify(read)}`);
      found.push(...read.records);
      page = read.next;
    } while (page !== undefined);
    return found;
  };
  const readReport = async (name: string, fromRow = 0) => {
    const opened = await (harness.connector.statements as ReportedStatements).openReport(call(), { name, fromRow });
    if (opened.type !== "report") throw new Error(`expected a report, got ${JSON.stringify(opened)}`);
    const found: ReportRow[] = [];
    for await (const row of opened.rows) found.push(row);
    return found;
  };
  const nameOf = (batch: number) => `settlement_detail_report_batch_${batch}.csv`;
  let batches = 0;
  /** Pays out, and returns every line that the account has. */
  const linesNow = async (): Promise<readonly StatementLine[]> => {
    await harness.sandbox.payOut();
    if (harness.connector.statements!.type === "listed") return readLines();
    const all: StatementLine[] = [];
    batches++;
    for (let batch = 1; batch <= batches; batch++)
      all.push(...(await readReport(nameOf(batch))).map(({ line }) => line));
    return all;
  };
  const of = (
    lines: readonly StatementLine[],
    { gatewayReference, attemptReference, captureReference }: CapturedPayment,
  ) =>
    lines.filter(
      ({ names }) =>
        names.payment === gatewayReference ||
        names.attempt === attemptReference ||
        names.capture === (captureReference ?? "none"),
    );

  it("have a capture and a refund, with our names, the fee and exact amounts", async () => {
    const payment = await pay();
    const refund = { refundReference: `ref_${payment.attemptReference}`, amountMinor: 900, currency: "EUR" };
    await harness.connector.refunds!.refund(harness.call("back"), payment, refund);
    await harness.sandbox.quiet();
    const lines = await linesNow();
    const own = of(lines, payment);
    const settled = (grossMinor: number, feeMinor: number) => ({
      grossMinor,
      feeMinor,
      netMinor: grossMinor - feeMinor,
      currency: "EUR",
    });
    expect(own.find(({ kind }) => kind === "CAPTURE")).toMatchObject({
      gross: { amountMinor: 4900, currency: "EUR" },
      settled: settled(4900, 94),
    });
    const back = lines.find(({ kind, names }) => kind === "REFUND" && names.ourRefund === refund.refundReference);
    expect(back).toMatchObject({ gross: { amountMinor: -900, currency: "EUR" }, settled: settled(-900, 0) });
    expect(new Set(lines.map(({ lineId }) => lineId)).size).toBe(lines.length);
    expect(lines.filter(({ kind }) => kind === "OTHER")).toEqual([]);
  });

  it("have a chargeback with its fee, and the money that came back", async () => {
    const payment = await pay("Charged back again");
    await wait(16 * second);
    const own = of(await linesNow(), payment).filter(({ kind }) => kind !== "CAPTURE");
    expect(own.map(({ kind, settled }) => [kind, settled?.grossMinor, settled?.feeMinor]).toSorted()).toEqual([
      ["CHARGEBACK", -4900, 1500],
      ["CHARGEBACK_REVERSED", 4900, 0],
    ]);
  });

  it("name the payout of each line, where the gateway does", async () => {
    if (gateway === "PAYPAL") return expect(listed().readPayouts).toBeUndefined();
    await pay();
    await linesNow();
    if (harness.connector.statements!.type === "reported") {
      const report = await readReport(nameOf(batches));
      const { payout } = report.at(-1)!;
      const sum = report.slice(0, -1).reduce((total, { line }) => total + line.settled!.netMinor, 0);
      expect(payout).toMatchObject({
        gatewayReference: `${batches}-EUR`,
        status: "PAID",
        amountMinor: sum,
        isComplete: true,
      });
      expect(await readReport(nameOf(batches), 1)).toEqual(report.slice(1));
      return;
    }
    const payouts = await listed().readPayouts!(call(), { since: new Date(0) });
    if (payouts.type !== "page") throw new Error("expected a page");
    const [newest] = payouts.records;
    const lines = await readLines(newest!.gatewayReference);
    const others = lines.filter(({ kind }) => kind !== "PAYOUT");
    expect(newest).toMatchObject({
      status: "PAID",
      isComplete: true,
      arrivesOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
    expect(others.reduce((total, { settled }) => total + settled!.netMinor, 0)).toBe(newest!.amountMinor);
    for (const line of lines) expect(line.payoutReference).toBe(newest!.gatewayReference);
  });

  it("S5: are fetched from the gateway's own host, under the account, by their name, and no redirect is followed", async () => {
    if (harness.connector.statements!.type === "listed") return;
    const before = harness.middle.requests.length;
    harness.replaceWith(() => ({ status: 302, headers: { location: `${harness.middle.url}/elsewhere` }, body: "" }));
    const answer = await harness.connector.statements!.openReport(call(), { name: nameOf(1), fromRow: 0 });
    expect(answer).toEqual({ type: "unknown", reason: "the report is not there (HTTP 302)" });
    const [request, ...others] = harness.middle.requests.slice(before);
    expect(others).toEqual([]);
    const account = call().credentials.merchantAccount!.expose();
    expect(request!.path).toBe(
      gateway === "ADYEN"
        ? `/reports/download/MerchantAccount/${account}/${nameOf(1)}`
        : `/b/reports/${account}/${nameOf(1)}`,
    );
    for (const name of [
      "../secret.csv",
      "payments_report_1.csv",
      "https://example.com/settlement_detail_report_1.csv",
    ]) {
      expect(await harness.connector.statements!.openReport(call(), { name, fromRow: 0 })).toMatchObject({
        type: "refused",
      });
    }
    expect(harness.middle.requests.slice(before)).toHaveLength(1);
  });

  it.each([401, 403])("are refused with HTTP %i", async (status) => {
    harness.replaceWith(() => ({ status, body: "{}" }));
    const { statements } = harness.connector;
    const answer =
      statements!.type === "listed"
        ? await statements!.readLines(call(), { since: new Date(), until: new Date() })
        : await statements!.openReport(call(), { name: nameOf(1), fromRow: 0 });
    if (gateway === "PAYPAL" && status === 401) expect(answer.type).not.toBe("page");
    else expect(answer.type).toBe("refused");
  });
});

const sample = join(import.meta.dirname, "../../../shared/disputes/adyen-settlement-detail-sample.csv");

/** Reads bytes as a report of Adyen's. */
async function readCsv(text: string | Buffer, fromRow = 0) {
  const statements = adyenStatements({
    download: async () => ({ type: "download", body: Readable.from([Buffer.from(text)]) }),
    canRead: () => true,
  });
  const call = { credentials: {}, timeoutMs: 1_000 };
  const opened = await statements.openReport(call, { name: "settlement_detail_report_batch_12.csv", fromRow });
  if (opened.type !== "report") throw new Error("expected a report");
  const rows: ReportRow[] = [];
  for await (const row of opened.rows) rows.push(row);
  return rows;
}

if (existsSync(sample)) describe("Adyen's settlement detail report", checkReport);
else console.warn("Skipped the checks against Adyen's sample report, because ../shared/disputes does not have it.");

function checkReport() {
  const text = readFileSync(sample, "utf8");

  it("is read by the columns' names, and adds up", async () => {
    const rows = await readCsv(text);
    const amounts = rows.map(({ line: { kind, gross, settled } }) => [
      ...[kind, gross!.amountMinor, gross!.currency, settled!.grossMinor, settled!.feeMinor, settled!.netMinor],
    ]);
    expect(amounts).toEqual([
      ["CAPTURE", 4900, "EUR", 4900, 69, 4831],
      // 4900 yen; the fee of a converted amount is what Adyen says.
      ["CAPTURE", 4900, "JPY", 2989, 70, 2919],
      ["REFUND", -900, "EUR", -900, 10, -910],
      ["CHARGEBACK", -4000, "EUR", -4000, 750, -4750],
      ["CHARGEBACK_REVERSED", 4000, "EUR", 4000, 0, 4000],
      ["FEE", -30, "EUR", -30, 0, -30],
      ["PAYOUT", -6060, "EUR", -6060, 0, -6060],
    ]);
    expect(rows.at(-1)!.payout).toMatchObject({ gatewayReference: "12-EUR", amountMinor: 6060, status: "PAID" });
    const others = rows.slice(0, -1).reduce((sum, { line }) => sum + line.settled!.netMinor, 0);
    expect(others).toBe(6060);
    expect(rows[2]!.line.names).toEqual({
      payment: "AAAAAAAAAAAAAA01",
      attempt: "att_placeholder1",
      refund: "AAAAAAAAAAAAAA21",
      ourRefund: "ref_placeholder1",
    });
    const [header, ...lines] = text.trim().split("\n");
    const reordered = [header!, ...lines].map((line) => line.split(",").toReversed().join(","));
    // None of these rows has a comma within quotes.
    const plain = (csv: string[]) => csv.filter((line) => !line.includes('"')).join("\n");
    const before = await readCsv(plain([header!, ...lines]));
    expect(await readCsv(plain(reordered))).toEqual(before);
  });

  it("goes on at its row", async () => {
    expect(await readCsv(text, 5)).toEqual((await readCsv(text)).slice(5));
  });

  it("is refused without a column, encrypted, or in another form", async () => {
    const failure = (change: string) =>
      readCsv(change).then(
        () => "read",
        ({ failure }) => failure,
      );
    expect(await failure(text.replaceAll("Net Currency", "Currency"))).toEqual({
      type: "refused",
      reason: "the report has no column Net Currency",
    });
    expect(await failure("-----BEGIN PGP MESSAGE-----\nabc\n")).toMatchObject({ reason: "the report is encrypted" });
    expect(await failure(`${text}a,b\n`)).toMatchObject({ type: "refused", reason: expect.stringContaining("row 9") });
  });

  it.each([
    ["48.3", 4830],
    ["48.300", 4830],
    ["48", 4800],
    ["48.315", undefined],
    ["4.8e1", undefined],
    ["48,31", undefined],
    ["1234567890123456", undefined],
  ])("reads the amount %s as %s minor units", async (decimal, minor) => {
    const [row] = await readCsv(text.replace("48.31", `"${decimal}"`));
    expect([row!.line.kind, row!.line.settled?.netMinor, row!.line.gross?.amountMinor]).toEqual([
      ...["CAPTURE", minor, minor && 4900],
    ]);
  });

  it("reads no amount of a currency that it does not know, or with more decimals than the currency", async () => {
    const [row] = await readCsv(text.replace("EUR,,49.00", "XXX,,49.00"));
    expect(row!.line).not.toHaveProperty("settled");
    const [, yen] = await readCsv(text.replace("JPY,,4900,", "JPY,,4900.5,"));
    expect(yen!.line).not.toHaveProperty("settled");
  });

  it("S5: is announced under its signed name; the address beside it is not signed, and not read", async () => {
    const hmacKey = "AB".repeat(32);
    const credentials = { hmacKey: new Secret(hmacKey), merchantAccount: new Secret("YourCompanyECOM") };
    const http = new GatewayHttp();
    const forwarder = { forward: () => Promise.reject(new Error("no card is sent")) };
    const connector = new AdyenConnector({ http, forwarder, origin: "http://none", environment: "test" });
    const read = async (pspReference: string, signed = pspReference) => {
      const fields = {
        ...{ pspReference, originalReference: "", merchantAccountCode: "YourCompanyECOM", merchantReference: "" },
        ...{ value: 0, currency: "EUR", eventCode: "REPORT_AVAILABLE", success: "true" },
      };
      const { value, currency, ...named } = fields;
      const additionalData = { hmacSignature: signNotification(hmacKey, { ...fields, pspReference: signed }) };
      const item = { ...named, amount: { value, currency }, reason: "https://evil.example/report.csv", additionalData };
      const body = { live: "false", notificationItems: [{ NotificationRequestItem: item }] };
      return connector.readNotification(credentials, { headers: {}, body: Buffer.from(JSON.stringify(body)) });
    };
    const name = "settlement_detail_report_batch_12.csv";
    const answer = await read(name);
    expect(answer).toMatchObject({
      type: "authentic",
      notifications: [{ kind: "report", modificationReference: name }],
    });
    expect(JSON.stringify(answer)).not.toContain("evil");
    expect(await read(name, "settlement_detail_report_batch_11.csv")).toMatchObject({ type: "refused" });
    expect(await read("received_payments_report.csv")).toMatchObject({ notifications: [{ kind: "other" }] });
    await http.close();
  });

  it("S5: is fetched by a name of its own form alone", () => {
    expect(isReportName("settlement_detail_report_batch_12.csv")).toBe(true);
    expect(isReportName("settlement_detail_report_2026-03-04_batch_12.csv")).toBe(true);
    for (const name of [
      ...["../settlement_detail_report_1.csv", "settlement_detail_report_1.csv/..", "settlement_detail_report_%2e.csv"],
      ...[
        "received_payments_report.csv",
        "settlement_detail_report_1.csv\n",
        "https://x/settlement_detail_report_1.csv",
      ],
    ]) {
      expect([name, isReportName(name)]).toEqual([name, false]);
    }
  });
}
