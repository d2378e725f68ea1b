/**
 * The rows of a provider's authentication: opening it, its transitions, and its proof. Each change needs the session's
 * lock.
 */

import type { Action, AuthenticationProof, AuthenticationResult } from "../../gateways/authentication.ts";
import type { AcquirerData, MethodIndicator } from "../../gateways/authentication-provider.ts";
import type { Shopper } from "../../gateways/connector.ts";
import { actionLookMs, customerTimeMs } from "../../limits.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { AuthenticationId, ConnectionId, SessionId } from "../../platform/ids.ts";
import { Secret, seal, unseal } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { LeaseLost, required } from "../record/lease.ts";
import type { Authentication, AuthenticationStatus, PlannedProvider } from "../rows/entities.ts";
import {
  actionOf,
  beginWait,
  endWait,
  keptOf,
  liabilityOfEnd,
  loadCompletion,
  lookAgainMs,
  sealShopper,
} from "./authentications.ts";

/** Names the row that a bank's message belongs to. */
export const messageOf = (id: AuthenticationId) => `message of ${id}`;
/** Names the row that a proof belongs to. */
const proofOf = (id: AuthenticationId) => `proof of ${id}`;

const insertProvided: Statement = {
  name: "insert_provided_authentication",
  partitionKey: 1,
  text: "SELECT FROM app.insert_provided($1, $2, $3, $4, $5, $6, $7, $8)",
};

/** Records that a provider is about to authenticate the customer. Returns the authentication's id. */
export function openProvided(
  tx: Tx,
  core: Pick<Core, "runtime" | "sealing">,
  asked: {
    readonly sessionId: SessionId;
    readonly provider: PlannedProvider;
    readonly because: string;
    readonly shopper: Shopper | undefined;
  },
): AuthenticationId {
  const { sessionId, provider, because, shopper } = asked;
  const id = core.runtime.uuid();
  const { connectionId, name, credentialVersion } = provider;
  tx.send(insertProvided, [
    ...[sessionId, id, connectionId, because, name, credentialVersion, customerTimeMs],
    sealShopper(core, sessionId, shopper) ?? null,
  ]);
  return id;
}

/** Data that the flow keeps for a provider's later calls. */
export type KeptForProvider = {
  readonly keep: Secret;
  readonly network?: string | undefined;
  readonly methodIndicator: MethodIndicator;
  /** The value that the customer's last return brought, for a provider that needs it. */
  readonly returned?: Secret | undefined;
};

function sealKept(
  core: Pick<Core, "sealing">,
  id: AuthenticationId,
  { keep, network, methodIndicator }: KeptForProvider,
): string {
  return seal(core.sealing, keptOf(id), JSON.stringify({ keep: keep.expose(), network, methodIndicator }));
}

/** Loads the data that a provider's later calls need. Throws `LeaseLost` if the authentication has ended since. */
export async function loadKept(
  core: Pick<Core, "sealing" | "database">,
  authentication: Authentication,
): Promise<KeptForProvider> {
  const { keep, returned } = await loadCompletion(core, core.database, authentication);
  if (keep === undefined) throw new LeaseLost(movedOn);
  const kept = JSON.parse(keep.expose()) as { keep: string };
  return { ...(kept as unknown as KeptForProvider), keep: new Secret(kept.keep), returned };
}

const movedOn = "the authentication has moved on";
const beginMethod: Statement = {
  name: "begin_device_check",
  partitionKey: 1,
  text: required("app.begin_device_check($1, $2, $3, $4, $5)", movedOn),
};

// 3dsecure.io forgets a transaction 80 s after /preauth (docs.3dsecure.io, 2026).
const methodWaitMs = 60_000;

/** Records that the page has to run the bank's device check first. A page that shows it is waited for, for a minute. */
export function recordMethod(
  tx: Tx,
  core: Core,
  { sessionId, id }: Authentication,
  method: Action,
  kept: KeptForProvider,
) {
  const action = seal(core.sealing, actionOf(id), JSON.stringify(method));
  tx.send(beginMethod, [sessionId, id, action, sealKept(core, id, kept), methodWaitMs]);
  tx.send(beginWait, [sessionId]);
}

