/**
 * The customer's side of an authentication: the page that shows the action, the customer who gives up, and the return
 * from the bank. Nothing that comes from a browser is believed: it makes the session look at its gateway.
 */
import type { Action } from "../gateways/authentication.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type AuthenticationId, decodeId, encodeId, type SessionId } from "../platform/ids.ts";
import { deriveKey, equalInConstantTime, hmacSha256, seal, sha256, unseal } from "../platform/secrets.ts";
import { actionOf, returnedOf } from "./authentication/authentications.ts";
import { messageOf, startCheckClock, wakeProvided } from "./authentication/provided-rows.ts";
import type { Core, Returning } from "./core.ts";
import { wakeLocked } from "./record/lease.ts";
import type { AuthenticationStatus, PaymentSession } from "./rows/entities.ts";

// A redirect that was shown this often only waits for its outcome.
const shownMax = 3;
// Longest part of a return that is kept; gateways send some hundred characters.
const returnedCharactersMax = 8_192;
const ticketBytes = 32;

/** The action that a customer's page has to show next. */
export type OpenAction = {
  readonly id: AuthenticationId;
  readonly framing: "frame" | "window" | "hidden";
  /** True if a page has shown it. */
  readonly isOpened: boolean;
  readonly shownCount: number;
  readonly leftMs: number;
  /** METHOD: the bank's device check, which the customer does not see. */
  readonly kind: "METHOD" | "CHALLENGE" | "REDIRECT";
};

const selectOpen: Statement = {
  name: "select_open_action",
  partitionKey: 1,
  text: `
    SELECT t.id, (SELECT gateway FROM attempt WHERE session_id = $1 AND id = t.attempt_id) AS gateway,
      t.shown_at IS NOT NULL AS "isOpened", t.shown_count AS "shownCount",
      greatest(0, extract(epoch FROM t.deadline_at - app.clock()) * 1000)::int AS "leftMs",
      CASE WHEN t.provider IS NULL THEN 'REDIRECT' WHEN t.status = 'METHOD' THEN 'METHOD' ELSE 'CHALLENGE' END AS kind
    FROM authentication t
    WHERE t.session_id = $1 AND t.status IN ('METHOD','AWAITING_CUSTOMER') AND t.cancel_asked_at IS NULL`,
};

/** Finds the action that a session waits for; undefined without a statement where it waits for none. */
export async function findOpenAction(
  core: Core,
  session: { readonly id: SessionId; readonly awaitingSince?: Date | null | undefined },
): Promise<OpenAction | undefined> {
  if (!session.awaitingSince) return undefined;
  type Row = Omit<OpenAction, "framing"> & { gateway: string | null };
  const [row] = await core.database.query<Row>(selectOpen, [session.id]);
  if (row === undefined) return undefined;
  const { gateway, ...open } = row;
  if (gateway === null) {
    if (open.kind === "METHOD") return { ...open, framing: "hidden" };
    // A challenge request is posted once; then the page only waits.
    return { ...open, shownCount: open.shownCount + shownMax - 1, framing: "frame" };
  }
  return { ...open, framing: core.connectorOf(gateway)?.authentication?.framing ?? "window" };
}

const selectMessage: Statement = {
  name: "select_bank_message",
  partitionKey: 1,
  text: `
    SELECT id, message_sealed AS "messageSealed" FROM authentication
    WHERE session_id = $1 AND provider IS NOT NULL AND message_sealed IS NOT NULL`,
};

/**
 * Finds the bank's message to the customer, with an open action and after the end; undefined without a statement for
 * any other session, and for a payment without an authentication.
 */
export async function findBankMessage(
  { database, sealing }: Pick<Core, "database" | "sealing">,
  session: Pick<PaymentSession, "id" | "status" | "awaitingSince" | "authentications">,
): Promise<string | undefined> {
  if (session.authentications === 0 || (session.status === "CREATED" && !session.awaitingSince)) return undefined;
  const [row] = await database.query<{ id: AuthenticationId; messageSealed: string }>(selectMessage, [session.id]);
  return row && unseal(sealing, messageOf(row.id), row.messageSealed).expose();
}

