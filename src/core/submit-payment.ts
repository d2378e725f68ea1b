/**
 * THE FLOW: takes a submitted payment from its claim to its end, and resumes one whose process is gone. Every branch of a payment is in `processSession`.
 */
import type { Shopper } from "../gateways/connector.ts";
import type { DeclineCode } from "../gateways/declines.ts";
import { submissionsInFlightMax, submitPollMs, submitWaitMs } from "../limits.ts";
import { type CardFingerprint, credentialOf } from "../platform/card-token.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError, unreachable } from "../platform/errors.ts";
import { encodeId, type SessionId } from "../platform/ids.ts";
import { type Secret, sha256 } from "../platform/secrets.ts";
import { providerBefore } from "./authentication/after-provider.ts";
import { openProvider } from "./authentication/authenticated-attempts.ts";
import { askOutcome, completeAgain, completePayment, giveUp } from "./authentication/authentication-steps.ts";
import { sealShopper } from "./authentication/authentications.ts";
import { openProvided } from "./authentication/provided-rows.ts";
import {
  askProvider,
  endDeviceCheck,
  giveUpProvider,
  lookAtProvider,
  prepareProvider,
} from "./authentication/provider-steps.ts";
import { renewBlocked } from "./card-testing/blocked.ts";
import { type BrakedPlan, planPastNetwork, planWhileBraking } from "./card-testing/braked-plan.ts";
import { brakedPlan, ClaimRefused, countRefused } from "./card-testing/card-counts.ts";
import type { Core } from "./core.ts";
import { because, leftOut } from "./decide/because.ts";
import { nextStep } from "./decide/next-step.ts";
import { planAsked, planRoute, type Route } from "./decide/plan-route.ts";
import { followCases } from "./decide/routing-cases.ts";
import { endDecided } from "./execute/decisions.ts";
import { adoptIfHeld, captureWinner, markUnknown, tryGateway, voidHold } from "./execute/flow-steps.ts";
import { emitCaptureDue, lookAtHold } from "./execute/held-payments.ts";
import { findUnrecorded } from "./execute/unrecorded-attempts.ts";
import { commitAndReload, type Reloaded, type Work } from "./execute/work.ts";
import { endingOf, recordPayer } from "./orders/order-winner.ts";
import { recordCaptureOrdered, voidUnknown } from "./record/attempts.ts";
import {
  type Lease,
  LeaseLost,
  lockAndRenew,
  notClaimable,
  parkSession,
  renewLease,
  settingsChanged,
  takenOver,
  takeOverOne,
  takeOverSession,
} from "./record/lease.ts";
import { loadSession } from "./record/load-session.ts";
import { nextOpening, openNext } from "./record/open-attempt.ts";
import { type ByWallet, type Claim, claimSession, SettingsChanged } from "./record/payment-functions.ts";
import { defaultResend, factsOf, loadRoute } from "./record/routing-rules.ts";
import { closeSession, emitPending, settleSession } from "./record/settle.ts";
import type { PaymentSession, RoutedBy } from "./rows/entities.ts";
import { hasCryptogram, isAuthenticatedFirst, type Payment } from "./rows/payment.ts";
import {
  claimAndStore,
  prepareStoring,
  recordStoring,
  type StoringClaim,
  takeFirst,
} from "./stored-cards/claim-stored.ts";
import type { Submission } from "./submission.ts";
import { planWallet, routeOfPan } from "./wallets/plan-wallet.ts";

/**
 * Submits a payment and waits up to 20 s for its end, or until the customer has to act; the payment continues even when
 * the caller stops waiting. A repeat with the same token joins the running payment. Returns the session in its state
 * after the wait. Throws `token_not_found`, `token_expired` or `token_used` for a token that cannot pay the session,
 * which stays open; `already_submitted` when another token is already paying it; `session_expired`, `session_replaced`
 * and `session_ended` when it is too late; and `SettingsChanged` when `settings` are no longer the merchant's, or were
 * not compared because the claim was lost.
 */
