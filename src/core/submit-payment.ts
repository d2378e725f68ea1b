/** THE FLOW: a submitted payment from its claim to its end. Read this first; every branch of a payment is in `processSession`. */
import type { Shopper } from "../gateways/connector.ts";
import { submitPollMs, submitWaitMs } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { type Secret, sha256 } from "../platform/secrets.ts";
import { recordCaptureOrdered, voidUnknown } from "./attempts.ts";
import { captureWinner } from "./capture-steps.ts";
import type { Core } from "./core.ts";
import type { PaymentSession } from "./entities.ts";
import {
  adoptIfHeld,
  giveBack,
  giveUpWaiting,
  openNext,
  type Reached,
  reach,
  tryGateway,
  type Work,
} from "./flow-steps.ts";
import { claimSession, holdSession, isLeaseLost, type Lease, lockSession, parkSession } from "./lease.ts";
import { loadRoute } from "./load-route.ts";
import { findLost } from "./lost-attempts.ts";
import { becauseFirst, nextStep } from "./next-step.ts";
import { planRoute } from "./routing.ts";
import { loadSession } from "./session-trail.ts";
import { closeSession, settleSession, tellPending } from "./settle.ts";

/** A customer's card for a session, as it was read a moment ago, and how long its page is there to hear of it. */
export type Submission = {
  readonly session: Pick<PaymentSession, "id" | "merchantId" | "phase" | "amountMinor" | "currency">;
  readonly vaultToken: Secret;
  readonly signal: AbortSignal;
  /** Of the API request, for whoever asks about it later. */
  readonly requestId?: string | undefined;
  /** Told to the gateways and kept nowhere: whoever takes the session over does without. */
  readonly shopper?: Shopper | undefined;
};

/**
 * Submits a payment and waits up to 20 s for its end; the payment goes on whether or not anybody waits. A repeat with
 * the same token joins. Returns the session as it then stands. Throws `already_submitted` for another token,
 * `session_expired` and `session_ended` when it is too late.
 */
export async function submitPayment(core: Core, submission: Submission): Promise<PaymentSession> {
  const { session, vaultToken, signal } = submission;
  const claimed = session.phase === "IDLE" ? await claim(core, submission) : undefined;
  const run = claimed && startProcessing(core, claimed.lease, { ...claimed.reached, shopper: submission.shopper });
  const { session: submitted } = claimed?.reached.trail ?? (await loadSession(core.database, session.id));
  requireSameToken(submitted, vaultToken);
  return waitForEnd(core, submitted, signal, run);
}

/** Claims the session and opens its first attempt, in one transaction; undefined when somebody else was first. */
async function claim(
  core: Core,
  { session, vaultToken, requestId }: Submission,
): Promise<{ lease: Lease; reached: Reached } | undefined> {
  const route = await loadRoute(core, session);
  const plan = planRoute(route);
  const sessionId = session.id;
  const { submissionBudgetMs } = core.timing;
  try {
    const reached = await reach(core, { sessionId }, (tx) => {
      claimSession(tx, { sessionId, vaultToken, ruleVersion: route.version, plan, submissionBudgetMs, requestId });
      const [to] = plan.plan;
      const because = becauseFirst({ ruleVersion: route.version });
      return to && openNext(tx, core, session, { to, because });
    });
    return { lease: { sessionId, epoch: reached.trail.session.leaseEpoch }, reached };
  } catch (error) {
    if (isLeaseLost(error)) return undefined;
    throw error;
  }
}

function requireSameToken(session: PaymentSession, vaultToken: Secret): void {
  if (session.tokenHash && sha256(vaultToken.expose()).equals(session.tokenHash)) return;
  if (session.status === "EXPIRED" || session.phase === "IDLE") {
    throw new DomainError("session_expired", "The session expired before it was submitted; create a new one.");
  }
  if (session.status === "CREATED") {
    throw new DomainError("already_submitted", "The session is being paid with another card; wait for its outcome.");
  }
  throw new DomainError("session_ended", "The session has ended; create a new one to pay with another card.");
}