const setTicket: Statement = {
  name: "set_action_ticket",
  partitionKey: 1,
  text: "SELECT status FROM app.set_action_ticket($1, $2, $3)",
};
const selectSession: Statement = {
  name: "lock_session_of_action",
  partitionKey: 1,
  text: "SELECT id FROM app.lock_session($1)",
};
const selectStatus: Statement = {
  name: "select_authentication_status",
  partitionKey: 1,
  text: "SELECT status FROM authentication WHERE session_id = $1 AND id = $2",
};

type Named = { readonly sessionId: SessionId; readonly authenticationId: AuthenticationId };

/**
 * Returns a ticket with which one page shows the action; a later ticket replaces it. The ticket carries `returnTo`,
 * which its hash protects. Throws `no_action` if the session has no such action, `action_expired` if it has ended.
 */
export async function openAction(
  core: Core,
  { sessionId, authenticationId, returnTo = "" }: Named & { readonly returnTo?: string | undefined },
): Promise<string> {
  const { runtime } = core;
  const random = Buffer.from(runtime.randomBytes(ticketBytes)).toString("base64url");
  const secret = `${random}~${Buffer.from(returnTo).toString("base64url")}`;
  return core.database.transaction(async (tx) => {
    await tx.query(selectSession, [sessionId]);
    const values = [sessionId, authenticationId, sha256(secret)];
    const [opened] = await tx.query<{ status: AuthenticationStatus }>(setTicket, values);
    if (opened === undefined) throw await refusal(tx, { sessionId, authenticationId });
    if (opened.status === "METHOD") startCheckClock(tx, sessionId, authenticationId);
    return [encodeId("ps", sessionId), encodeId("atn", authenticationId), secret].join(".");
  });
}

async function refusal(queryable: Queryable, { sessionId, authenticationId }: Named): Promise<DomainError> {
  const [found] = await queryable.query<{ status: string }>(selectStatus, [sessionId, authenticationId]);
  return found === undefined
    ? new DomainError("no_action", "The session waits for no such action.")
    : new DomainError("action_expired", "The action has ended; read the session for its outcome.");
}

// Locks nothing, for anyone may send a text that looks like a ticket.
const selectTicket: Statement = {
  name: "select_action_ticket",
  partitionKey: 1,
  text: "SELECT FROM authentication WHERE session_id = $1 AND id = $2 AND ticket_hash = $3",
};
const useTicket: Statement = {
  name: "use_action_ticket",
  partitionKey: 1,
  text: 'SELECT action_sealed AS "actionSealed" FROM app.use_action_ticket($1, $2, $3, $4)',
};

/** An action, and the page to which a window goes back after it. */
type ShownAction = Action & { readonly returnTo?: string };

/**
 * Returns the action that a ticket shows, once. Throws `action_expired` for a ticket that was used or replaced, and for
 * an action that has ended or was shown too often.
 */
export async function useActionTicket(core: Core, ticket: string): Promise<ShownAction> {
  const [session = "", authentication = "", secret = ""] = ticket.split(".");
  const [sessionId, authenticationId] = [decodeId("ps", session), decodeId("atn", authentication)];
  if (sessionId === undefined || authenticationId === undefined) throw expired();
  const named = [sessionId, authenticationId, sha256(secret)];
  if ((await core.database.query(selectTicket, named)).length === 0) throw expired();
  return core.database.transaction(async (tx) => {
    await tx.query(selectSession, [sessionId]);
    const [used] = await tx.query<{ actionSealed: string }>(useTicket, [...named, shownMax]);
    if (used === undefined) throw expired();
    const action = JSON.parse(unseal(core.sealing, actionOf(authenticationId), used.actionSealed).expose()) as Action;
    const returnTo = Buffer.from(secret.split("~")[1] ?? "", "base64url").toString();
    return { ...action, ...(returnTo !== "" && { returnTo }) };
  });
}

