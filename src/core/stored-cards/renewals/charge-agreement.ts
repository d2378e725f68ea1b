/** Charges an agreement without its customer: one capture for each renewal, however often it is requested. */
import { renewalsInFlightMax, renewalTriesMax } from "../../../limits.ts";
import type { Statement } from "../../../platform/database.ts";
import { DomainError, type FieldProblem, problemsInWords, unreachable } from "../../../platform/errors.ts";
import { type AgreementId, encodeId, type MerchantId, type RequestId, type SessionId } from "../../../platform/ids.ts";
import { sha256, unseal } from "../../../platform/secrets.ts";
import { type Block, renewBlocked } from "../../card-testing/blocked.ts";
import { brakedPlan } from "../../card-testing/card-counts.ts";
import type { Core } from "../../core.ts";
import { detailsOf, findUnpayable, type SessionOwner } from "../../create-session.ts";
import { because, leftOut } from "../../decide/because.ts";
import { followCases } from "../../decide/routing-cases.ts";
import { loadSession } from "../../record/load-session.ts";
import { nextOpening } from "../../record/open-attempt.ts";
import { factsOf, loadRoute } from "../../record/routing-rules.ts";
import { settleSession } from "../../record/settle.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import type { Payment } from "../../rows/payment.ts";
import { findSession } from "../../sessions.ts";
import { followSession, startProcessing } from "../../submit-payment.ts";
import { handleAssociatedData } from "../claim-stored.ts";
import { loseCard } from "../payment-methods.ts";
import type { Agreement } from "../stored-rows.ts";
import { planRenewal } from "./plan-renewal.ts";
import { type Refusal, refusalError } from "./refusals.ts";
import { type KeyedCharge, type PlannedCharge, type Taken, takeRenewal } from "./take-renewal.ts";

/** A charge of an agreement. The validator that all surfaces share has already checked its shape. */
export type Charge = {
  readonly agreementId: AgreementId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  /** Names the charge, which is paid once. The order's reference if absent. */
  readonly renewalRef?: string | undefined;
  readonly statementDescriptor?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly key: string;
  /** Id of the API request, for support; not part of the charge. */
  readonly requestId?: RequestId | undefined;
  /** Fires when the caller no longer waits. */
  readonly signal: AbortSignal;
};

/** The session of a charge. `replayed`: an earlier request with the key has begun it. */
export type Charged = { readonly payment: Payment; readonly replayed: boolean };

/**
 * Charges an agreement, and waits up to 20 s for the end. Durable on return. A repeat with the key returns the current
 * session. Throws `not_found` (also for a repeat whose session is no longer kept here), `idempotency_key_reused`,
 * `invalid_field`, `vault_cannot_store`, `renewal_paid`, `renewal_in_progress`, `agreement_not_active`,
 * `amount_exceeds_agreement`, `retry_not_allowed`, and `unavailable` if the vault opens no card or too many renewals
 * are in progress: then nothing was created.
 */
export async function chargeAgreement(core: Core, owner: SessionOwner, charge: Charge): Promise<Charged> {
  const problems = findUnchargeable(charge);
  if (problems.length > 0)
    throw new DomainError("invalid_field", problemsInWords(problems, "invalid_field"), { problems });
  const begun = await inTurn(core, owner.merchantId, () => begin(core, owner, keyedCharge(owner, charge)));
  const { signal } = charge;
  const payment = await followSession(core, { ...begun, signal, isOver: ({ status }) => status !== "CREATED" });
  return { payment, replayed: begun.run === undefined };
}

function findUnchargeable(charge: Charge): FieldProblem[] {
  const { renewalRef } = charge;
  const problems = findUnpayable(charge);
  if (renewalRef?.trim() !== "") return problems;
  const blank = {
    param: "renewalRef",
    pointer: "/renewalRef",
    code: "invalid_field",
    detail: "must not be blank",
  } as const;
  return [...problems, blank];
}