export async function submitPayment(core: Core, submission: Submission): Promise<PaymentSession> {
  const { session, vaultToken, signal, payer } = submission;
  if (session.phase === "IDLE" && payer?.hasSucceeded === false)
    return (await loadSession(core.database, session.id)).session;
  const claimed = session.phase === "IDLE" ? await claim(core, submission) : lost;
  // The state of a session that this claim has not changed is shown to a page of today's settings only.
  if (claimed.type === "lost" && submission.settings !== undefined) throw new SettingsChanged(settingsChanged);
  const run = claimed.type === "kept" ? startProcessing(core, claimed.result, submission.shopper) : undefined;
  const submitted =
    claimed.type === "kept" ? claimed.result.reloaded.loaded : await loadSession(core.database, session.id);
  requireSameToken(submitted.session, vaultToken);
  // A hold ends the customer's part.
  const isOver = ({ status, heldAt, awaitingSince }: PaymentSession) =>
    status !== "CREATED" || heldAt != null || awaitingSince != null;
  return (await followSession(core, { payment: submitted, signal, run, isOver })).session;
}

/**
 * Work under a claim or a lease: its result, or the fact that it is dropped because another process has the session. If
 * this process still has it, `conflict` names the other change.
 */
type UnderLease<Result> =
  | { readonly type: "kept"; readonly result: Result }
  | { readonly type: "lost"; readonly conflict: string | undefined };

/** A claimed session, with its first attempt open if its plan has any. */
type Claimed = { readonly lease: Lease; readonly reloaded: Reloaded };

const lost = { type: "lost", conflict: undefined } as const;

/**
 * Claims the session and opens its first attempt in one transaction. Returns lost if another submission was first. If
 * the token needs a call to the vault, the call runs while the route is loaded.
 */
async function claim(core: Core, submission: Submission): Promise<UnderLease<Claimed>> {
  const { session, vaultToken, shopper } = submission;
  const sessionId = session.id;
  const asked = { sessionId: encodeId("ps", sessionId), token: vaultToken };
  const [rule, { state, card, fingerprint, wallet }, storing] = await Promise.all([
    loadRoute(core, session),
    core.vault.checkToken(asked),
    session.stored ? prepareStoring(core, submission) : undefined,
  ]);
  if (state !== "unused" && state !== "unknown") return refuseToken(core, sessionId, state);
  const { route, routedBy } =
    rule.cases || rule.split ? followCases(rule, factsOf(core, session, rule, card)) : { route: rule };
  const canAsk = shopper?.browser !== undefined;
  const counted = fingerprint?.isCounted ? fingerprint : undefined; // rule:card-counted
  // The customer is present and consents to charges without them, so the bank authenticates, unless the merchant leaves
  // that to its rule. A link's payment is authenticated whatever the rule says.
  const isMandated = storing?.recovering ?? (storing?.isMandate && !route.policy?.savingAsRule);
  const authenticated = isMandated ? planAsked(route, { canAsk }) : undefined;
  // The token's prefix tells the credential, also while the vault is silent.
  const credential = credentialOf(vaultToken.expose());
  const plan = credential
    ? planWallet(route, { ...wallet, credential }, { canAsk })
    : (authenticated ?? planRoute(route, { canAsk }));
  const byWallet = credential && { credential, resend: route.cryptogramResend ?? defaultResend, wallet: wallet?.name };
  // A device has authenticated its customer.
  const braked =
    rule.isBraking && counted && !hasCryptogram({ walletCredential: credential })
      ? await planWhileBraking(core, credential === "PAN" ? routeOfPan(route) : route, {
          merchantId: session.merchantId,
          card: counted,
          canAsk,
          plan,
        })
      : { plan, brakes: [] };
  const planned = { route, routedBy, fingerprint, counted, storing, byWallet, ...braked };
  const claimed = await underLease(claimAs(core, submission, planned));
  if (claimed.type === "lost") return claimed;
  const { epoch, ...reloaded } = claimed.result;
  return { type: "kept", result: { lease: { sessionId, epoch }, reloaded } };
}

/** A payment that is planned, its card, and the same where it is counted. */
type Planned = BrakedPlan & {
  readonly route: Route;
  readonly routedBy: RoutedBy | undefined;
  readonly fingerprint: CardFingerprint | undefined;
  readonly counted: CardFingerprint | undefined;
  readonly storing: StoringClaim | undefined;
  readonly byWallet: ByWallet | undefined;
  readonly isPastNetwork?: boolean | undefined;
};

/**
 * Claims the session by its plan. One that its card or its network refuses is declined, or planned once more. The epoch is the
 * claim's own: a session that is read after the commit may have been taken over since.
 */