function expired(): DomainError {
  return new DomainError("action_expired", "The action cannot be shown any more; read the session for its outcome.");
}

const setCancelled: Statement = {
  name: "cancel_action",
  partitionKey: 1,
  text: "SELECT provider FROM app.cancel_action($1, $2)",
};
const selectCancelled: Statement = {
  name: "select_cancelled_action",
  partitionKey: 1,
  text: "SELECT FROM authentication WHERE session_id = $1 AND id = $2 AND cancel_asked_at IS NOT NULL",
};

/**
 * Gives an action up in the customer's name: from here on nothing is completed. A repeat changes nothing. Throws
 * `no_action` if the customer has answered or the action has ended. Durable on return.
 */
export async function cancelAction(core: Core, { sessionId, authenticationId }: Named): Promise<void> {
  const values = [sessionId, authenticationId];
  await core.database.transaction(async (tx) => {
    await tx.query(selectSession, [sessionId]);
    const [cancelled] = await tx.query<{ provider: string | null }>(setCancelled, values);
    if (cancelled !== undefined) {
      if (cancelled.provider === null) await wakeLocked(tx, sessionId);
      else await wakeProvided(tx, sessionId, "cancelled");
      return;
    }
    if ((await tx.query(selectCancelled, values)).length > 0) return;
    throw new DomainError("no_action", "The customer has answered, or the action has ended.");
  });
}

const returnPurpose = "return of a customer";

/** Returns the token in the return address of an attempt or a provider's authentication: it permits its bearer to say that the customer is back. */
export function returnTokenOf({ sealing }: Pick<Core, "sealing">, returning: Returning): string {
  const { sessionId, id, isProvided } = returning;
  const named = `${encodeId("ps", sessionId)}.${encodeId(isProvided ? "atn" : "att", id)}`;
  return `${named}.${macOf(sealing.keys[sealing.current]!, returning)}`;
}

function macOf(key: Uint8Array, { sessionId, id }: Returning): string {
  return hmacSha256(deriveKey(key, returnPurpose), `${sessionId} ${id}`).toString("base64url");
}

/** Returns the attempt or authentication of a return token; undefined for one that no key of ours has made. */
function attemptOfToken({ sealing }: Pick<Core, "sealing">, token: string): Returning | undefined {
  const [session = "", reference = "", mac = ""] = token.split(".");
  const isProvided = reference.startsWith("atn_");
  const [sessionId, id] = [decodeId("ps", session), decodeId(isProvided ? "atn" : "att", reference)];
  if (sessionId === undefined || id === undefined) return undefined;
  const attempt = { sessionId, id, isProvided };
  const isOurs = (key: Uint8Array) => equalInConstantTime(Buffer.from(mac), Buffer.from(macOf(key, attempt)));
  return Object.values(sealing.keys).some(isOurs) ? attempt : undefined;
}

/** Reports whether a key of ours has made a return token. */
export function isReturnToken(core: Pick<Core, "sealing">, token: string): boolean {
  return attemptOfToken(core, token) !== undefined;
}

/** Returns the session that a ticket or a return token names; undefined for any other text. Proves nothing. */
export function sessionNamedIn(text: string): SessionId | undefined {
  return decodeId("ps", text.split(".")[0] ?? "");
}

const selectIsOver: Statement = {
  name: "select_return_is_over",
  partitionKey: 1,
  text: `
    SELECT status <> 'CREATED' OR EXISTS (
        SELECT FROM authentication t WHERE t.session_id = $1 AND t.status = 'AWAITING_CUSTOMER' AND coalesce(t.attempt_id, t.id) <> $2
      ) AS "isOver"
    FROM payment_session WHERE id = $1`,
};

/**
 * Reports whether a customer who has returned can go back to the shop: the session has ended, or has another challenge.
 * Says nothing about the outcome, because banks and gateways have the token too.
 */
export async function isReturnOver(core: Core, token: string): Promise<boolean> {
  const attempt = attemptOfToken(core, token);
  if (attempt === undefined) return true;
  const [row] = await core.database.query<{ isOver: boolean }>(selectIsOver, [attempt.sessionId, attempt.id]);
  return row?.isOver ?? true;
}