/** Counts a renewal of a merchant in this process while it is taken. */
async function inTurn<Result>({ renewals }: Core, merchantId: MerchantId, work: () => Promise<Result>) {
  const turn = { merchantId };
  renewals.add(turn);
  return work().finally(() => renewals.delete(turn));
}

/**
 * Reports whether a process has room for one more renewal of a merchant, which is counted. Half of the places are left to payments of
 * customers. Of the others each merchant has an equal part, and one part is free for the next merchant.
 */
function hasRoom({ renewals }: Pick<Core, "renewals">, merchantId: MerchantId): boolean {
  const ofMerchants = Map.groupBy(renewals, (one) => one.merchantId);
  const share = Math.max(1, Math.floor(renewalsInFlightMax / (ofMerchants.size + 1)));
  return renewals.size <= renewalsInFlightMax && (ofMerchants.get(merchantId)?.length ?? 0) <= share;
}

// A batch of renewals takes a tenth of a processor from customers who pay at the same time. If very many wait, none
// does for long.
const behindCustomersMs = 200;
const waitMaxMs = 2_000;
const customersStayMs = 10_000;
type Turns = { last: Promise<void>; busyUntilMs: number };
const turnsOf = new WeakMap<Core["renewals"], Turns>();

/** Resolves at once if this process worked for no customer lately. Otherwise renewals begin one after another, five a second. */
function waitForTurn({ renewals, inFlight, runtime, sleep }: Core): Promise<void> {
  const turns = turnsOf.get(renewals) ?? { last: Promise.resolve(), busyUntilMs: 0 };
  turnsOf.set(renewals, turns);
  turns.last = turns.last.then(() => {
    const nowMs = runtime.now().getTime();
    const running = [...renewals].filter((one) => one.isRunning).length;
    if (inFlight.size > running) turns.busyUntilMs = nowMs + customersStayMs;
    if (nowMs >= turns.busyUntilMs) return undefined;
    return sleep(Math.min(behindCustomersMs, waitMaxMs / (renewals.size - running)));
  });
  return turns.last;
}

type Begun = Pick<Parameters<typeof followSession>[1], "payment" | "run">;

/** Takes the renewal and begins to process it, or finds the session that the key has begun. */
async function begin(core: Core, owner: SessionOwner, charge: KeyedCharge): Promise<Begun> {
  const taken = await takeWithCard(core, owner, charge);
  switch (taken.type) {
    case "taken":
      return startRenewal(core, owner, taken);
    case "known": {
      const known = await findSession(core, { sessionId: taken.sessionId });
      if (known === undefined) throw await notKept(core, charge, taken.sessionId);
      return { payment: known, run: undefined };
    }
    case "reused":
      throw new DomainError(
        "idempotency_key_reused",
        "This Idempotency-Key was used for a charge of the agreement with other fields; use a new key for another charge.",
      );
    case "not_found":
      throw new DomainError("not_found", "There is no agreement with this id.");
    case "refused":
      throw refusalError(taken.refusal);
    // Its card was replaced twice while it was opened, or blocked while it was declined.
    case "changed":
    case "blocked":
      throw unavailable();
    default:
      return unreachable(taken);
  }
}

const selectPaid: Statement = {
  name: "select_payment_of_renewal",
  text: `SELECT paid_session_id AS "paidSessionId" FROM renewal WHERE agreement_id = $1 AND renewal_ref = $2`,
};

/** Returns the answer to a repeat whose session was removed after its retention period, or is in the cell that its merchant has left. */
async function notKept(core: Core, { agreementId, renewalRef }: KeyedCharge, sessionId: SessionId) {
  const [row] = await core.database.query<{ paidSessionId: SessionId | null }>(selectPaid, [agreementId, renewalRef]);
  if (row?.paidSessionId) return refusalError({ reason: "paid", other: row.paidSessionId, until: null });
  const named = encodeId("ps", sessionId);
  return new DomainError(
    "not_found",
    `The renewal is unpaid, and the session of this key is elsewhere: read ${named}.`,
    {
      state: { sessionId: named },
    },
  );
}

