/** Creates a payment session, once for each Idempotency-Key. */
import { idempotencyLifetimeMs } from "../limits.ts";
import { columnsOf } from "../platform/columns.ts";
import type { Statement } from "../platform/database.ts";
import { DomainError, type FieldProblem } from "../platform/errors.ts";
import { isCurrency } from "../platform/money.ts";
import { type Secret, seal, sha256, unseal } from "../platform/secrets.ts";
import { deriveClientSecret } from "./client-secret.ts";
import type { Core, JsonObject } from "./core.ts";
import { creationInProgress } from "./creations-in-progress.ts";
import { type PaymentSession, PaymentSessionEntity } from "./entities.ts";

/** The merchant a request speaks for, with what it has configured. */
export type SessionOwner = {
  readonly merchantId: string;
  readonly sessionLifetimeMs: number;
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
};

/** What the merchant orders; checked for shape already, by the one validator of all surfaces. */
export type NewSession = {
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  readonly customerEmail?: string | undefined;
  /** Of the API request, for whoever asks about it later; no part of what is ordered. */
  readonly requestId?: string | undefined;
};

const answered = ["id", "amountMinor", "currency", "orderRef", "secretVersion", "createdAt", "expiresAt"] as const;

/** Of a session, what never changes: all that its creation is answered with. */
export type NewlyCreated = Pick<PaymentSession, (typeof answered)[number]>;

/** The session as it was created, also when it has moved on since. */
export type CreatedSession = {
  readonly session: NewlyCreated;
  readonly clientSecret: Secret;
  readonly vault: JsonObject;
  /** True when the answer is the first one again. */
  readonly replayed: boolean;
};

const sessionColumns = columnsOf(PaymentSessionEntity, "s", answered);

// An expired key is as good as new: the conflicting row is taken over, its old session stays as it is.
const insertWithKey: Statement = {
  name: "insert_session_with_key",
  text: `
    WITH claimed AS (
      INSERT INTO idempotency AS i (merchant_id, key, request_hash, session_id, answer_sealed, expires_at)
      VALUES ($2, $10, $11, $1, $12, app.clock() + $13 * interval '1 ms')
      ON CONFLICT (merchant_id, key) DO UPDATE
        SET request_hash = EXCLUDED.request_hash, session_id = EXCLUDED.session_id,
            answer_sealed = EXCLUDED.answer_sealed, expires_at = EXCLUDED.expires_at
        WHERE i.expires_at <= app.clock()
      RETURNING session_id
    )
    INSERT INTO payment_session AS s
      (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, expires_at,
       create_request_id)
    SELECT $1, $2, $3, $4, $5, $6, $7, app.clock() + $8 * interval '1 ms', $9::uuid FROM claimed
    RETURNING ${sessionColumns}`,
};

const insertWithoutKey: Statement = {
  name: "insert_session",
  text: `
    INSERT INTO payment_session AS s
      (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, expires_at,
       create_request_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, app.clock() + $8 * interval '1 ms', $9)
    RETURNING ${sessionColumns}`,
};

const selectFirstAnswer: Statement = {
  name: "select_first_answer",
  text: `
    SELECT ${sessionColumns}, i.request_hash AS "requestHash", i.answer_sealed AS "answerSealed"
    FROM idempotency i JOIN payment_session s ON s.id = i.session_id
    WHERE i.merchant_id = $1 AND i.key = $2 AND i.expires_at > app.clock()`,
};

/**
 * Creates a session, or finds the one that the same key created within 24 h. Durable on return.
 * Throws `invalid_field` for a currency nobody pays with, `idempotency_key_reused` when the key came with other fields,
 * `idempotency_in_progress` when the first request with it is still running after five seconds.
 */
export async function createSession(
  core: Core,
  owner: SessionOwner,
  order: NewSession,
  idempotencyKey?: string,
): Promise<CreatedSession> {
  requirePayable(order);
  if (idempotencyKey === undefined) {
    const { values, vault } = await describeNew(core, owner, order);
    const [session] = await core.database.query<NewlyCreated>(insertWithoutKey, values);
    return created(core, session!, vault, false);
  }
  const request = { owner, order, key: idempotencyKey, fingerprint: fingerprintOf(order) };
  return core.creations.once(`${owner.merchantId} ${idempotencyKey}`, {
    create: () => createWithKey(core, request),
    find: () => findFirstAnswer(core, request),
    sleep: core.sleep,
  });
}

type KeyedRequest = {
  readonly owner: SessionOwner;
  readonly order: NewSession;
  readonly key: string;
  readonly fingerprint: Buffer;
};

