/** How the statements of an account are read: in parts that may break off, be refused, or say something else. */
import { beforeEach, describe, expect, it } from "vitest";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { replaced } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { Connector } from "../gateways/connector.ts";
import {
  type GatewayStatements,
  type ListedStatements,
  type ReportRow,
  StatementError,
  type StatementFailure,
  type StatementLine,
} from "../gateways/statements.ts";
import { encodeId } from "../platform/ids.ts";
import { matchLinesOnce } from "./record-lines.ts";
import { readStatementsOnce, recordReportNotice } from "./statement-feed.ts";

const fixture = await forFile(startCoreFixture);
const { core, asOwner } = fixture;
const connection = fixture.connectionIds[1]!;
await fixture.setRule([], [connection]);
const minute = 60_000;

let counted = 0;
const run = <Row extends object>(text: string, values: unknown[] = []) =>
  asOwner.query<Row>({ name: `run_${++counted}`, text }, values);
beforeEach(async () => {
  await fixture.setClockAhead(0);
  await run("TRUNCATE payout_line, payout, settlement_report, gateway_notification, gateway_feed, analytics_cost");
});

/** A core whose SANDBOX_B has these statements, and no other gateway any. */
function reading(statements: GatewayStatements) {
  const connectorOf = (gateway: string) => {
    const connector = core.connectorOf(gateway);
    return gateway === "SANDBOX_B" && connector ? replaced<Connector>(connector, { statements }) : undefined;
  };
  const bind: typeof core.bind = async (...[id, gateway, version]) => {
    const bound = await core.bind(id, gateway, version);
    return bound && { ...bound, connector: connectorOf(gateway)! };
  };
  const changed = { ...core, connectorOf, bind };
  return async () => {
    while (await readStatementsOnce(changed));
  };
}
const fee = (lineId: string, minor = -30, changes: Partial<StatementLine> = {}): StatementLine => ({
  ...{
    lineId,
    kind: "FEE",
    gatewayType: "Fee",
    gatewayReference: "",
    names: {},
    gross: { amountMinor: minor, currency: "EUR" },
  },
  settled: { grossMinor: minor, feeMinor: 0, netMinor: minor, currency: "EUR" },
  ...changes,
});
const rowsOf = (count: number): ReportRow[] =>
  Array.from({ length: count }, (_, row) => ({
    row,
    line: { ...fee(`1:${row}`), payoutReference: "1-EUR" },
    ...(row === count - 1 && {
      line: { ...fee(`1:${row}`, -60, { kind: "PAYOUT" }), payoutReference: "1-EUR" },
      payout: {
        gatewayReference: "1-EUR",
        status: "PAID",
        amountMinor: -30 * (count - 1),
        currency: "EUR",
        isComplete: true,
      } as const,
    }),
  }));
type Feed = { blockedReason: string | null; isRead: boolean; dueInHours: number };
const feed = async () =>
  (
    await run<Feed>(`SELECT blocked_reason AS "blockedReason", read_at IS NOT NULL AS "isRead", extract(epoch FROM next_read_at - app.clock())::float8 / 3600 AS "dueInHours"
      FROM gateway_feed WHERE connection_id = '${connection}'`)
  )[0]!;