const beginRequest: Statement = {
  name: "begin_provider_request",
  partitionKey: 1,
  text: required("app.begin_provider_request($1, $2, $3, $4)", movedOn),
};

/** Records that the request is about to be sent; it is sent once. */
export function recordRequesting(tx: Tx, core: Core, authentication: Authentication, kept: KeptForProvider): void {
  const { sessionId, id, status } = authentication;
  tx.send(beginRequest, [sessionId, id, status, sealKept(core, id, kept)]);
  if (status === "METHOD") endWait(tx, sessionId);
}

const beginChallenge: Statement = {
  name: "begin_challenge",
  partitionKey: 1,
  text: required("app.begin_challenge($1, $2, $3, $4, $5, $6)", movedOn),
};

/**
 * Records that the bank challenges the customer. The first return makes the session look at once: no look came before
 * it.
 */
export function recordChallenge(
  tx: Tx,
  core: Core,
  { sessionId, id }: Authentication,
  asked: { readonly action: Action; readonly kept: KeptForProvider; readonly message?: string | undefined },
): void {
  const { action, kept, message } = asked;
  const sealed = seal(core.sealing, actionOf(id), JSON.stringify(action));
  const lookInMs = actionLookMs - lookAgainMs;
  tx.send(beginChallenge, [
    ...[sessionId, id, sealed, sealKept(core, id, kept), lookInMs],
    sealMessage(core, id, message),
  ]);
  tx.send(beginWait, [sessionId]);
}

function sealMessage(
  { sealing }: Pick<Core, "sealing">,
  id: AuthenticationId,
  message: string | undefined,
): string | null {
  return message === undefined ? null : seal(sealing, messageOf(id), message);
}

const endStatement: Statement = {
  name: "end_provided_authentication",
  partitionKey: 1,
  text: required("app.end_provided($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", movedOn),
};

/** Ends a provider's authentication in the state in which it was read, with its result and its proof if there is one. */
export function endProvided(
  tx: Tx,
  core: Pick<Core, "sealing">,
  authentication: Authentication,
  end: {
    readonly status: AuthenticationStatus;
    readonly result?: AuthenticationResult;
    readonly proof?: AuthenticationProof | undefined;
    readonly message?: string | undefined;
  },
): void {
  const { sessionId, id, status } = authentication;
  const { result = {}, proof, message } = end;
  const { version, transStatus, transStatusReason, eci, dsTransactionId } = result;
  const liability = liabilityOfEnd(end.status, eci);
  tx.send(endStatement, [
    ...[sessionId, id, status, end.status, version ?? null, transStatus ?? null, transStatusReason ?? null],
    ...[eci ?? null, dsTransactionId ?? null, liability ?? null],
    proof === undefined ? null : seal(core.sealing, proofOf(id), JSON.stringify(proof)),
    sealMessage(core, id, message),
  ]);
  if (status === "METHOD" || status === "AWAITING_CUSTOMER") endWait(tx, sessionId);
}

/** Ends a provider's authentication in the state in which it was read, without a result of the bank. */
export function endWithoutResult(
  tx: Tx,
  authentication: Authentication,
  status: "UNAVAILABLE" | "CANCELLED" | "ABANDONED",
): void {
  const { sessionId, id, status: before } = authentication;
  tx.send(endStatement, [sessionId, id, before, status, ...Array.from({ length: 8 }, () => null)]);
  if (before === "METHOD" || before === "AWAITING_CUSTOMER") endWait(tx, sessionId);
}

const selectProof: Statement = {
  name: "select_proof",
  partitionKey: 1,
  text: `SELECT proof_sealed AS "proofSealed" FROM authentication WHERE session_id = $1 AND id = $2`,
};

/** Loads the proof that an attempt's gateway gets; undefined if it gets none. */
export async function loadProof(
  { database, sealing }: Pick<Core, "database" | "sealing">,
  {
    sessionId,
    authenticationId: id,
  }: { readonly sessionId: SessionId; readonly authenticationId?: AuthenticationId | null | undefined },
): Promise<AuthenticationProof | undefined> {
  if (id == null) return undefined;
  const [row] = await database.query<{ proofSealed: string | null }>(selectProof, [sessionId, id]);
  if (!row?.proofSealed) throw new Error("an attempt names an authentication that has a proof");
  return JSON.parse(unseal(sealing, proofOf(id), row.proofSealed).expose()) as AuthenticationProof;
}

