/** Creates payment sessions, one for each Idempotency-Key. */

import { captureByAfterMs, idempotencyLifetimeMs, idempotencyWaitMs } from "../limits.ts";
import { callOf } from "../platform/batches.ts";
import { cellOf } from "../platform/cells.ts";
import { columnsOf } from "../platform/columns.ts";
import { isCountry } from "../platform/countries.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError, type FieldProblem, problemsInWords } from "../platform/errors.ts";
import type { AgreementId, MerchantId, RequestId, SessionId } from "../platform/ids.ts";
import { isCurrency } from "../platform/money.ts";
import { type Secret, seal, sha256, unseal } from "../platform/secrets.ts";
import { type MerchantWallets, walletsInUse } from "../platform/wallets.ts";
import { deriveClientSecret } from "./client-secret.ts";
import type { Core, JsonObject } from "./core.ts";
import { type OrderDetails, type PaymentSession, PaymentSessionEntity } from "./rows/entities.ts";
import { findSuccessor, replaceSession } from "./session-changes.ts";
import { findChargedSession, keepKnown } from "./sessions.ts";
import {
  agreementIdOf,
  describeStored,
  findUnstorable,
  type StoringOrder,
  storingFingerprint,
} from "./stored-cards/create-stored.ts";

/** The merchant that makes a request, with its configuration. */
export type SessionOwner = {
  readonly merchantId: MerchantId;
  readonly sessionLifetimeMs: number;
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
  /** The default for sessions that name none. */
  readonly statementDescriptor: string | null;
  /** The merchant's settings for Apple Pay and Google Pay. */
  readonly wallets?: MerchantWallets | null | undefined;
};

type GivenDetails = { readonly [Name in keyof OrderDetails]?: OrderDetails[Name] | undefined };

/** A session that another one takes the place of. */
type Replaced = { readonly sessionId: SessionId; readonly core: Core };

/** The merchant's order. The validator that all surfaces share has already checked its shape. */
export type NewSession = GivenDetails &
  StoringOrder & {
    readonly amountMinor: number;
    readonly currency: string;
    readonly orderRef: string;
    readonly customerEmail?: string | undefined;
    /** Automatic if absent. */
    readonly capture?: string | undefined;
    /** Present only with a manual capture, and after the end of the submission. */
    readonly captureBy?: Date | undefined;
    /** The merchant's session that this one takes the place of, and the core of its cell. */
    readonly replaces?: Replaced | undefined;
    /** Takes a second payment of its order, also if the merchant refuses repeated orders. False if absent. */
    readonly allowRepeatedOrder?: boolean | undefined;
    /** Id of the API request, for support; not part of the order. */
    readonly requestId?: RequestId | undefined;
  };

const answeredColumns = [
  "id",
  "amountMinor",
  "currency",
  "orderRef",
  "secretVersion",
  "createdAt",
  "expiresAt",
] as const;

/** The immutable fields of a session. The answer to its creation contains only these. */
type NewlyCreated = Pick<PaymentSession, (typeof answeredColumns)[number]>;

/** The session as it was created, even when its state has changed since. */
export type CreatedSession = {
  readonly session: NewlyCreated;
  readonly clientSecret: Secret;
  readonly vault: JsonObject;
  /** The agreement that the payment begins. */
  readonly agreementId?: AgreementId | undefined;
  /** True when the first answer is returned again. */
  readonly replayed: boolean;
};

const sessionColumns = columnsOf(PaymentSessionEntity, "s", answeredColumns);

const createCall = callOf(
  "create_session",
  "uuid uuid bigint text text text int bigint uuid jsonb boolean timestamptz boolean text jsonb text bytea text bigint".split(
    " ",
  ),
  columnsOf(PaymentSessionEntity, "r", answeredColumns),
);

const selectFirstAnswer: Statement = {
  name: "select_first_answer",
  text: `
    SELECT ${sessionColumns}, i.request_hash AS "requestHash", i.answer_sealed AS "answerSealed"
    FROM idempotency i JOIN payment_session s ON s.id = i.session_id
    WHERE i.merchant_id = $1 AND i.key = $2 AND i.expires_at > app.clock()`,
};

/**
 * Creates a session, or finds the one that the same key created within 24 h. Durable on return. Throws `invalid_field`
 * for a currency that is not in circulation, `idempotency_key_reused` when the key was used with other fields, and
 * `idempotency_in_progress` when the first request with it is still running after five seconds. With `replaces` the other session ends
 * in the same commit: throws as `replaceSession` does, and `missing_idempotency_key` without a key.
 */