async function waitForEnd(
  core: Core,
  submitted: PaymentSession,
  signal: AbortSignal,
  run?: Promise<PaymentSession | undefined>,
): Promise<PaymentSession> {
  let session = submitted;
  for (let waitedMs = 0; session.status === "CREATED" && waitedMs < submitWaitMs; waitedMs += submitPollMs) {
    if (signal.aborted) break;
    const ownRun = run && core.inFlight.has(run) ? [run] : [];
    const ended = await Promise.race([core.sleep(submitPollMs, signal), ...ownRun]);
    session = ended ?? (await loadSession(core.database, session.id)).session;
  }
  return session;
}

/** Where a submission has brought its session, and whose it is. */
type Begun = Reached & { readonly shopper?: Shopper | undefined };

/** Works on a session in the background, as `processSession`. An error leaves it to recovery, once the lease has lapsed. */
export function startProcessing(core: Core, lease: Lease, from?: Begun): Promise<PaymentSession | undefined> {
  const { sessionId } = lease;
  const traced = { of: { session: sessionId }, facts: () => ({ sessionId: encodeId("ps", sessionId) }) };
  const run = core.tracing
    .span("payment.process", traced, () => processSession(core, lease, from))
    .catch((error: unknown) => {
      if (isLeaseLost(error)) return undefined;
      core.log.error({ err: error, sessionId }, "processing stopped; recovery will take it up");
      return undefined;
    })
    .finally(() => core.inFlight.delete(run));
  core.inFlight.add(run);
  return run;
}

function inTransaction(
  { core, lease }: Work,
  change: (tx: Tx, session: PaymentSession) => Promise<void>,
): Promise<void> {
  return core.database.transaction(async (tx) => change(tx, (await lockSession(tx, lease)).session));
}

/**
 * Takes a session from wherever its rows say it is to its end, which is returned, or to a moment at which it has to wait;
 * then the lease is left to lapse at that moment. `from` is where the caller has brought it under this lease.
 */
export async function processSession(core: Core, lease: Lease, from?: Begun): Promise<PaymentSession | undefined> {
  let reached = from;
  for (;;) {
    const { trail, opened }: Reached = reached ?? { trail: await loadSession(core.database, lease.sessionId) };
    if (trail.session.leaseEpoch !== lease.epoch) return undefined;
    if (trail.session.phase === "DONE") return trail.session;
    const work: Work = { core, lease, trail, shopper: from?.shopper };
    const step = nextStep(trail, opened);
    reached = undefined;
    switch (step.type) {
      case "open":
        reached = await reach(core, lease, (tx) => {
          holdSession(tx, lease);
          return openNext(tx, core, trail.session, step);
        });
        break;
      case "authorize":
        reached = await tryGateway(work, step.attempt);
        break;
      case "giveUpWaiting":
        await giveUpWaiting(work, step.attempt);
        break;
      case "findLost":
        await findLost(work);
        break;
      case "lookUp":
        await adoptIfHeld(work, step.attempt);
        break;
      case "orderCapture":
        await inTransaction(work, async (tx) => recordCaptureOrdered(tx, step.attempt));
        break;
      case "capture":
        reached = await captureWinner(work, step.attempt);
        break;
      case "void":
        await giveBack(work, step.attempt);
        break;
      case "tellPending":
        await inTransaction(work, (tx, session) => tellPending(tx, core, session));
        break;
      case "end":
        await inTransaction(work, async (tx, session) => {
          voidUnknown(tx, session.id);
          await settleSession(tx, core, session, step);
        });
        break;
      case "wait":
        await inTransaction(work, (tx) => parkSession(tx, lease, step.until));
        return undefined;
      case "close":
        await inTransaction(work, (tx, session) => closeSession(tx, session.id));
        return undefined;
    }
  }
}
