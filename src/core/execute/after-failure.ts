/** Records that an attempt has failed, and opens what follows it: the next one, a repeat, or a provider's authentication. */

import type { CardSummary } from "../../card-vault/card-vault.ts";
import type { AuthorizeAnswer, GatewayOutcome, NotProcessed } from "../../gateways/connector.ts";
import type { Tx } from "../../platform/database.ts";
import { unreachable } from "../../platform/errors.ts";
import type { AttemptId, AuthenticationId } from "../../platform/ids.ts";
import { providerBefore } from "../authentication/after-provider.ts";
import { findRepeat, openProvider } from "../authentication/authenticated-attempts.ts";
import { because, type NoCard } from "../decide/because.ts";
import type { FailoverDecision, Failure } from "../decide/failover.ts";
import { decideAfterFailure } from "../decide/next-step.ts";
import {
  isReferenceTaken,
  recordDeclined,
  recordFailed,
  recordUnknown,
  refusalOf,
  storableCode,
} from "../record/attempts.ts";
import { lockAndRenew } from "../record/lease.ts";
import { nextOpening, openNext } from "../record/open-attempt.ts";
import { type FailedOver, recordFailedAndOpened } from "../record/payment-functions.ts";
import { loadFailoverRule } from "../record/routing-rules.ts";
import { countUnclassified } from "../record/unclassified-codes.ts";
import type { Attempt } from "../rows/entities.ts";
import { hasCryptogram } from "../rows/payment.ts";
import { actOnDecline, whyNoFurtherTry } from "../stored-cards/renewals/record-decline.ts";
import type { Changed, Reloaded, Work } from "./work.ts";

/**
 * Records a failed authorization and opens the plan's next attempt in one statement. Returns undefined, and records nothing, where
 * more than the plan decides what follows.
 */
export async function failOver(
  work: Work,
  attempt: Attempt,
  { outcome, card, authenticated }: AuthorizeAnswer,
): Promise<Reloaded | undefined> {
  const { core, lease, loaded } = work;
  if (outcome.type === "held" || outcome.type === "actionNeeded" || loaded.authentications.length > 0) return undefined;
  // The decline of a stored card says more, and a cryptogram has its own rule for a second use.
  if (loaded.session.stored || hasCryptogram(loaded.session)) return undefined;
  if (outcome.type === "unknown" && outcome.gatewayReference !== undefined) return undefined;
  // A repeat with authentication follows a stop, and a gateway may have authenticated the customer of a declined payment.
  if (authenticated !== undefined || loaded.attempts.some(({ stop }) => stop !== null)) return undefined;
  const { merchantId, ruleVersion } = loaded.session;
  const ruled = { merchantId, version: ruleVersion ?? 0 };
  const rule = await core.hold(`rule ${merchantId} ${ruled.version}`, () => loadFailoverRule(core.database, ruled));
  const failure = { gateway: attempt.gateway, ...failureOf(outcome), ...mayTryAgain(work, attempt, outcome) };
  const decided = decideAfterFailure(loaded, failure, rule);
  if (decided.action !== "failover") return undefined;
  if (decided.to.providerFirst && providerBefore(loaded, decided.to) !== undefined) return undefined;
  const next = nextOpening(core, loaded, decided);
  const failed = { loaded, attempt, as: endOf(outcome), because: decided.because, card, next };
  const reloaded = await recordFailedAndOpened(core.database, lease, failed);
  if (reloaded === undefined) return undefined;
  core.observer?.failedOver(attempt.gateway);
  return { loaded: reloaded, openedAttemptId: next.id };
}

function endOf(outcome: Failed): FailedOver {
  const none = { declineCode: null, gatewayCode: null, refusal: null };
  switch (outcome.type) {
    case "declined": {
      const { kind, declineCode, gatewayCode } = outcome;
      return { ...none, status: "DECLINED", failureKind: kind, declineCode, gatewayCode: storableCode(gatewayCode) };
    }
    case "notProcessed":
      return { ...none, status: "FAILED", failureKind: "GATEWAY_ERROR", ...refusalOf(outcome) };
    case "unknown":
      return { ...none, status: "UNKNOWN", failureKind: outcome.kind, ...refusalOf(outcome.notProcessed) };
    default:
      return unreachable(outcome);
  }
}

/**
 * Records a failed authorization, and opens what follows it, if anything. `end` records the end of the attempt's
 * authentication: a session has one that is open.
 */
export async function recordAndContinue(
  tx: Tx,
  work: Work,
  attempt: Attempt,
  outcome: Failed,
  { card, end }: { readonly card?: CardSummary | undefined; readonly end: () => void },
): Promise<Changed> {
  const { core } = work;
  const failure = { ...failureOf(outcome), ...mayTryAgain(work, attempt, outcome) };
  const decided = await lockAndDecide(tx, work, attempt, failure, card);
  const next = work.loaded.session.stored ? await afterStoredFailure(tx, work, outcome, decided) : decided;
  await recordFailure(tx, attempt, outcome, next);
  end();
  if (next.action === "stop") return {};
  if (next.action === "failover") tx.afterCommit(() => core.observer?.failedOver(attempt.gateway));
  if (next.action === "failover" && next.opensLater) return {};
  return { openedAttemptId: await openAfter(tx, work, next) };
}