export async function createSession(
  core: Core,
  owner: SessionOwner,
  order: NewSession,
  idempotencyKey?: string,
): Promise<CreatedSession> {
  requirePayable(core, owner, order);
  if (idempotencyKey === undefined) {
    if (order.replaces) throw missingKey();
    const { values, vault, isPlain } = await describeNew(core, owner, order);
    const [session] = await core.database.query<NewlyCreated>(createCall, [...values, null, null, null, null]);
    if (isPlain) keepCreated(core, owner, order, session!);
    return created(core, order, session!, { vault, replayed: false });
  }
  const request = { owner, order, key: idempotencyKey, fingerprint: fingerprintOf(order) };
  return createInTurn(core, request);
}

/**
 * Returns the session that this key created in a cell that the merchant has left; undefined if there is none. Throws
 * `idempotency_key_reused` like `createSession`.
 */
export async function findCreatedSession(
  core: Core,
  owner: SessionOwner,
  order: NewSession,
  idempotencyKey: string,
): Promise<CreatedSession | undefined> {
  return findFirstAnswer(core, { owner, order, key: idempotencyKey, fingerprint: fingerprintOf(order) });
}

type KeyedRequest = {
  readonly owner: SessionOwner;
  readonly order: NewSession;
  readonly key: string;
  readonly fingerprint: Buffer;
};

/** Builds the parameters that both statements share, and the vault object of the new session. */
async function describeNew(core: Core, owner: SessionOwner, order: NewSession, id = core.runtime.uuid()) {
  const wallets = core.vault.carriesMerchantKey ? walletsOf(owner, order, core.runtime.now()) : "";
  const opened = await core.vault.openSession({
    sessionId: id,
    merchantId: owner.merchantId,
    publishableKey: owner.publishableKey,
    checkoutOrigins: owner.checkoutOrigins,
    expiresAt: new Date(core.runtime.now().getTime() + owner.sessionLifetimeMs),
    ...(wallets && { order }),
  });
  // The form reserves a place for its questions about stored cards.
  const isAsked = order.customerRef !== undefined && core.vault.stored;
  const vault: JsonObject = { ...opened, ...(isAsked && { storedCards: true }), ...(wallets && { wallets }) };
  const statementDescriptor = order.statementDescriptor ?? owner.statementDescriptor ?? undefined;
  const details = detailsOf({ ...order, statementDescriptor });
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
    details === undefined ? null : JSON.stringify(details),
    order.capture === "manual",
    order.captureBy ?? null,
    order.allowRepeatedOrder === true,
    order.customerRef ?? null,
    order.customerRef === undefined ? null : JSON.stringify(describeStored(id, order)),
  ];
  return { id, values, vault, isPlain: details === undefined && order.customerRef === undefined };
}

/** Returns the names of the wallets for which the form keeps a place: none may pay where the card is to be stored. */
function walletsOf({ wallets }: SessionOwner, { saveCard, setUp }: NewSession, now: Date): string {
  return saveCard || setUp ? "" : walletsInUse(wallets, now).join(" ");
}

function keepCreated(core: Core, owner: SessionOwner, order: NewSession, session: NewlyCreated): void {
  const { merchantId } = owner;
  const open = { merchantId, phase: "IDLE" as const, details: null, stored: false };
  const capture = { manualCapture: order.capture === "manual", captureBy: order.captureBy ?? null };
  keepKnown(core, { ...owner, session: { ...session, ...open, ...capture } });
}

/** Returns the details that are given, always in the same order; undefined if none is. */
export function detailsOf({ customerName, billingAddress, metadata = {}, statementDescriptor }: GivenDetails) {
  const pairs = Object.entries(metadata).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const hasDetails = customerName ?? billingAddress ?? statementDescriptor ?? pairs[0];
  if (hasDetails === undefined) return undefined;
  const { line1, line2, city, postalCode, region, country } = billingAddress ?? {};
  return {
    customerName,
    billingAddress: billingAddress && { line1, line2, city, postalCode, region, country },
    metadata: pairs.length === 0 ? undefined : Object.fromEntries(pairs),
    statementDescriptor,
  };
}

/**
 * Runs creations under one key one after another in this process. A repeat waits in memory and holds no database
 * connection; then it looks for the session that was created. Throws `idempotency_in_progress` after five seconds.
 */
