/** The events of one environment for a test file: a database, a loopback egress, sessions, a clock to move. */
import { Pool } from "pg";
import { Egress } from "../../../events/egress.ts";
import { type EndpointContext, registerEndpoint, verifyEndpoint } from "../../../events/endpoints.ts";
import { NameNotFound } from "../../../events/find-addresses.ts";
import {
  type EventType,
  type NewEvent,
  type OutboxContext,
  recordEvent,
  writeEventBody,
} from "../../../events/outbox.ts";
import { openSigningSecrets } from "../../../events/signing-secrets.ts";
import { Database, type Tx } from "../../../platform/database.ts";
import { decodeId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { createTestDatabase } from "../postgres.ts";
import type { ReceivedRequest } from "../receiver.ts";
import { createStrictLog } from "../strict-log.ts";
import { checkWebhooks } from "../webhook-checker.ts";
import { fanOut } from "./fan-out.ts";

const insertSession = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
  VALUES ($1, $2, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '30 minutes')`;

/**
 * Selects the endpoints of an event's merchant, or the endpoint that a test event names, with the secrets in force; at
 * this URL if there are any.
 */
const selectSecrets = `WITH meant AS (
    SELECT id, url, secret_sealed AS "secretSealed",
      CASE WHEN previous_until > app.clock() THEN previous_sealed END AS "previousSealed"
    FROM endpoint WHERE id = $2 OR merchant_id IN (SELECT merchant_id FROM outbox_event WHERE id = $1)
  ) SELECT * FROM meant WHERE url = $3 OR NOT EXISTS (SELECT FROM meant WHERE url = $3)`;

export type EventsHarness = Awaited<ReturnType<typeof openEventsHarness>>;

/** A post to loopback is allowed, over any port and without TLS. */
export const loopback = { httpsOnly: false, ports: undefined, openings: ["127.0.0.1/32", "::1/128"] };

/** Names of this machine, and one that leads into a private network; no others, and without any DNS query. */
async function findTestAddresses(hostname: string) {
  if (hostname === "inside.example.com") return [{ address: "10.0.0.1", family: 4 }];
  if (hostname === "localhost") return [{ address: "127.0.0.1", family: 4 }];
  throw new NameNotFound();
}

function newEvent({ sessionId, merchantId, type }: Pick<NewEvent, "sessionId" | "merchantId"> & { type?: EventType }) {
  const body: NewEvent["body"] = (envelope, sequence) => writeEventBody(envelope, { sequence, orderRef: "order-1042" });
  return { sessionId, merchantId, type: type ?? "payment_session.succeeded", body } as const;
}

const selectMoment = "SELECT (created_at + $2::interval)::text AS at FROM outbox_event WHERE id = $1";

async function setClock(owner: Pool, now: string): Promise<void> {
  await owner.query(`CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT ${now.replaceAll("'", "''")}'`);
}

async function stopClock(owner: Pool, eventId: string, after: string): Promise<void> {
  const { rows } = await owner.query<{ at: string }>(selectMoment, [eventId, after]);
  await setClock(owner, `'${rows[0]!.at}'::timestamptz`);
}

/** Records one event of a session; of a new session by default. */
type Emit = (
  event: { merchantId: string; sessionId?: string; type?: EventType },
  publish?: OutboxContext["publish"],
) => Promise<{ eventId: string; sessionId: string }>;

/** Opens a harness; close it when the file's tests are done. */
export async function openEventsHarness() {
  const testDatabase = await createTestDatabase("environment");
  const pool = new Pool({ connectionString: testDatabase.url, max: 8, pipeline: true });
  // A connection that is still closing when the database is dropped is cut, and reports an error.
  pool.on("connect", (client) => client.on("error", () => {}));
  const owner = new Pool({ connectionString: testDatabase.ownerUrl, max: 1, pipeline: true });
  const context: EndpointContext & Omit<OutboxContext, "publish"> = {
    database: new Database(pool),
    runtime: systemRuntime,
    egress: new Egress(loopback, { findAddresses: findTestAddresses }),
    log: createStrictLog(),
    sealing: { current: "k1", keys: { k1: new Uint8Array(32).fill(7) } },
    environmentName: "test",
    signingSecretPrefix: "switchyard_test_whsec_",
  };

  await context.database.namePartitions();
  type Sealed = { id: string; secretSealed: string; previousSealed: string | null };
  const checker = checkWebhooks(async ({ headers, body, origin, path }: ReceivedRequest) => {
    const { endpointId } = JSON.parse(body.toString()).data;
    const tested = endpointId === undefined ? null : decodeId("we", endpointId);
    const ids = [decodeId("evt", String(headers["webhook-id"])), tested, origin + path];
    const { rows } = await owner.query<Sealed>(selectSecrets, ids);
    return rows.map((row) => openSigningSecrets(context, row.id, row).map((secret) => secret.expose()));
  });

  const emit: Emit = async (event, publish = () => {}) => {
    const sessionId = event.sessionId ?? (await openSession(event.merchantId));
    const unrecorded = newEvent({ ...event, sessionId });
    const { eventId } = await context.database.transaction((tx) =>
      recordEvent(tx, { ...context, publish }, unrecorded),
    );
    return { eventId, sessionId };
  };

  async function openSession(merchantId: string, sessionId = context.runtime.uuid()): Promise<string> {
    await owner.query(insertSession, [sessionId, merchantId]);
    return sessionId;
  }

  return {
    context,
    rows: async <Row extends object>(sql: string, values: unknown[] = []) => (await owner.query<Row>(sql, values)).rows,
    openSession,
    change: <Result>(work: (tx: Tx) => Promise<Result>) => context.database.transaction(work),
    emit,
    /** Records an event, and makes due its deliveries and those of the events before it in its session. */
    async emitAndFanOut(merchantId: string, sessionId?: string): ReturnType<Emit> {
      const emitted = await emit({ merchantId, ...(sessionId !== undefined && { sessionId }) });
      await fanOut(context.database, [{ sessionId: emitted.sessionId, sequence: 99 }]);
      return emitted;
    },
    /** Adds a verified endpoint at a receiver that currently answers 2xx. */
    async addEndpoint(endpoint: { merchantId: string; url: string; eventTypes?: EventType[] }) {
      const registered = await registerEndpoint(context, endpoint);
      const key = { merchantId: endpoint.merchantId, endpointId: registered.endpoint.id };
      const { verified } = await verifyEndpoint(context, key);
      if (!verified) throw new Error("the receiver did not accept the verification");
      return { ...key, signingSecret: registered.signingSecret };
    },
    /** Moves the database's clock ahead of the real one by an interval such as `11 seconds`. */
    setClockAhead: (interval: string) => setClock(owner, `clock_timestamp() + interval '${interval}'`),
    /** Stops the database's clock `interval` after the event was recorded. */
    stopClockAfter: (eventId: string, interval: string) => stopClock(owner, eventId, interval),
    /** Rejects if a stock verifier refused any request to the file's receivers. */
    async close(): Promise<void> {
      await context.egress.close();
      await Promise.all([pool.end(), owner.end()]);
      await testDatabase.drop();
      await checker.finish();
    },
  };
}
