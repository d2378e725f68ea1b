/**
 * The rows of authentications: opening one, its transitions, and what the customer's page and return change. Each
 * transition moves the attempt and its authentication in one transaction.
 */

import type { ActionNeeded, AuthenticationResult, Completion } from "../../gateways/authentication.ts";
import type { AuthorizeAnswer, Connector, Shopper } from "../../gateways/connector.ts";
import { actionLookMs, customerTimeMs } from "../../limits.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { AuthenticationId, SessionId } from "../../platform/ids.ts";
import { type Secret, seal, unseal } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { because } from "../decide/because.ts";
import { move } from "../record/attempts.ts";
import { required } from "../record/lease.ts";
import type { Attempt, Authentication, AuthenticationStatus, PaymentSession } from "../rows/entities.ts";
import { isAuthenticatedFirst } from "../rows/payment.ts";
import { endOf } from "./after-authentication.ts";

/** Names the row that the browser's data belong to. */
const browserOf = (sessionId: SessionId) => `browser of ${sessionId}`;
/** Names the row that a sealed action belongs to. */
export const actionOf = (id: AuthenticationId) => `action of ${id}`;
/** Names the row that what a gateway or provider needs later belongs to. */
export const keptOf = (id: AuthenticationId) => `kept for ${id}`;
/** Names the row that what a return brought belongs to. */
export const returnedOf = (id: AuthenticationId) => `returned for ${id}`;

const selectBrowser: Statement = {
  name: "select_browser_of_session",
  partitionKey: 1,
  text: `SELECT browser_sealed AS "browserSealed" FROM payment_session WHERE id = $1`,
};

/** Returns the customer's browser for its session's row; undefined without the browser's data. */
export function sealShopper(
  { sealing }: Pick<Core, "sealing">,
  sessionId: SessionId,
  shopper: Shopper | undefined,
): string | undefined {
  return shopper?.browser && seal(sealing, browserOf(sessionId), JSON.stringify(shopper));
}

/**
 * Returns the data of the browser: as submitted, or as kept from the submission on where each payment is authenticated,
 * otherwise from the first action of the session on.
 */
export async function findShopper(
  { database, sealing }: Pick<Core, "database" | "sealing">,
  session: Pick<PaymentSession, "id" | "authentications" | "plan">,
  submitted: Shopper | undefined,
): Promise<Shopper | undefined> {
  const isKept = session.authentications > 0 || isAuthenticatedFirst(session.plan);
  if (submitted?.browser !== undefined || !isKept) return submitted;
  const [row] = await database.query<{ browserSealed: string | null }>(selectBrowser, [session.id]);
  if (!row?.browserSealed) return submitted;
  return JSON.parse(unseal(sealing, browserOf(session.id), row.browserSealed).expose()) as Shopper;
}

const insertAuthentication: Statement = {
  name: "insert_authentication",
  partitionKey: 1,
  text: "SELECT FROM app.insert_authentication($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
};

/** Records that a gateway needs the customer. The session must be locked. */
export function openAuthentication(
  tx: Tx,
  core: Core,
  asked: {
    readonly attempt: Attempt;
    readonly needed: ActionNeeded;
    readonly shopper: Shopper | undefined;
    readonly now: Date;
  },
): void {
  const { attempt, needed, shopper, now } = asked;
  const { sessionId, gateway } = attempt;
  const authenticator = authenticatorOf(core.connectorOf(gateway));
  const id = core.runtime.uuid();
  tx.send(insertAuthentication, [
    ...[sessionId, id, attempt.id, attempt.connectionId, because.askedForCustomer({ gateway })],
    ...[authenticator.holdsOnlyWhenAsked, authenticator.actionLifeMs],
    seal(core.sealing, actionOf(id), JSON.stringify(needed.action)),
    needed.keep === undefined ? null : seal(core.sealing, keptOf(id), needed.keep.expose()),
    customerTimeMs,
    sealShopper(core, sessionId, shopper) ?? null,
  ]);
  const { gatewayReference } = needed;
  move(tx, attempt, "AUTHORIZING", {
    set: {
      status: "AWAITING_CUSTOMER",
      nextRetryAt: new Date(now.getTime() + actionLookMs),
      ...(gatewayReference !== undefined && { gatewayReference }),
    },
    stamp: ["answeredAt"],
  });
}