const clearProofs: Statement = {
  name: "clear_proofs",
  partitionKey: 1,
  text: "SELECT FROM app.clear_proofs($1)",
};

/** Deletes a session's proof, which no gateway may use from now on. */
export function dropProof(tx: Tx, sessionId: SessionId): void {
  tx.send(clearProofs, [sessionId]);
}

const postponeStatement: Statement = {
  name: "postpone_provider_look",
  partitionKey: 1,
  text: "SELECT FROM app.postpone_provider_look($1, $2, $3, $4, $5)",
};

/** Puts off the next look at a challenge that still waits. `readAt` is when the session was read. */
export function postponeProviderLook(tx: Tx, { sessionId, id }: Authentication, readAt: Date): void {
  tx.send(postponeStatement, [sessionId, id, readAt, lookAgainMs, actionLookMs]);
}

const selectWait: Statement = {
  name: "select_wait_for_provider",
  partitionKey: 1,
  text: `
    SELECT id, status, next_look_at AS "lookAt", app.clock() AS now FROM authentication
    WHERE session_id = $1 AND provider IS NOT NULL AND status IN ('METHOD','AWAITING_CUSTOMER')`,
};
const setLook: Statement = {
  name: "set_look_at_provider",
  partitionKey: 1,
  text: "SELECT FROM app.look_at_provider($1, $2, $3, $4, $5)",
};

type Wait = {
  readonly id: AuthenticationId;
  readonly status: AuthenticationStatus;
  readonly lookAt: Date;
  readonly now: Date;
};

/**
 * Makes a session that waits for a provider's customer look: at once when the bank's device check has reported or the
 * customer has cancelled; after a return at once or a second after its last look. A process that is looking keeps its
 * lease, and looks once more. The session must be locked.
 */
export async function wakeProvided(
  tx: Tx,
  sessionId: SessionId,
  because: "checked" | "cancelled" | "returned",
): Promise<void> {
  const [wait] = await tx.query<Wait>(selectWait, [sessionId]);
  if (wait === undefined || (wait.status === "METHOD" && because === "returned")) return;
  const { id, now } = wait;
  const isChecked = wait.status === "METHOD" && because === "checked";
  const lookAt = isChecked || because === "cancelled" ? now : nextLookOf(wait);
  tx.send(setLook, [sessionId, id, lookAt, isChecked ? now : null, wait.lookAt > now]);
}

// Anyone who knows the address may return a thousand times a second; the merchant's account at the provider is not
// called so often.
function nextLookOf({ lookAt, now }: Wait): Date {
  const inMs = lookAt.getTime() - now.getTime();
  if (inMs <= lookAgainMs) return inMs > 0 ? lookAt : now;
  return new Date(Math.max(now.getTime(), lookAt.getTime() - actionLookMs + lookAgainMs));
}

const startDeviceCheck: Statement = {
  name: "start_device_check",
  partitionKey: 1,
  text: "SELECT FROM app.start_device_check($1, $2, $3)",
};

// The time that a bank has for its device check: EMV 3DS 2.2, 5.8.1.
const deviceCheckMs = 10_000;

/** Starts the clock of a device check, because a page is there. */
export function startCheckClock(tx: Tx, sessionId: SessionId, authenticationId: AuthenticationId): void {
  tx.send(startDeviceCheck, [sessionId, authenticationId, deviceCheckMs]);
}

const selectAcquirer: Statement = {
  name: "select_acquirer",
  text: "SELECT acquirer FROM connection WHERE id = $1",
};

/** Loads the merchant's data at a connection's acquirer; undefined if none were set. */
export async function loadAcquirer(
  queryable: Queryable,
  connectionId: ConnectionId,
): Promise<AcquirerData | undefined> {
  const [row] = await queryable.query<{ acquirer: AcquirerData | null }>(selectAcquirer, [connectionId]);
  return row?.acquirer ?? undefined;
}