async function claimAs(
  core: Core,
  submission: Submission,
  planned: Planned,
): Promise<Reloaded & { readonly epoch: number }> {
  const { session, vaultToken, requestId, shopper, network, settings } = submission;
  const { route, routedBy, fingerprint, counted, storing, byWallet, plan, brakes, isPastNetwork } = planned;
  const sessionId = session.id;
  const payer = submission.payer?.hasSucceeded ? submission.payer : undefined;
  const declineCode = payer ? "order_already_paid" : plan.declineCode;
  const [to] = plan.plan;
  const { submissionBudgetMs } = core.timing;
  const asking = { sessionId, vaultToken, ruleVersion: route.version, plan, routedBy, submissionBudgetMs, requestId };
  const browserSealed = isAuthenticatedFirst(plan.plan) ? sealShopper(core, sessionId, shopper) : undefined;
  const card = { fingerprint, isCounted: counted !== undefined, address: shopper?.shopperIp, network };
  const claim: Claim = { ...asking, browserSealed, ...card, brakes, isPastNetwork, settings, byWallet }; // rule:browser-kept
  const ruled = { ruleVersion: route.version, routedBy: routedBy ?? null };
  const opened = { session: { ...session, plan: plan.plan }, authentications: [] };
  const open = async () => {
    if (declineCode !== undefined) return claimAndDecline(core, submission, claim, declineCode);
    const provider = to?.providerFirst && providerBefore(opened, to);
    if (provider) {
      let epoch = 0;
      const reloaded = await commitAndReload(core, { sessionId }, async (tx) => {
        if (storing) await takeFirst(tx, storing);
        epoch = (await claimSession(tx, claim)).session.leaseEpoch;
        if (storing) await recordStoring(tx, storing);
        const asked = { sessionId, provider, because: because.providerFirst(ruled), shopper };
        return { openedAttemptId: openProvided(tx, core, asked) };
      });
      return { ...reloaded, epoch };
    }
    const first = to && nextOpening(core, opened, { to, because: because.first(ruled) });
    if (storing) return ownClaim(await claimAndStore(core, { claim, first, storing }));
    return ownClaim({ loaded: await claimSession(core.database, claim, first), openedAttemptId: first?.id });
  };
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof ClaimRefused)) throw error;
    const { by } = error;
    if (typeof by === "object") {
      const blocked = { ...claim, plan: brakedPlan(plan, leftOut.blocked(by)) };
      return claimAndDecline(core, submission, blocked, "blocked", (tx) => renewBlocked(tx, by, fingerprint));
    }
    const paying = {
      merchantId: session.merchantId,
      card: counted!,
      canAsk: shopper?.browser !== undefined,
      plan,
      brakes,
    };
    const isAuthenticated = hasCryptogram({ walletCredential: byWallet?.credential });
    const past =
      by !== "network" ? undefined : isAuthenticated ? { plan, brakes } : await planPastNetwork(core, route, paying);
    if (past) return claimAs(core, submission, { ...planned, ...past, isPastNetwork: true });
    const braked = { ...claim, plan: brakedPlan(plan, leftOut[by]) };
    const refused = by === "declines" ? counted : undefined;
    return claimAndDecline(core, submission, braked, "too_many_attempts", (tx) => {
      if (refused) countRefused(tx, session, refused);
    });
  }
}

/** Returns a claim whose session is as the claim has left it. */
function ownClaim(reloaded: Reloaded) {
  return { ...reloaded, epoch: reloaded.loaded.session.leaseEpoch };
}

/** Claims a session and declines it in one transaction: no gateway is called, and the card gets no further count. */
async function claimAndDecline(
  core: Core,
  { session: { id, merchantId, amountMinor }, payer }: Submission,
  claim: Claim,
  declineCode: DeclineCode,
  also: (tx: Tx) => void = () => {},
) {
  const declined = await commitAndReload(core, { sessionId: id }, async (tx) => {
    await claimSession(tx, { ...claim, isDeclined: true });
    also(tx);
    if (declineCode === "order_already_paid") recordPayer(tx, id, payer!.sessionId);
    const unasked = { id, merchantId, amountMinor, authentications: 0 };
    return { loaded: await settleSession(tx, core, unasked, { status: "DECLINED", declineCode }) };
  });
  return ownClaim(declined);
}

// Raised by app.require_one (src/migrations/environment/base.sql).
const leaseLostCode = "LL001";