async function startRenewal(
  core: Core,
  { merchantId }: SessionOwner,
  { sessionId, attemptId }: TakenRenewal,
): Promise<Begun> {
  const loaded = await loadSession(core.database, sessionId);
  const run = startProcessing(core, {
    lease: { sessionId, epoch: 1 },
    reloaded: { loaded, openedAttemptId: attemptId },
  });
  const counted = { merchantId, isRunning: true };
  core.renewals.add(counted);
  void run.finally(() => core.renewals.delete(counted));
  return { payment: loaded, run };
}

type TakenRenewal = Extract<Taken, { type: "taken" }> & { readonly sessionId: SessionId };
type TakenCharge = Exclude<Taken, { type: "taken" }> | TakenRenewal;

function keyedCharge({ merchantId, statementDescriptor }: SessionOwner, charge: Charge): KeyedCharge {
  const { agreementId, amountMinor, currency, orderRef, renewalRef = orderRef, metadata } = charge;
  const asked = detailsOf(charge);
  return {
    merchantId,
    agreementId,
    renewalRef,
    amountMinor,
    currency,
    orderRef,
    requestId: charge.requestId,
    details: detailsOf({
      metadata,
      statementDescriptor: charge.statementDescriptor ?? statementDescriptor ?? undefined,
    }),
    keyHash: sha256(charge.key),
    requestHash: sha256(JSON.stringify([renewalRef, amountMinor, currency, orderRef, ...(asked ? [asked] : [])])),
  };
}

function unavailable(): DomainError {
  return new DomainError(
    "unavailable",
    "The agreement cannot be charged at the moment, and nothing was created; repeat the request.",
  );
}

type Found = Pick<Agreement, "ownConnectionId" | "networkTransactionId" | "methodId"> & {
  readonly handleSealed: string | null;
  readonly handleHash: Buffer | null;
  readonly knownSessionId: SessionId | null;
  readonly isSame: boolean | null;
  readonly refusal: Refusal | null;
};

const selectAgreement: Statement = {
  name: "select_agreement_to_charge",
  text: `
    SELECT a.own_connection_id AS "ownConnectionId", a.network_transaction_id AS "networkTransactionId", a.method_id AS "methodId",
      m.handle_sealed AS "handleSealed", m.handle_hash AS "handleHash", t.session_id AS "knownSessionId", t.request_hash = $5 AS "isSame",
      (SELECT to_json(r) FROM app.renewal_refusal(a.id, $3, $6, $7, $8) r) AS refusal
    FROM agreement a LEFT JOIN payment_method m ON m.id = a.method_id
      LEFT JOIN renewal_try t ON t.agreement_id = a.id AND t.key_hash = $4
    WHERE a.id = $1 AND a.merchant_id = $2`,
};

/**
 * Opens the agreement's card for a new session, and takes the renewal with it. A renewal that is refused already opens
 * no card. The card may be replaced meanwhile; then the new one is opened.
 */