const insertFrictionless: Statement = {
  name: "insert_frictionless_authentication",
  partitionKey: 1,
  text: "SELECT FROM app.insert_frictionless($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
};

/**
 * Records an authentication that the gateway ran without the customer, if its first answer reports one. The session must
 * be locked.
 */
export function recordFrictionless(
  tx: Tx,
  core: Core,
  attempt: Attempt,
  { outcome, authenticated }: Pick<AuthorizeAnswer, "outcome" | "authenticated">,
): void {
  const end = endOf(outcome, authenticated);
  // The result of an imported proof is the provider's, whatever the gateway says about it.
  if (end === undefined || attempt.authenticationId != null) return;
  const { sessionId, gateway } = attempt;
  tx.send(insertFrictionless, [
    ...[sessionId, core.runtime.uuid(), attempt.id, attempt.connectionId],
    ...[because.frictionless({ gateway }), end, ...valuesOf(authenticated)],
  ]);
}

function authenticatorOf(connector: Connector | undefined) {
  if (connector?.authentication === undefined) throw new Error("only a gateway that may ask needs the customer");
  return connector.authentication;
}

const endWaitStatement: Statement = { name: "end_wait", partitionKey: 1, text: "SELECT FROM app.end_wait($1)" };

/** Ends the customer's time: the budget, which was paused, continues. */
export function endWait(tx: Tx, sessionId: SessionId): void {
  tx.send(endWaitStatement, [sessionId]);
}

const notGivenUp = "cancel_asked_at IS NULL"; // rule:no-completion-after-give-up
const beginCompletion: Statement = {
  name: "begin_completion",
  partitionKey: 1,
  text: "SELECT id FROM app.begin_completion($1, $2)",
};
const countCompletion: Statement = {
  name: "count_completion",
  partitionKey: 1,
  text: required("app.count_completion($1, $2, $3)", "the authentication has moved on"),
};

/**
 * Records that the completing request is about to be sent: from here on neither cancel nor deadline ends the
 * authentication. Returns false if the customer has given up meanwhile. The session must be locked.
 */
export async function recordCompleting(
  tx: Tx,
  { attempt, authentication }: { attempt: Attempt; authentication: Authentication },
  latestExecutionAt: Date,
): Promise<boolean> {
  const { sessionId } = attempt;
  if ((await tx.query(beginCompletion, [sessionId, authentication.id])).length === 0) return false;
  // The looks are over; a capture that follows counts its own repeats.
  const set = { status: "AUTHORIZING", retries: 0, nextRetryAt: null } as const;
  move(tx, attempt, "AWAITING_CUSTOMER", {
    set: { ...set, latestExecutionAt: laterOf(attempt, latestExecutionAt) },
  });
  endWait(tx, sessionId);
  return true;
}

/** Records that the completing request is about to be sent once more. The session must be locked. */
export function recordCompletingAgain(
  tx: Tx,
  { attempt, authentication }: { attempt: Attempt; authentication: Authentication },
  latestExecutionAt: Date,
): void {
  tx.send(countCompletion, [attempt.sessionId, authentication.id, authentication.completionsSent]);
  move(tx, attempt, "AUTHORIZING", { set: { latestExecutionAt: laterOf(attempt, latestExecutionAt) } });
}

const resumeAction: Statement = {
  name: "resume_action",
  partitionKey: 1,
  text: required("app.resume_action($1, $2)", "the authentication has moved on"),
};
/** Begins the customer's time: the budget stands still. */
export const beginWait: Statement = { name: "begin_wait", partitionKey: 1, text: "SELECT FROM app.begin_wait($1)" };

/**
 * Records that the gateway knows nothing of the answer with which a return led on: the customer's challenge is still
 * open. The session must be locked.
 */
export function recordNotAnswered(
  tx: Tx,
  { attempt, authentication }: { attempt: Attempt; authentication: Authentication },
  now: Date,
): void {
  const lookAt = new Date(
    Math.min(now.getTime() + actionLookMs, Math.max(now.getTime(), authentication.deadlineAt.getTime())),
  );
  tx.send(resumeAction, [attempt.sessionId, authentication.id]);
  move(tx, attempt, "AUTHORIZING", { set: { status: "AWAITING_CUSTOMER", retries: 1, nextRetryAt: lookAt } });
  tx.send(beginWait, [attempt.sessionId]);
}