async function createInTurn(core: Core, request: KeyedRequest): Promise<CreatedSession> {
  const { creations } = core;
  const key = `${request.owner.merchantId} ${request.key}`;
  // A key is held only while its one statement runs, so there are never more keys than requests in flight.
  const create = () => {
    const creation = createWithKey(core, request);
    const forget = () => void creations.delete(key);
    creations.set(key, creation.then(forget, forget));
    return creation;
  };
  if (!creations.has(key)) return create();
  const stopWaiting = new AbortController();
  const overdue = core.sleep(idempotencyWaitMs, stopWaiting.signal).then(() => {
    throw creationInProgress();
  });
  try {
    for (;;) {
      const running = creations.get(key);
      // A repeat that stops waiting leaves its statement running, as if its client had disconnected.
      if (running === undefined) return await Promise.race([create(), overdue]);
      await Promise.race([running, overdue]);
      const found = await findFirstAnswer(core, request);
      if (found !== undefined) return found;
    }
  } finally {
    stopWaiting.abort();
  }
}

/** Returns the error for a repeat whose first request takes too long. */
function creationInProgress(): DomainError {
  return new DomainError(
    "idempotency_in_progress",
    "The first request with this Idempotency-Key is still running; repeat this one in a second.",
  );
}

async function createWithKey(core: Core, request: KeyedRequest): Promise<CreatedSession> {
  // The session may not name another successor in the cell of the session that it replaces either.
  const isElsewhere = request.order.replaces !== undefined && request.order.replaces.core !== core;
  const answer =
    // A repeat must neither depend on the vault's answer nor open another session there.
    (core.vault.opensSessionByCall || isElsewhere ? await findFirstAnswer(core, request) : undefined) ??
    (await insertFirst(core, request)) ??
    (await findFirstAnswer(core, request)) ??
    // The key expired between the two statements, so it is free now.
    (await insertFirst(core, request));
  if (answer === undefined) throw creationInProgress();
  return answer;
}

/** Returns undefined when the key is taken. */
async function insertFirst(core: Core, { owner, order, key, fingerprint }: KeyedRequest) {
  const { replaces } = order;
  const named = replaces && (await findNamedSuccessor(core, owner, replaces));
  const { id, values, vault, isPlain } = await describeNew(core, owner, order, named);
  const sealed = seal(core.sealing, answerAssociatedData(id), JSON.stringify(vault));
  const more = [key, fingerprint, sealed, idempotencyLifetimeMs];
  const insert = (queryable: Queryable) => queryable.query<NewlyCreated>(createCall, [...values, ...more]);
  const replaced = replaces && { merchantId: owner.merchantId, sessionId: replaces.sessionId };
  try {
    if (replaces && replaced && replaces.core !== core)
      await replaces.core.database.transaction((tx) => replaceSession(tx, replaces.core, replaced, id));
    const [session] =
      replaced && replaces?.core === core
        ? await core.database.transaction(async (tx) => {
            const rows = await insert(tx);
            if (rows.length > 0) await replaceSession(tx, core, replaced, id);
            return rows;
          })
        : await insert(core.database);
    if (session && isPlain) keepCreated(core, owner, order, session);
    return session && created(core, order, session, { vault, replayed: false });
  } catch (error) {
    // 55P03 (lock_not_available): the connection's lock timeout passed while a request of another process held the key,
    // or the replaced session. 23505 (unique_violation): another request continues with the same named successor.
    const { code } = error as { code?: unknown };
    if (code !== "55P03" && !(code === "23505" && named !== undefined)) throw error;
    throw creationInProgress();
  }
}

/**
 * Returns the id under which a session in another cell was replaced, if no session of this cell has it: the creation
 * failed after that, and has to continue. The two cells share no commit, and the replaced session ends first.
 */
async function findNamedSuccessor(core: Core, { merchantId }: SessionOwner, { core: other, sessionId }: Replaced) {
  if (other === core) return undefined;
  const named = await findSuccessor(other, { merchantId, sessionId });
  return named !== undefined &&
    cellOf(named) === cellOf(core.runtime.uuid()) &&
    !(await findChargedSession(core, named))
    ? named
    : undefined;
}

function missingKey(): DomainError {
  const message = "A session that replaces another one needs an Idempotency-Key, so that a repeat finds it.";
  return new DomainError("missing_idempotency_key", message, { field: "Idempotency-Key" });
}