/**
 * Waits for work under a claim or a lease. It is lost when a row that it requires has changed: another process has the
 * lease, the session has another winner, or the attempt has moved on. Every other failure rejects.
 */
async function underLease<Result>(work: Promise<Result>): Promise<UnderLease<Result>> {
  try {
    return { type: "kept", result: await work };
  } catch (error) {
    const isLost = error instanceof LeaseLost || (error as { code?: unknown }).code === leaseLostCode;
    if (!isLost) throw error;
    const { message } = error as Error;
    return { type: "lost", conflict: message === notClaimable || message === takenOver ? undefined : message };
  }
}

/**
 * Refuses a token that cannot pay, and leaves the session open for another one. The claim is lost when the session was
 * submitted or has ended meanwhile: the token of that submission is used by then.
 */
async function refuseToken(
  core: Core,
  sessionId: SessionId,
  token: "not_found" | "expired" | "used" | "code_missing",
): Promise<typeof lost> {
  const { session, readAt } = await loadSession(core.database, sessionId);
  if (session.phase !== "IDLE" || session.expiresAt <= readAt) return lost;
  switch (token) {
    case "not_found":
      throw new DomainError("token_not_found", "The vault has no such card for this session; create another token.");
    case "expired":
      throw new DomainError("token_expired", "The vault no longer keeps this card; create another token.");
    case "used":
      throw new DomainError("token_used", "This token was already used for a payment; create another one.");
    case "code_missing":
      throw new DomainError("security_code_required", "The stored card needs its security code; enter it in the form.");
    default:
      return unreachable(token);
  }
}

function requireSameToken(session: PaymentSession, vaultToken: Secret): void {
  if (session.tokenHash && sha256(vaultToken.expose()).equals(session.tokenHash)) return;
  if (session.replacedBy)
    throw new DomainError("session_replaced", "The payment was continued in another session; this one takes no card.");
  if (session.status === "EXPIRED" || session.phase === "IDLE") {
    throw new DomainError(
      "session_expired",
      "The session expired, or was cancelled, before it was submitted; create a new one.",
    );
  }
  if (session.status === "CREATED") {
    throw new DomainError("already_submitted", "The session is being paid with another card; wait for its outcome.");
  }
  throw new DomainError("session_ended", "The session has ended; create a new one to pay with another card.");
}

/** Waits until a session is over in the caller's sense, for at most 20 s. Returns its payment as it stands then. */
export async function followSession(
  core: Core,
  followed: {
    readonly payment: Payment;
    readonly signal: AbortSignal;
    readonly run: Promise<Payment | undefined> | undefined;
    readonly isOver: (session: PaymentSession) => boolean;
  },
): Promise<Payment> {
  const { signal, run, isOver } = followed;
  let { payment } = followed;
  for (let waitedMs = 0; !isOver(payment.session) && waitedMs < submitWaitMs; waitedMs += submitPollMs) {
    if (signal.aborted) break;
    const ownRun = run && core.inFlight.has(run) ? [run] : [];
    const ended = await Promise.race([core.sleep(submitPollMs, signal), ...ownRun]);
    payment = ended ?? (await loadSession(core.database, payment.session.id));
  }
  return payment;
}

/**
 * Runs `processSession` in the background. Resolves to the payment when it has ended under this lease; to undefined
 * when it waits, another process has it, or a conflict or an error stopped it: recovery resumes it once its lease has
 * lapsed.
 */
export function startProcessing(
  core: Core,
  { lease, reloaded }: { lease: Lease; reloaded?: Reloaded },
  shopper?: Shopper,
): Promise<Payment | undefined> {
  const { sessionId } = lease;
  const traced = { of: { session: sessionId }, facts: () => ({ sessionId: encodeId("ps", sessionId) }) };
  const run = core.tracing
    .span("payment.process", traced, () => underLease(processSession({ core, lease, shopper }, reloaded)))
    .then((processed) => {
      if (processed.type === "kept") return processed.result;
      const { conflict: reason } = processed;
      if (reason) core.log.warn({ sessionId, reason }, "work on the session was dropped; recovery will resume it");
      return undefined;
    })
    .catch((error: unknown) => {
      core.log.error({ err: error, sessionId }, "processing stopped; recovery will resume it");
      return undefined;
    })
    .finally(() => core.inFlight.delete(run));
  core.inFlight.add(run);
  return run;
}

/**
 * Takes over lapsed sessions and starts to work on them, as many as this process can hold. `core.inFlight` contains
 * them until they wait or have ended. Returns the number of sessions taken over.
 */