/** The first parameters of both statements, and the vault object of the session that they create. */
async function describeNew(core: Core, owner: SessionOwner, order: NewSession) {
  const id = core.entropy.uuid();
  const vault = await core.vault.describe({
    sessionId: id,
    merchantId: owner.merchantId,
    publishableKey: owner.publishableKey,
    checkoutOrigins: owner.checkoutOrigins,
    expiresAt: new Date(core.entropy.now().getTime() + owner.sessionLifetimeMs),
  });
  const values = [
    id,
    owner.merchantId,
    order.amountMinor,
    order.currency,
    order.orderRef,
    order.customerEmail ?? null,
    core.clientSecretKeys.current,
    owner.sessionLifetimeMs,
    order.requestId ?? null,
  ];
  return { id, values, vault };
}

async function createWithKey(core: Core, request: KeyedRequest): Promise<CreatedSession> {
  const answer =
    // A repeat must not depend on a vault that answers, nor open another session there.
    (core.vault.describesByCall ? await findFirstAnswer(core, request) : undefined) ??
    (await insertFirst(core, request)) ??
    (await findFirstAnswer(core, request)) ??
    // The key's day was over between the two statements, so that it is free now.
    (await insertFirst(core, request));
  if (answer === undefined) throw creationInProgress();
  return answer;
}

/** Undefined when the key is taken. */
async function insertFirst(core: Core, { owner, order, key, fingerprint }: KeyedRequest) {
  const { id, values, vault } = await describeNew(core, owner, order);
  const sealed = seal(core.sealing, answerPlace(id), JSON.stringify(vault));
  try {
    const more = [key, fingerprint, sealed, idempotencyLifetimeMs];
    const [session] = await core.database.query<NewlyCreated>(insertWithKey, [...values, ...more]);
    return session && created(core, session, vault, false);
  } catch (error) {
    // 55P03: the lock time-out of the connection passed while another process's request still held the key.
    if ((error as { code?: unknown }).code !== "55P03") throw error;
    throw creationInProgress();
  }
}

/** Undefined when the key is free. Throws `idempotency_key_reused` when it was used for another order. */
async function findFirstAnswer(core: Core, { owner, key, fingerprint }: KeyedRequest) {
  const [first] = await core.database.query<NewlyCreated & { requestHash: Buffer; answerSealed: string }>(
    selectFirstAnswer,
    [owner.merchantId, key],
  );
  if (first === undefined) return undefined;
  if (!fingerprint.equals(first.requestHash)) {
    throw new DomainError(
      "idempotency_key_reused",
      "This Idempotency-Key was used with other fields within the last 24 hours; use a new key for a new session.",
    );
  }
  const vault = JSON.parse(unseal(core.sealing, answerPlace(first.id), first.answerSealed).expose()) as JsonObject;
  return created(core, first, vault, true);
}

function created(core: Core, session: NewlyCreated, vault: JsonObject, replayed: boolean): CreatedSession {
  return {
    session,
    clientSecret: deriveClientSecret(core.clientSecretKeys, session.id, session.secretVersion),
    vault,
    replayed,
  };
}

/** The decoded fields, not the bytes: a client may print the same JSON in another way when it repeats. */
function fingerprintOf(order: NewSession): Buffer {
  return sha256(JSON.stringify([order.amountMinor, order.currency, order.orderRef, order.customerEmail ?? null]));
}

/** Where the first answer of a session is sealed for. */
export function answerPlace(sessionId: string): string {
  return `idempotency/${sessionId}`;
}

// Letters that print nothing or move the cursor have no place in a reference that people read.
const controlCharacter = /\p{Cc}/u;

/** What a schema cannot say is wrong with an order; empty when it can be paid. */
export function findUnpayable(order: Pick<NewSession, "currency" | "orderRef">): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (param: string, detail: string) =>
    problems.push({ param, pointer: `/${param}`, code: "invalid_field", detail });
  if (!isCurrency(order.currency)) refuse("currency", "must be the ISO 4217 code of money in circulation, such as EUR");
  if (order.orderRef.trim() === "") refuse("orderRef", "must not be blank");
  if (controlCharacter.test(order.orderRef)) refuse("orderRef", "must not contain control characters");
  return problems;
}

function requirePayable(order: NewSession): void {
  const problems = findUnpayable(order);
  if (problems.length > 0) {
    throw new DomainError("invalid_field", "The request has fields that break a rule.", { problems });
  }
}