/** Returns undefined when the key is free. Throws `idempotency_key_reused` when it was used for another order. */
async function findFirstAnswer(core: Core, { owner, order, key, fingerprint }: KeyedRequest) {
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
  const vault = JSON.parse(
    unseal(core.sealing, answerAssociatedData(first.id), first.answerSealed).expose(),
  ) as JsonObject;
  return created(core, order, first, { vault, replayed: true });
}

function created(
  core: Core,
  order: NewSession,
  session: NewlyCreated,
  answer: Pick<CreatedSession, "vault" | "replayed">,
): CreatedSession {
  return {
    session,
    clientSecret: deriveClientSecret(core.clientSecretKeys, session.id, session.secretVersion),
    ...answer,
    ...(order.saveCard && { agreementId: agreementIdOf(session.id, order) }),
  };
}

/**
 * Hashes the decoded fields, not the bytes: a client may serialize the same JSON differently when it repeats a request.
 */
function fingerprintOf(order: NewSession): Buffer {
  const details = detailsOf(order);
  const fields = [order.amountMinor, order.currency, order.orderRef, order.customerEmail ?? null];
  const later = order.capture === "manual" ? [{ captureBy: order.captureBy?.toISOString() ?? null }] : [];
  const replaced = order.replaces === undefined ? [] : [{ replaces: order.replaces.sessionId }];
  const repeated = order.allowRepeatedOrder ? ["repeated"] : [];
  const given = details === undefined ? [] : [details];
  const stored = order.customerRef === undefined ? [] : [{ stored: storingFingerprint(order) }];
  return sha256(JSON.stringify([...fields, ...given, ...later, ...replaced, ...repeated, ...stored]));
}

/** Returns the associated data under which the first answer of a session is sealed. */
export function answerAssociatedData(sessionId: SessionId): string {
  return `idempotency/${sessionId}`;
}

// People read the reference, so characters that print nothing or move the cursor are refused.
const controlCharacter = /\p{Cc}/u;

/** Returns the problems of an order that a schema cannot express; empty when it can be paid. */
export function findUnpayable(
  order: Pick<NewSession, "currency" | "orderRef"> & {
    readonly billingAddress?: { readonly country: string } | undefined;
  },
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (param: string, detail: string) =>
    problems.push({ param, pointer: `/${param.replace(".", "/")}`, code: "invalid_field", detail });
  if (!isCurrency(order.currency))
    refuse("currency", "must be the ISO 4217 code of a currency in circulation, such as EUR");
  if (order.orderRef.trim() === "") refuse("orderRef", "must not be blank");
  if (controlCharacter.test(order.orderRef)) refuse("orderRef", "must not contain control characters");
  if (order.billingAddress && !isCountry(order.billingAddress.country))
    refuse("billingAddress.country", "must be the ISO 3166-1 alpha-2 code of a country, such as DE");
  return problems;
}

/** Returns the problems of an order's capture. */
function findUncapturable({ runtime }: Core, owner: SessionOwner, order: NewSession): FieldProblem[] {
  const { capture, captureBy } = order;
  if (captureBy === undefined) return [];
  const refuse = (detail: string): FieldProblem[] => [
    { param: "captureBy", pointer: "/captureBy", code: "invalid_field", detail },
  ];
  if (capture !== "manual") return refuse("needs the capture to be manual");
  const afterMs = captureBy.getTime() - runtime.now().getTime() - owner.sessionLifetimeMs;
  if (afterMs < captureByAfterMs.min) return refuse("must be at least a minute after expiresAt of the new session");
  if (afterMs > captureByAfterMs.max)
    return refuse("must be at most 162 hours after expiresAt of the new session: no gateway holds longer");
  return [];
}

function isAboutStoredCards({ customerRef, saveCard, storedCardSecurityCode }: StoringOrder): boolean {
  return customerRef !== undefined || saveCard !== undefined || storedCardSecurityCode !== undefined;
}

function requirePayable(core: Core, owner: SessionOwner, order: NewSession): void {
  const problems = [...findUnpayable(order), ...findUncapturable(core, owner, order)];
  if (isAboutStoredCards(order)) problems.push(...findUnstorable(order, core.runtime.now()));
  if (problems.length > 0) {
    throw new DomainError("invalid_field", problemsInWords(problems, "invalid_field"), { problems });
  }
  if (order.saveCard && !core.vault.stored)
    throw new DomainError("vault_cannot_store", "The card vault of this installation stores no cards.", {
      field: "saveCard",
    });
}
