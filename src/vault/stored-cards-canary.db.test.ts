/** Searches what payments leave behind whose cards are stored: every row, the write-ahead log, and the vault's own log. */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findTraces, type Trace, tracesOfCvc, tracesOfNumber, tracesOfText } from "../dev/e2e/canary-search.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { testsTaken } from "../dev/testing/long-only.ts";
import { testPostgresFolder } from "../dev/testing/postgres.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { encodeId } from "../platform/ids.ts";
import { passesLuhn } from "../platform/luhn.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";
import { clientOf, payment, startVaultFixture, testCard } from "./vault.fixture.ts";

const lines: string[] = [];
const logger = createStrictLog((line) => void lines.push(line));
const fixture = await forFile(() => startVaultFixture({ logger }));
const gateway = await forFile(() => Receiver.start());
const client = await forFile(() => clientOf(fixture));

const rounds = 50;
const paymentsARound = testsTaken.all ? 20 : 1;
const payments = rounds * paymentsARound;
const merchantId = systemRuntime.uuid();
// Other tests write to the same log, so this number is this test's alone.
const digits = "453967081352946";
const number = `${digits}${[..."0123456789"].find((digit) => passesLuhn(digits + digit))}`;
const card = { ...testCard, number, cvc: "739", holder: "Philippa Quartermain", postalCode: "WX9 7QZ" };
(fixture.config.environments[0]!.testCards as Set<string>).add(number);

const query = async <Row>(text: string) => (await fixture.database.pool.query(text)).rows as Row[];

/** A place in the write-ahead log, whose files follow one another by name. */
type LogPlace = { readonly file: string; readonly offset: number };

/** Returns the end of the write-ahead log; what was committed before is in its files. */
async function endOfLog(): Promise<LogPlace> {
  await fixture.database.pool.query(
    "BEGIN; SET LOCAL synchronous_commit = on; INSERT INTO stored_card (handle_hash, environment, merchant_id, session_id, sealed) VALUES (sha256(random()::text::bytea), 'live', 'mer_1', 'ps_1', 'none.'); COMMIT",
  );
  const [end] = await query<LogPlace>(
    `SELECT file_name AS file, file_offset AS "offset" FROM pg_walfile_name_offset(pg_current_wal_lsn())`,
  );
  return end!;
}

function readLog(from: LogPlace, to: LogPlace): string {
  const folder = join(testPostgresFolder(), "pg_wal");
  const files = readdirSync(folder).filter(
    (name) => name.length === from.file.length && name >= from.file && name <= to.file,
  );
  const read = (file: string) =>
    readFileSync(join(folder, file), "latin1").slice(
      file === from.file ? from.offset : 0,
      file === to.file ? to.offset : undefined,
    );
  return files.toSorted().map(read).join("");
}

/** Returns every row of the vault's database as text, as a dump has them. */
async function dumped(): Promise<string> {
  const tables = await query<{ name: string }>(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND has_table_privilege(oid, 'SELECT')",
  );
  const rows = await Promise.all(
    tables.map(({ name }) => query<{ row: string }>(`SELECT kept::text AS row FROM ${name} kept`)),
  );
  return rows.flatMap((of) => of.map(({ row }) => row)).join("\n");
}

// A page of the log may end within a record.
const partsOf = (sealed: string) => [50, 120, 190, 260].map((at) => sealed.slice(at, at + 60));

/** Pays and stores a card; returns how it was sealed until then. */
async function payAndStore(): Promise<string> {
  const sessionId = systemRuntime.uuid();
  const session = encodeId("ps", sessionId);
  const { token } = await (await fixture.tokenize(session, card)).json();
  const body = "card[number]={{card.number}}&card[cvc]={{card.cvc}}&card[holder]={{card.holder}}";
  await client.forward(payment({ token: new Secret(token), sessionId: session, origin: gateway.url, body }));
  const [row] = await query<{ sealed: string }>(`SELECT sealed FROM card WHERE session_id = '${session}'`);
  const handle = new Secret(`vc_${randomBytes(24).toString("base64url")}`);
  expect(await client.stored.keep({ sessionId, merchantId, token: new Secret(token), handle })).toMatchObject({
    brand: "visa",
  });
  return row!.sealed;
}

it("leaves no card in clear, and of a security code not even what was sealed", async () => {
  const volatile: string[] = [];
  let [log, end] = ["", await endOfLog()];
  for (let round = 0; round < rounds; round++) {
    volatile.push(...(await Promise.all(Array.from({ length: paymentsARound }, payAndStore))));
    const begin = end;
    end = await endOfLog();
    // At once: a checkpoint, of other tests' changes too, removes the files before it.
    log += readLog(begin, end);
  }
  expect(gateway.requests).toHaveLength(payments);
  expect(gateway.requests.every(({ body }) => body.toString().includes("739"))).toBe(true);

  const isLogged = (sealed: string) => partsOf(sealed).some((part) => log.includes(part));
  const stored = await query<{ sealed: string }>("SELECT sealed FROM stored_card WHERE environment = 'test'");
  expect(stored).toHaveLength(payments);
  // The search finds what is there, and the code was sealed in what is not.
  expect(stored.every(({ sealed }) => isLogged(sealed))).toBe(true);
  expect(volatile.filter(isLogged)).toEqual([]);

  expect(await query("SELECT 1 FROM card")).toEqual([]);
  const dump = await dumped();
  const traces: Trace[] = [
    ...tracesOfNumber(card.number),
    ...tracesOfCvc(card.cvc),
    ...tracesOfText("the name", card.holder),
    ...tracesOfText("the postal code", card.postalCode),
  ];
  const found = [log, dump, lines.join("\n")].flatMap((text) => findTraces(text, traces));
  console.info(`${payments} payments whose card is stored: ${found.length} traces of card or code`);
  expect(found).toEqual([]);
});