const selectProvider: Statement = {
  name: "select_provider_of_return",
  partitionKey: 1,
  text: "SELECT provider FROM authentication WHERE session_id = $1 AND id = $2 AND status = 'AWAITING_CUSTOMER'",
};
const selectReturning: Statement = {
  name: "select_returning_customer",
  partitionKey: 1,
  text: `
    SELECT t.id, a.gateway FROM authentication t JOIN attempt a ON a.session_id = t.session_id AND a.id = t.attempt_id
    WHERE t.session_id = $1 AND a.session_id = $1 AND t.attempt_id = $2 AND t.status = 'AWAITING_CUSTOMER'`,
};
const setReturned: Statement = {
  name: "set_returned",
  partitionKey: 1,
  text: "SELECT FROM app.set_returned($1, $2, $3)",
};

/** Keeps what a customer's return brought, unless it is longer than anything that a gateway sends. */
function keepReturned(
  tx: Tx,
  { sealing }: Pick<Core, "sealing">,
  {
    sessionId,
    id,
    returned,
  }: { readonly sessionId: SessionId; readonly id: AuthenticationId; readonly returned: string },
): void {
  if (returned.length > returnedCharactersMax) return;
  tx.send(setReturned, [sessionId, id, seal(sealing, returnedOf(id), returned)]);
}

const lookAgain: Statement = { name: "look_again", partitionKey: 1, text: "SELECT FROM app.look_again($1)" };
const lookSoon: Statement = { name: "look_soon", partitionKey: 1, text: "SELECT id FROM app.look_soon($1, $2)" };
const returnsApartMs = 1_000;

/** Makes a session look at its gateway: at once, or a second after its last look. The session must be locked. */
async function lookAfterReturn(tx: Tx, sessionId: SessionId): Promise<void> {
  if ((await tx.query(lookSoon, [sessionId, returnsApartMs])).length > 0) return;
  if (!(await wakeLocked(tx, sessionId))) await tx.query(lookAgain, [sessionId]);
}

/**
 * Takes a customer's return: keeps what leads on, and makes the session look at its gateway. One that says that the
 * customer gave up is taken as `cancelAction`, which the customer could call as well. A return for an action that
 * has ended, or with a token that is not ours, changes nothing. Returns the session to resume, if there is one.
 */
export async function takeReturn(core: Core, token: string, fields: URLSearchParams): Promise<SessionId | undefined> {
  const attempt = attemptOfToken(core, token);
  if (attempt === undefined) return undefined;
  const { sessionId } = attempt;
  if (attempt.isProvided) {
    const [asked] = await core.database.query<{ provider: string }>(selectProvider, [sessionId, attempt.id]);
    const returned = core.providerOf(asked?.provider ?? "")?.readReturn?.(fields);
    await core.database.transaction(async (tx) => {
      await tx.query(selectSession, [sessionId]);
      if (returned !== undefined) keepReturned(tx, core, { sessionId, id: attempt.id as AuthenticationId, returned });
      await wakeProvided(tx, sessionId, fields.has("threeDSMethodData") ? "checked" : "returned");
    });
    return sessionId;
  }
  const [found] = await core.database.query<{ id: AuthenticationId; gateway: string }>(selectReturning, [
    sessionId,
    attempt.id,
  ]);
  if (found === undefined) return undefined;
  const { id, gateway } = found;
  const authenticator = core.connectorOf(gateway)?.authentication;
  const returned = authenticator?.readReturn(fields);
  await core.database.transaction(async (tx) => {
    await tx.query(selectSession, [sessionId]);
    const gaveUp = authenticator?.isCancelled?.(fields) && (await tx.query(setCancelled, [sessionId, id])).length > 0;
    if (gaveUp) {
      await wakeLocked(tx, sessionId);
      return;
    }
    if (returned !== undefined) keepReturned(tx, core, { sessionId, id, returned });
    await lookAfterReturn(tx, sessionId);
  });
  return sessionId;
}