export async function recoverSessionsOnce(core: Core): Promise<number> {
  let taken = 0;
  while (core.inFlight.size < submissionsInFlightMax) {
    const lease = await takeOverSession(core.database);
    if (lease === undefined) break;
    void startProcessing(core, { lease });
    taken++;
  }
  return taken;
}

/** Resumes a session at once if it is due, rather than with the next turn of recovery. */
export async function resumeSession(core: Core, sessionId: SessionId): Promise<void> {
  const lease = await takeOverOne(core.database, sessionId);
  if (lease !== undefined) void startProcessing(core, { lease });
}

function inTransaction(
  { core, lease }: Work,
  change: (tx: Tx, session: PaymentSession) => Promise<void>,
): Promise<void> {
  return core.database.transaction(async (tx) => change(tx, (await lockAndRenew(tx, lease)).session));
}

const emits = { emitPending, emitCaptureDue };

/**
 * Takes a session from the state in its rows to its end, which it returns, or until it has to wait; the lease then
 * lapses at the end of the wait. `from` is the state to which the caller has brought the session under this lease.
 */
async function processSession(
  { core, lease, shopper }: Omit<Work, "loaded">,
  from?: Reloaded,
): Promise<Payment | undefined> {
  let reloaded = from;
  for (;;) {
    const { loaded, openedAttemptId }: Reloaded = reloaded ?? {
      loaded: await loadSession(core.database, lease.sessionId),
    };
    if (loaded.session.leaseEpoch !== lease.epoch) return undefined; // rule:lease-epoch
    if (loaded.session.phase === "DONE") return loaded;
    const work: Work = { core, lease, loaded, shopper };
    const step = nextStep(loaded, openedAttemptId);
    reloaded = undefined;
    switch (step.type) {
      case "open":
      case "openProvider":
        reloaded = await commitAndReload(core, lease, async (tx) => {
          renewLease(tx, lease);
          const isAttempt = step.type === "open";
          return { openedAttemptId: isAttempt ? openNext(tx, core, loaded, step) : await openProvider(tx, work, step) };
        });
        break;
      case "authorize":
        reloaded = await tryGateway(work, step.attempt);
        break;
      case "complete":
        reloaded = await completePayment(work, step);
        break;
      case "completeAgain":
        reloaded = await completeAgain(work, step);
        break;
      case "askOutcome":
        reloaded = await askOutcome(work, step);
        break;
      case "giveUp":
        reloaded = await giveUp(work, step, step.as);
        break;
      case "prepareProvider":
        reloaded = await prepareProvider(work, step.authentication);
        break;
      case "endDeviceCheck":
        reloaded = await endDeviceCheck(work, step.authentication);
        break;
      case "askProvider":
        reloaded = await askProvider(work, step.authentication);
        break;
      case "lookAtProvider":
        reloaded = await lookAtProvider(work, step.authentication);
        break;
      case "giveUpProvider":
        reloaded = await giveUpProvider(work, step.authentication, step.as);
        break;
      case "markUnknown":
        await markUnknown(work, step.attempt);
        break;
      case "findUnrecorded":
        await findUnrecorded(work);
        break;
      case "lookUp":
        await adoptIfHeld(work, step.attempt);
        break;
      case "orderCapture":
        await inTransaction(work, async (tx) => recordCaptureOrdered(tx, step.attempt));
        break;
      case "lookAtHold":
        await lookAtHold(work, step.attempt);
        break;
      case "capture":
        reloaded = await captureWinner(work, step.attempt);
        break;
      case "void":
        await voidHold(work, step.attempt);
        break;
      case "endDecided":
        await endDecided(work, step.attempt);
        break;
      case "emitPending":
      case "emitCaptureDue":
        await inTransaction(work, (tx, session) => emits[step.type](tx, core, session));
        break;
      case "end":
        await inTransaction(work, async (tx, session) => {
          voidUnknown(tx, session.id); // rule:end-voids-unknown
          await settleSession(tx, core, session, await endingOf(tx, session, step));
        });
        break;
      case "wait":
        await inTransaction(work, (tx) => parkSession(tx, lease, loaded, step.until));
        return undefined;
      case "close":
        await inTransaction(work, (tx, session) => closeSession(tx, session.id));
        return undefined;
      default:
        return unreachable(step);
    }
  }
}