const count = async (table: string) =>
  (await run<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`))[0]!.count;
const announce = (name = "settlement_detail_report_batch_1.csv") =>
  run("INSERT INTO settlement_report (connection_id, name) VALUES ($1, $2)", [connection, name]);
const reported = (
  open: (fromRow: number, name: string) => AsyncIterable<ReportRow> | StatementFailure,
): GatewayStatements => ({
  type: "reported",
  canRead: () => true,
  openReport: async (_call, { name, fromRow }) => {
    const opened = open(fromRow, name);
    return "type" in opened ? opened : { type: "report", rows: opened };
  },
});

describe("a report", () => {
  it("S5: that breaks off goes on at its row, and is complete at its end alone", async () => {
    await announce();
    const asked: number[] = [];
    async function* rows(fromRow: number) {
      for (const row of rowsOf(2_500).slice(fromRow)) {
        if (row.row === 2_150 && asked.length === 1) {
          throw new StatementError({ type: "unknown", reason: "it broke off" });
        }
        yield row;
      }
    }
    const read = reading(
      reported((fromRow) => {
        asked.push(fromRow);
        return rows(fromRow);
      }),
    );
    await read();
    expect([await count("payout_line"), asked]).toEqual([2_100, [0]]);
    expect(await run("SELECT complete_at FROM payout")).toEqual([{ complete_at: null }]);
    await fixture.setClockAhead(90);
    await read();
    expect([await count("payout_line"), asked]).toEqual([2_500, [0, 2_100]]);
    expect(await run("SELECT remainder_minor::int AS rest FROM payout")).toEqual([{ rest: 0 }]);
    expect(await run("SELECT rows_read AS rows, read_at IS NOT NULL AS read FROM settlement_report")).toEqual([
      { rows: 2_500, read: true },
    ]);
  });

  it("S1: that is made again with other rows changes nothing, and blocks the account until a day later", async () => {
    async function* rows(minor: number) {
      for (const { row, line, ...rest } of rowsOf(3)) {
        const changed = row === 1 ? fee(line.lineId, minor) : line;
        yield { ...rest, row, line: { ...changed, payoutReference: line.payoutReference } };
      }
    }
    await announce();
    await reading(reported(() => rows(-30)))();
    const before = await run("SELECT * FROM payout_line ORDER BY line_id");
    await announce("settlement_detail_report_batch_1_again.csv");
    await run("UPDATE gateway_feed SET next_read_at = app.clock()");
    await reading(reported(() => rows(-40)))();
    expect(await run("SELECT * FROM payout_line ORDER BY line_id")).toEqual(before);
    const { blockedReason, dueInHours } = await feed();
    expect(blockedReason).toBe("the line 1:1 says something else than before");
    expect(dueInHours).toBeGreaterThan(23);
  });

  it.each<[StatementFailure, boolean]>([
    [{ type: "refused", reason: "the report is encrypted" }, true],
    [{ type: "missing", reason: "the report is not there (HTTP 404)" }, false],
    [{ type: "unknown", reason: "the report is not there (HTTP 500)" }, false],
  ])("that cannot be read, %j, blocks the account: %s", async (failure, isBlocked) => {
    await announce();
    await reading(reported(() => failure))();
    expect(await feed()).toMatchObject({ blockedReason: isBlocked ? failure.reason : null, isRead: false });
    expect((await feed()).dueInHours > 2).toBe(isBlocked);
  });

  it("S5: is opened by the name of its notification, once", async () => {
    const names: string[] = [];
    await run(`INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, modification_reference)
      VALUES ('${connection}', 'REPORT_AVAILABLE:7', 'report', '', '', 'settlement_detail_report_batch_7.csv')`);
    await recordReportNotice(core, { connectionId: connection, notificationId: "REPORT_AVAILABLE:7" });
    await recordReportNotice(core, { connectionId: connection, notificationId: "REPORT_AVAILABLE:7" });
    await reading(
      reported((_, name) => {
        names.push(name);
        return { type: "unknown", reason: "not there" };
      }),
    )();
    expect(names).toEqual(["settlement_detail_report_batch_7.csv"]);
  });

  const notify = async (batch: number) => {
    const notificationId = `REPORT_AVAILABLE:${batch}`;
    await run(`INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, modification_reference)
      VALUES ('${connection}', '${notificationId}', 'report', '', '', 'settlement_detail_report_batch_${batch}.csv')`);
    await recordReportNotice(core, { connectionId: connection, notificationId });
  };
  const batchIn = (name: string) => Number(/(\d+)[.]csv/.exec(name)![1]);
  const unread = async () => {
    const rows = await run<{ name: string }>("SELECT name FROM settlement_report WHERE read_at IS NULL ORDER BY name");
    return rows.map(({ name }) => batchIn(name));
  };
  /** Reads whatever waits, where each batch has this end. */
  const readAll = (endOf: (batch: number) => StatementFailure["type"] | undefined) => {
    const asked: number[] = [];
    const read = reading(
      reported((_, name) => {
        const batch = batchIn(name);
        asked.push(batch);
        const type = endOf(batch);
        return type ? { type, reason: "as the test says" } : (async function* () {})();
      }),
    );
    return { read, asked };
  };

  it("S5: that was never announced is read once a later one is, after that one, and none before the first", async () => {
    await notify(107);
    await notify(110);
    const { read, asked } = readAll(() => undefined);
    await read();
    expect(asked).toEqual([107, 110, 108, 109]);
    await notify(109);
    await read();
    expect([asked.length, await unread()]).toEqual([4, []]);
  });

  it("looks for the last hundred missing ones at most", async () => {
    await notify(201);
    await notify(100_201);
    expect((await unread()).slice(0, 3)).toEqual([100_101, 100_102, 100_103]);
    expect((await unread()).length).toBe(102);
  });

  it("gives up one that nobody has announced and that is missing, until it is announced", async () => {
    await notify(300);
    await notify(302);
    const { read, asked } = readAll((batch) => (batch === 301 && asked.length < 4 ? "missing" : undefined));
    await read();
    expect([asked, await unread()]).toEqual([[300, 302, 301], []]);
    expect(await feed()).toMatchObject({ isRead: true, blockedReason: null });
    await notify(301);
    await read();
    expect([asked, await unread()]).toEqual([[300, 302, 301, 301], []]);
  });

  it.each(["refused", "unknown"] as const)("tries one that nobody has announced and that is %s again", async (end) => {
    await notify(300);
    await notify(302);
    const { read, asked } = readAll((batch) => (batch === 301 && asked.length < 4 ? end : undefined));
    await read();
    expect([asked, await unread()]).toEqual([[300, 302, 301], [301]]);
    expect((await feed()).blockedReason).toBe(end === "refused" ? "as the test says" : null);
    // Announced ones do not wait for it.
    await notify(303);
    await fixture.setClockAhead(25 * 60);
    await read();
    expect([asked, await unread()]).toEqual([[300, 302, 301, 303, 301], []]);
  });

  it("that was read in part is read to its end before any other, and completes its own payout alone", async () => {
    await announce();
    let breaks = true;
    async function* rows(name: string, fromRow: number) {
      for (const row of name.includes("batch_1") ? rowsOf(300).slice(fromRow) : []) {
        if (breaks && row.row === 150) throw new StatementError({ type: "unknown", reason: "it broke off" });
        yield row;
      }
    }
    const asked: string[] = [];
    const read = reading(
      reported((fromRow, name) => {
        asked.push(`${batchIn(name)} from ${fromRow}`);
        return rows(name, fromRow);
      }),
    );
    await read();
    await notify(2);
    await read();
    breaks = false;
    await fixture.setClockAhead(90);
    await read();
    expect(asked).toEqual(["1 from 0", "1 from 100", "1 from 100", "2 from 0"]);
    expect(await run("SELECT remainder_minor::int AS rest, complete_at IS NOT NULL AS complete FROM payout")).toEqual([
      { rest: 0, complete: true },
    ]);
    expect(await run("SELECT count(*)::int AS lines FROM payout_line WHERE status = 'ACCOUNT'")).toEqual([
      { lines: 300 },
    ]);
  });

  it("reads on when an announced one is missing, and asks for that one again", async () => {
    await notify(400);
    await notify(401);
    await notify(403);
    const missing = new Set([400, 402]);
    const { read, asked } = readAll((batch) => (missing.has(batch) ? "missing" : undefined));
    const known = async () => {
      const rows = await run<{ name: string }>("SELECT name FROM settlement_report WHERE is_missing ORDER BY name");
      return rows.map(({ name }) => batchIn(name));
    };
    for (const hour of [0, 2, 4]) {
      await fixture.setClockAhead(hour * 60);
      await read();
    }
    expect(asked).toEqual([400, 401, 403, 402, 400, 400]);
    expect([await unread(), await known()]).toEqual([[400], [400, 402]]);
    missing.clear();
    await fixture.setClockAhead(6 * 60);
    await read();
    expect([await unread(), await known()]).toEqual([[], [402]]);
  });

  it("is not looked for where the account has no credentials for reports", async () => {
    await announce();
    await reading({
      type: "reported",
      canRead: () => false,
      openReport: () => Promise.reject(new Error("not to be opened")),
    })();
    expect(await feed()).toMatchObject({ isRead: false, blockedReason: null });
  });
});

describe("a chargeback that a report has and no notification", () => {
  it.each(["CHARGEBACK", "CHARGEBACK_REVERSED"] as const)(
    "is recorded as a dispute after three days: %s",
    async (kind) => {
      const session = await fixture.pay();
      const { id, gatewayReference } = (await fixture.loadSession(session)).attempts[0]!;
      const minor = kind === "CHARGEBACK" ? -4900 : 4900;
      const names = { payment: gatewayReference!, attempt: encodeId("att", id), dispute: `DSP-${kind}` };
      await announce();
      await reading(
        reported(async function* () {
          yield { row: 0, line: { ...fee("1:0", minor, { kind, names }), payoutReference: "1-EUR" } };
        }),
      )();
      const states = () => run("SELECT status, reason, entry_type AS type FROM payout_line");
      const later = async (hours: number) => {
        await fixture.setClockAhead(hours * 60);
        await matchLinesOnce(core);
        return states();
      };
      const waiting = [{ status: "UNMATCHED", reason: "not_found", type: null }];
      expect([await states(), await later(71)]).toEqual([waiting, waiting]);
      expect((await fixture.loadSession(session)).disputes).toBeUndefined();
      expect(await later(73)).toEqual([{ status: "MATCHED", reason: null, type: kind }]);
      const [dispute] = (await fixture.loadSession(session)).disputes!;
      expect(dispute).toMatchObject({ gatewayReference: names.dispute, stage: "CHARGEBACK" });
      expect(dispute!.status).toBe(kind === "CHARGEBACK" ? "NEEDS_RESPONSE" : "WON");
    },
  );
});

describe("a list", () => {
  const listed = (parts: Partial<ListedStatements>): GatewayStatements => ({
    type: "listed",
    lagMs: 60 * minute,
    readLines: async () => ({ type: "page", records: [] }),
    ...parts,
  });
  const po = { gatewayReference: "po_1", status: "PAID", amountMinor: -30, currency: "EUR", isComplete: true } as const;

  it("is read page by page: lines, payouts, and the lines of each payout, which is complete then", async () => {
    const asked: (string | undefined)[] = [];
    const read = reading(
      listed({
        readLines: async (_call, { payout, page }) => {
          asked.push(`lines ${payout ?? ""} ${page ?? ""}`);
          if (payout !== undefined) return { type: "page", records: [fee("a", -30, { payoutReference: "po_1" })] };
          return page === undefined
            ? { type: "page", records: [fee("a")], next: "a|b" }
            : { type: "page", records: [fee("b")] };
        },
        readPayouts: async () => {
          asked.push("payouts");
          return { type: "page", records: [po] };
        },
      }),
    );
    await read();
    expect(asked).toEqual(["lines  ", "lines  a|b", "payouts", "lines po_1 "]);
    expect(await run("SELECT line_id AS id, payout_id IS NOT NULL AS paid FROM payout_line ORDER BY 1")).toEqual([
      { id: "a", paid: true },
      { id: "b", paid: false },
    ]);
    expect(await run("SELECT remainder_minor::int AS rest FROM payout")).toEqual([{ rest: 0 }]);
    await fixture.setClockAhead(90);
    await read();
    expect(asked.filter((one) => one === "lines po_1 ")).toHaveLength(1);
  });

  it("lists a line that a rule refuses, which holds up no other one", async () => {
    const dollars = { grossMinor: -30, feeMinor: 0, netMinor: -30, currency: "USD" };
    await reading(
      listed({
        readLines: async (_call, { payout }) => {
          const within = payout === undefined ? {} : { payoutReference: payout };
          const all = [fee("a", -30, within), fee("b", -30, { ...within, settled: dollars }), fee("c", -30, within)];
          return { type: "page", records: payout === undefined ? [] : all };
        },
        readPayouts: async () => ({ type: "page", records: [po] }),
      }),
    )();
    expect(
      await run("SELECT line_id AS id, status, reason, payout_id IS NOT NULL AS paid FROM payout_line ORDER BY 1"),
    ).toEqual([
      { id: "a", status: "ACCOUNT", reason: null, paid: true },
      { id: "b", status: "UNMATCHED", reason: "unreadable", paid: false },
      { id: "c", status: "ACCOUNT", reason: null, paid: true },
    ]);
    expect(await run("SELECT remainder_minor::int AS rest FROM payout")).toEqual([{ rest: 30 }]);
    expect(await feed()).toMatchObject({ isRead: true, blockedReason: null });
  });

  it("overlaps the one before by the time that the gateway takes", async () => {
    const since: number[] = [];
    const read = reading(
      listed({
        readLines: async (_call, query) => {
          since.push(query.until.getTime() - query.since.getTime());
          return { type: "page", records: [] };
        },
      }),
    );
    await read();
    await fixture.setClockAhead(100);
    await read();
    expect(since[0]).toBe(90 * 24 * 60 * minute);
    expect(since[1]! / minute).toBeGreaterThan(100 + 120 - 2);
    expect(since[1]! / minute).toBeLessThan(100 + 120 + 2);
  });
});
