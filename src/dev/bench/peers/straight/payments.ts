/** The payment of the straight service: one statement for each commit, and the gateway calls between them. */
import type { Pool } from "pg";
import { v7 } from "uuid";
import { sha256 } from "../../../../platform/secrets.ts";
import type { StraightCalls } from "./calls.ts";
import type { Authorized, GatewayAccount, GatewayPayment } from "./gateways.ts";

export type Outcome = { readonly sessionId: string; readonly status: string };

type Session = {
  readonly id: string;
  readonly status: string;
  readonly merchantId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  readonly createdAt: Date;
};

type Tried = { readonly id: string; readonly gateway: string; readonly startedAt: Date; declineCode?: string };

const columns = `id, status, merchant_id AS "merchantId", amount_minor::float8 AS "amountMinor", currency,
  order_ref AS "orderRef", created_at AS "createdAt"`;

const claim = {
  name: "claim",
  text: `WITH claimed AS (
      UPDATE session SET status = 'PROCESSING', token_hash = $2, vault_token = $3, submitted_at = now()
      WHERE id = $1 AND status = 'CREATED' AND expires_at > now() RETURNING *),
    opened AS (
      INSERT INTO attempt (id, session_id, sequence, gateway, status, started_at)
      SELECT $4, id, 1, $5, 'SENT', now() FROM claimed)
    SELECT ${columns} FROM claimed`,
};
const selectRepeated = {
  name: "select_repeated",
  text: `SELECT ${columns} FROM session WHERE id = $1 AND token_hash = $2`,
};
const recordHeld = {
  name: "record_held",
  text: `WITH held AS (
      UPDATE attempt SET status = 'HELD', gateway_reference = $3, answered_at = now()
      WHERE id = $2 AND status = 'SENT' RETURNING 1)
    UPDATE session SET winner_attempt_id = $2, capture_ordered_at = now(), card_brand = $4, card_last4 = $5
    WHERE id = $1 AND status = 'PROCESSING' AND winner_attempt_id IS NULL AND EXISTS (SELECT FROM held) RETURNING id`,
};
const recordDeclined = {
  name: "record_declined",
  text: `WITH declined AS (
      UPDATE attempt SET status = 'DECLINED', decline_code = $2, answered_at = now(), completed_at = now()
      WHERE id = $1 AND status = 'SENT' RETURNING session_id)
    INSERT INTO attempt (id, session_id, sequence, gateway, status, started_at)
    SELECT $3, session_id, $4, $5, 'SENT', now() FROM declined RETURNING id`,
};
const recordCaptured = {
  name: "record_captured",
  text: `WITH captured AS (
      UPDATE attempt SET status = 'CAPTURED', completed_at = now() WHERE id = $2 AND status = 'HELD' RETURNING 1),
    ended AS (
      UPDATE session SET status = 'SUCCEEDED', captured_via = $3, capture_confirmed = $4, failover = $5,
        vault_token = NULL, settled_at = now()
      WHERE id = $1 AND status = 'PROCESSING' AND winner_attempt_id = $2 AND EXISTS (SELECT FROM captured)
      RETURNING merchant_id)
    INSERT INTO webhook (id, merchant_id, session_id, type, body, status, tries, next_at, created_at)
    SELECT $6, merchant_id, $1, 'payment_session.succeeded', $7, 'PENDING', 0, now(), now() FROM ended RETURNING id`,
};
const recordRefused = {
  name: "record_refused",
  text: `WITH declined AS (
      UPDATE attempt SET status = 'DECLINED', decline_code = $3, answered_at = now(), completed_at = now()
      WHERE id = $2 AND status = 'SENT' RETURNING 1),
    ended AS (
      UPDATE session SET status = 'DECLINED', decline_code = $3, vault_token = NULL, settled_at = now()
      WHERE id = $1 AND status = 'PROCESSING' AND EXISTS (SELECT FROM declined) RETURNING merchant_id)
    INSERT INTO webhook (id, merchant_id, session_id, type, body, status, tries, next_at, created_at)
    SELECT $4, merchant_id, $1, 'payment_session.declined', $5, 'PENDING', 0, now(), now() FROM ended RETURNING id`,
};