/** Opens what follows a failed attempt: the next one, or a provider's authentication. */
export async function openAfter(
  tx: Tx,
  work: Work,
  next: Exclude<FailoverDecision, { action: "stop" }>,
): Promise<AttemptId | AuthenticationId> {
  const { core, loaded } = work;
  const isFirst = next.action === "failover" && next.to.providerFirst;
  const first = isFirst ? providerBefore(loaded, next.to) : undefined;
  if (first) return openProvider(tx, work, { provider: first, because: because.providerFirst(loaded.session) });
  const provider = next.action === "authenticate" ? next.provider : undefined;
  if (provider) return openProvider(tx, work, { provider, because: because.askedForAuthentication(next.to) });
  return openNext(tx, core, loaded, next);
}

/** Acts on the failure of a stored card, which may allow no further try of a renewal. */
async function afterStoredFailure(
  tx: Tx,
  { core, loaded: { session } }: Work,
  outcome: Failed,
  decided: FailoverDecision,
): Promise<FailoverDecision> {
  if (outcome.type === "declined") await actOnDecline(tx, core, session, outcome);
  if (decided.action === "stop" || session.namedBy === null) return decided;
  const whyNot = await whyNoFurtherTry(tx, session);
  return whyNot === undefined ? decided : { action: "stop", because: whyNot };
}

type Failed = Exclude<GatewayOutcome, { type: "held" | "actionNeeded" }>;

function failureOf(outcome: Failed): Omit<Failure, "gateway"> {
  switch (outcome.type) {
    case "declined":
      return { kind: outcome.kind, stop: outcome.stop === "none" ? undefined : outcome.stop };
    case "notProcessed":
      return { kind: "GATEWAY_ERROR", noCard: noCardOf(outcome), ...refusalOf(outcome) };
    case "unknown": {
      const { kind, lostAtVault, notProcessed } = outcome;
      return { kind, mayHaveActed: true, noCard: lostAtVault && "vault_unavailable", ...refusalOf(notProcessed) };
    }
    default:
      return unreachable(outcome);
  }
}

/**
 * Returns the connection that declined, if it may get the payment once more: it documents that for this decline, and
 * the payment was not retried before. A decline is certain: it holds nothing. A gateway that challenged the customer is
 * not retried: it would do so again.
 */
function mayTryAgain({ loaded }: Work, attempt: Attempt, outcome: Failed): Pick<Failure, "again"> {
  if (outcome.type !== "declined" || !outcome.again || outcome.stop !== "none") return {}; // rule:retry-as-allowed
  const isRetried = loaded.attempts.some(({ round }) => round === 2); // rule:retry-once
  const wasAsked = loaded.authentications.some(({ attemptId }) => attemptId === attempt.id);
  return isRetried || attempt.round !== 0 || wasAsked ? {} : { again: attempt };
}

function noCardOf({ cause }: NotProcessed): NoCard | undefined {
  return cause === "vault_unavailable" || cause === "token_unusable" ? cause : undefined;
}

async function recordFailure(tx: Tx, attempt: Attempt, outcome: Failed, next: FailoverDecision): Promise<void> {
  switch (outcome.type) {
    case "declined":
      recordDeclined(tx, attempt, outcome, next);
      return countUnclassified(tx, attempt, outcome);
    case "notProcessed":
      return recordFailed(tx, attempt, outcome, next);
    case "unknown": {
      const { gatewayReference, notProcessed } = outcome;
      const isOurs = gatewayReference !== undefined && !(await isReferenceTaken(tx, attempt, gatewayReference));
      return recordUnknown(tx, attempt, outcome.kind, {
        next,
        gatewayReference: isOurs ? gatewayReference : undefined,
        notProcessed,
      });
    }
    default:
      return unreachable(outcome);
  }
}

/** Locks the session and decides, from its current state, what follows a failure of this attempt. */
export async function lockAndDecide(
  tx: Tx,
  work: Work,
  attempt: Attempt,
  failure: Omit<Failure, "gateway">,
  card?: CardSummary,
): Promise<FailoverDecision> {
  const { lease, loaded } = work;
  const { merchantId, ruleVersion } = loaded.session;
  const [{ session, now }, rule] = await Promise.all([
    lockAndRenew(tx, lease, card),
    loadFailoverRule(tx, { merchantId, version: ruleVersion ?? 0 }),
  ]);
  const repeat = failure.stop === "authentication_required" ? await findRepeat(work, attempt) : {};
  const described = { gateway: attempt.gateway, ...failure, ...repeat };
  const { authentication = rule.authentication } = session.routedBy ?? {};
  return decideAfterFailure({ ...loaded, session, readAt: now }, described, { ...rule, authentication });
}