async function takeWithCard(
  core: Core,
  owner: SessionOwner,
  charge: KeyedCharge,
  isAgain = false,
): Promise<TakenCharge> {
  const { agreementId, merchantId, renewalRef, keyHash, requestHash, amountMinor, currency } = charge;
  const values = [agreementId, merchantId, renewalRef, keyHash, requestHash, amountMinor, currency, renewalTriesMax];
  const [found] = await core.database.query<Found>(selectAgreement, values);
  if (found === undefined) return { type: "not_found" };
  const { knownSessionId, isSame, refusal, methodId } = found;
  if (knownSessionId !== null) return { type: isSame ? "known" : "reused", sessionId: knownSessionId };
  if (refusal !== null) return { type: "refused", refusal };
  if (!hasRoom(core, merchantId)) throw unavailable();
  await waitForTurn(core);
  const sessionId = core.runtime.uuid();
  const token = await openCard(core, found, { sessionId, merchantId });
  if (token === undefined || methodId == null)
    return { type: "refused", refusal: { reason: "needs_card", other: null, until: null } };
  const planned = {
    ...charge,
    ...(await plan(core, found, charge, { sessionId, token })),
    sessionId,
    methodId,
    token,
    secretVersion: core.clientSecretKeys.current,
    sessionLifetimeMs: owner.sessionLifetimeMs,
    submissionBudgetMs: core.timing.submissionBudgetMs,
  };
  const free = await takeRenewal(core.database, planned);
  const taken = free.type === "blocked" ? await takeAndDecline(core, planned, free.by) : free;
  if (taken.type === "taken") return { ...taken, sessionId };
  core.vault.forget(sessionId);
  return taken.type === "changed" && !isAgain ? takeWithCard(core, owner, charge, true) : taken;
}

/** Takes a renewal that the merchant's block list stops, and declines it in the same transaction: no gateway is called. */
function takeAndDecline(core: Core, charge: PlannedCharge, by: Block): Promise<Taken> {
  const unasked = { ...charge, plan: brakedPlan(charge.plan, leftOut.blocked(by)), first: undefined };
  return core.database.transaction(async (tx) => {
    const taken = await takeRenewal(tx, unasked, { isGuarded: false });
    if (taken.type !== "taken") return taken;
    renewBlocked(tx, by, charge.fingerprint);
    const { sessionId: id, merchantId, amountMinor } = charge;
    const session = { id, merchantId, amountMinor, authentications: 0 };
    // A renewal in doubt after a restore is looked up first; then it ends without an attempt.
    if (!taken.isInDoubt) await settleSession(tx, core, session, { status: "DECLINED", declineCode: "blocked" });
    return taken;
  });
}

/** Returns the agreement's card as a token of the session; undefined if the vault has it no longer. */
async function openCard(
  core: Core,
  { methodId, handleSealed, handleHash }: Found,
  session: { readonly sessionId: SessionId; readonly merchantId: MerchantId },
) {
  const cards = core.vault.stored;
  if (cards === undefined)
    throw new DomainError("vault_cannot_store", "The card vault of this installation stores no cards.");
  if (methodId == null || handleSealed === null || handleHash === null) return undefined;
  const handle = unseal(core.sealing, handleAssociatedData(session.merchantId, handleHash), handleSealed);
  const opened = await cards.open({ ...session, handle, code: "none" });
  if (opened !== "lost") return opened.token;
  await loseCard(core, { merchantId: session.merchantId, methodId, handleHash });
  return undefined;
}

/** Plans the renewal by the merchant's rule, over the gateways that can continue the agreement. */
async function plan(
  core: Core,
  found: Found,
  charge: KeyedCharge,
  { sessionId, token }: Pick<Parameters<typeof takeRenewal>[1], "sessionId" | "token">,
) {
  const { merchantId, amountMinor, currency, details } = charge;
  const session = { id: sessionId, merchantId, amountMinor, currency, details: details as PaymentSession["details"] };
  const rule = await loadRoute(core, session);
  const { card, fingerprint } = await core.vault.checkToken({ sessionId: encodeId("ps", sessionId), token });
  const { route, routedBy } =
    rule.cases || rule.split
      ? followCases(rule, factsOf(core, session, rule, card))
      : { route: rule, routedBy: undefined };
  const planned = planRenewal(route, found, (gateway) => core.connectorOf(gateway)?.storedCards);
  const [to] = planned.plan;
  const opened = { session: { ...session, plan: planned.plan }, authentications: [] };
  const ruled = { ruleVersion: route.version, routedBy: routedBy ?? null };
  const first = to && nextOpening(core, opened, { to, because: because.first(ruled) });
  return { ruleVersion: route.version, plan: planned, routedBy, first, fingerprint };
}