/** Pays sessions at the gateways in their order. A payment whose answer is lost stays in PROCESSING. */
export class StraightPayments {
  readonly #pool: Pool;
  readonly #calls: StraightCalls;
  readonly #accounts: readonly GatewayAccount[];

  constructor(pool: Pool, calls: StraightCalls, accounts: readonly GatewayAccount[]) {
    this.#pool = pool;
    this.#calls = calls;
    this.#accounts = accounts;
  }

  /** Submits a session; a repeat with the same token returns its status. Undefined if it cannot be paid with this token. */
  async submit(sessionId: string, token: string): Promise<Outcome | undefined> {
    const first = { id: v7(), gateway: this.#accounts[0]!.gateway, startedAt: new Date() };
    const session = await this.#one<Session>(claim, [sessionId, sha256(token), token, first.id, first.gateway]);
    if (session === undefined) {
      const repeated = await this.#one<Session>(selectRepeated, [sessionId, sha256(token)]);
      return repeated && { sessionId, status: repeated.status };
    }
    const status = await this.#pay(session, token, first);
    // The vault forgets by itself after some minutes: the customer need not wait for it.
    this.#calls.forget(sessionId).catch(() => {});
    return { sessionId, status };
  }

  async #pay(session: Session, token: string, first: Tried): Promise<"SUCCEEDED" | "DECLINED"> {
    const tried = [first];
    for (const [index, account] of this.#accounts.entries()) {
      const attempt = tried[index]!;
      const payment = { ...session, attemptId: attempt.id };
      const { answer, brand, last4 } = await this.#calls.authorize(account, payment, { sessionId: session.id, token });
      if (answer.type === "held") {
        await this.#require(recordHeld, [session.id, attempt.id, answer.reference, brand, last4]);
        await this.#capture(session, account, { payment, answer, tried });
        return "SUCCEEDED";
      }
      attempt.declineCode = answer.code;
      const next = this.#accounts[index + 1];
      if (next === undefined) {
        const [eventId, body] = describe(session, "declined", tried);
        await this.#require(recordRefused, [session.id, attempt.id, answer.code, eventId, body]);
        return "DECLINED";
      }
      const another = { id: v7(), gateway: next.gateway, startedAt: new Date() };
      await this.#require(recordDeclined, [attempt.id, answer.code, another.id, index + 2, next.gateway]);
      tried.push(another);
    }
    throw new Error("the service has no gateway");
  }

  async #capture(
    session: Session,
    account: GatewayAccount,
    held: { payment: GatewayPayment; answer: Extract<Authorized, { type: "held" }>; tried: readonly Tried[] },
  ): Promise<void> {
    const { payment, answer, tried } = held;
    const isConfirmed = await this.#calls.capture(account, payment, answer.reference);
    const [eventId, body] = describe(session, "succeeded", tried);
    const how = [account.gateway, isConfirmed, tried.length > 1];
    await this.#require(recordCaptured, [session.id, payment.attemptId, ...how, eventId, body]);
  }

  async #one<Row extends object>(statement: { name: string; text: string }, values: unknown[]) {
    return (await this.#pool.query<Row>({ ...statement, values })).rows[0];
  }

  async #require(statement: { name: string; text: string }, values: unknown[]): Promise<void> {
    if ((await this.#one(statement, values)) === undefined) throw new Error(`${statement.name} changed nothing`);
  }
}

/** Returns a webhook's id and body, with the members of ours. */
function describe(session: Session, end: "succeeded" | "declined", tried: readonly Tried[]): [string, string] {
  const { id, amountMinor, currency, orderRef, createdAt } = session;
  const eventId = v7();
  const attempts = tried.map(({ id, gateway, startedAt, declineCode }, index) => ({
    attemptId: id,
    sequence: index + 1,
    gateway,
    status: declineCode === undefined ? "CAPTURED" : "DECLINED",
    startedAt,
    completedAt: new Date(),
    ...(declineCode !== undefined && { declineCode }),
  }));
  const status = end === "succeeded" ? "SUCCEEDED" : "DECLINED";
  const data = { sequence: 1, sessionId: id, status, amountMinor, currency, orderRef, createdAt, attempts };
  const timestamp = new Date().toISOString();
  const envelope = { id: `evt_${eventId}`, type: `payment_session.${end}`, timestamp, environment: "test" };
  return [eventId, JSON.stringify({ ...envelope, data })];
}