/** Returns the later of an attempt's latest execution time and another. */
export function laterOf(attempt: Attempt, latestExecutionAt: Date): Date {
  return latestExecutionAt > attempt.latestExecutionAt ? latestExecutionAt : attempt.latestExecutionAt;
}

const selectGivenUp: Statement = {
  name: "select_given_up",
  partitionKey: 1,
  text: `SELECT FROM authentication WHERE session_id = $1 AND id = $2 AND NOT (${notGivenUp})`,
};

/** Reports whether the customer has given up. The session must be locked. */
export async function isGivenUp(tx: Tx, { sessionId, id }: Authentication): Promise<boolean> {
  return (await tx.query(selectGivenUp, [sessionId, id])).length > 0;
}

const end: Statement = {
  name: "end_authentication",
  partitionKey: 1,
  text: required("app.end_authentication($1, $2, $3, $4, $5, $6, $7, $8, $9)", "the authentication has moved on"),
};

/** Ends an authentication in the state in which it was read, with what the gateway says about it. */
export function endAuthentication(
  tx: Tx,
  authentication: Authentication,
  status: "AUTHENTICATED" | "ATTEMPTED" | "UNAVAILABLE" | "FAILED" | "CANCELLED" | "ABANDONED",
  result?: AuthenticationResult,
): void {
  const { sessionId, id } = authentication;
  tx.send(end, [...[sessionId, id, authentication.status, status], ...valuesOf(result)]);
}

function valuesOf({ version, transStatus, eci, dsTransactionId, liability }: AuthenticationResult = {}) {
  const said = [version ?? null, transStatus ?? null, eci ?? null, dsTransactionId ?? null];
  return [...said, liability ?? liabilityOf(eci) ?? null];
}

/** Returns the party that an ECI names: 05 and 02 say that the bank authenticated. */
export function liabilityOf(eci: string | undefined): "ISSUER" | "MERCHANT" | "UNKNOWN" | undefined {
  if (eci === undefined) return undefined;
  if (eci === "05" || eci === "02") return "ISSUER";
  return eci === "07" || eci === "00" ? "MERCHANT" : "UNKNOWN";
}

/** Returns the party that is liable after a provider's authentication. A payment with an exemption is the merchant's risk. */
export function liabilityOfEnd(status: AuthenticationStatus, eci: string | undefined): ReturnType<typeof liabilityOf> {
  if (status === "EXEMPTED") return "MERCHANT";
  return status === "AUTHENTICATED" || status === "ATTEMPTED" ? liabilityOf(eci) : undefined;
}

const postponeStatement: Statement = {
  name: "postpone_look",
  partitionKey: 1,
  text: "SELECT FROM app.postpone_look($1, $2, $3, $4, $5)",
};

/**
 * The least time between two look-ups of an action at its gateway, in milliseconds, however often the look-up is woken.
 */
export const lookAgainMs = 2_000;

/**
 * Puts off the next look at an action that still waits, to the deadline at the latest: the answer may have come since.
 * `readAt` is when the session was read.
 */
export function postponeLook(tx: Tx, attempt: Attempt, readAt: Date): void {
  tx.send(postponeStatement, [attempt.sessionId, attempt.id, readAt, lookAgainMs, actionLookMs]);
}

const selectCompletion: Statement = {
  name: "select_completion",
  partitionKey: 1,
  text: `
    SELECT keep_sealed AS "keepSealed", returned_sealed AS "returnedSealed" FROM authentication
    WHERE session_id = $1 AND id = $2`,
};

/** Loads what the connector kept and what the customer's return brought. */
export async function loadCompletion(
  { sealing }: Pick<Core, "sealing">,
  queryable: Queryable,
  { sessionId, id }: Pick<Authentication, "sessionId" | "id">,
): Promise<Completion> {
  type Row = { keepSealed: string | null; returnedSealed: string | null };
  const [row] = await queryable.query<Row>(selectCompletion, [sessionId, id]);
  const open = (associatedData: string, sealed: string | null | undefined): Secret | undefined =>
    sealed ? unseal(sealing, associatedData, sealed) : undefined;
  return { keep: open(keptOf(id), row?.keepSealed), returned: open(returnedOf(id), row?.returnedSealed) };
}
