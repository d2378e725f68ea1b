/**
 * The steps of a session whose customer a provider authenticates. As in flow-steps.ts, each is a call, a transaction, or
 * a call followed by a transaction. None of them moves money.
 */
import type {
  AuthenticationRequest,
  Prepared,
  ProviderAnswer,
  ProviderResult,
  Unavailable,
} from "../../gateways/authentication-provider.ts";
import { followUpTimeoutMs } from "../../limits.ts";
import type { Tx } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { type Changed, commitAndReload, type Reloaded, type Work } from "../execute/work.ts";
import { lockAndRenew, watchLease } from "../record/lease.ts";
import type { Authentication, PaymentSession, PlannedConnection } from "../rows/entities.ts";
import { mandateOf } from "../stored-cards/gateway-use.ts";
import { endOfProvided } from "./after-provider.ts";
import { findShopper, isGivenUp } from "./authentications.ts";
import {
  endProvided,
  endWithoutResult,
  type KeptForProvider,
  loadAcquirer,
  loadKept,
  postponeProviderLook,
  recordChallenge,
  recordMethod,
  recordRequesting,
} from "./provided-rows.ts";

const unbound: Unavailable = {
  type: "unavailable",
  reason: "this installation has no such provider, or not its credentials",
};

async function bind(core: Core, { connectionId, provider, credentialVersion }: Authentication) {
  const bound = await core.bindProvider(connectionId, provider ?? "", credentialVersion ?? 0);
  return bound && { ...bound, call: { credentials: bound.credentials, timeoutMs: followUpTimeoutMs } };
}

/** Logs why an answer is unusable. Records the health of a provider that was called: it is left out while its calls fail. */
function note(
  core: Core,
  { sessionId, connectionId, provider }: Authentication,
  { answer, isSent }: { readonly answer: Prepared | ProviderAnswer | ProviderResult; readonly isSent: boolean },
): void {
  const isUnavailable = answer.type === "unavailable";
  if (isUnavailable) {
    core.log.info({ sessionId, reason: answer.reason }, "the provider cannot authenticate this card");
  }
  // An unknown card is an answer.
  const health = isUnavailable && answer.isOutage ? "failed" : "answered";
  if (isSent) core.circuitBreaker.record(connectionId, health, core.runtime.now(), provider ?? "");
}

function cardOf(session: PaymentSession) {
  return {
    vaultToken: new Secret(session.vaultToken ?? ""),
    sessionId: encodeId("ps", session.id),
    customerName: session.details?.customerName,
  };
}

/** Asks the provider which version and device check the card has, and records what comes first. */
export async function prepareProvider(work: Work, authentication: Authentication): Promise<Reloaded> {
  const { core, lease, loaded } = work;
  const bound = await bind(core, authentication);
  const returnUrl = core.returnUrlOf({ sessionId: lease.sessionId, id: authentication.id, isProvided: true });
  const answer: Prepared =
    bound === undefined ? unbound : await bound.connector.prepare(bound.call, { ...cardOf(loaded.session), returnUrl });
  note(core, authentication, { answer, isSent: bound !== undefined });
  return commitAndReload(core, lease, async (tx): Promise<Changed> => {
    await lockAndRenew(tx, lease);
    if (answer.type === "unavailable") {
      endWithoutResult(tx, authentication, "UNAVAILABLE");
      return {};
    }
    const { keep, network, method } = answer;
    if (method !== undefined) {
      recordMethod(tx, core, authentication, method, { keep, network, methodIndicator: "N" });
      return {};
    }
    recordRequesting(tx, core, authentication, { keep, network, methodIndicator: "U" });
    return { openedAttemptId: authentication.id };
  });
}

/** Ends the device check, which has reported or has taken too long, and commits the request. */
export async function endDeviceCheck({ core, lease }: Work, authentication: Authentication): Promise<Reloaded> {
  const kept = await loadKept(core, authentication);
  return commitAndReload(core, lease, async (tx): Promise<Changed> => {
    await lockAndRenew(tx, lease);
    if (await isGivenUp(tx, authentication)) return {};
    recordRequesting(tx, core, authentication, {
      ...kept,
      methodIndicator: authentication.answeredAt === null ? "N" : "Y",
    });
    return { openedAttemptId: authentication.id };
  });
}

/**
 * Sends the committed request, once: a process that was stopped for longer than its lease sends none. Without a usable
 * answer the next step asks for the result.
 */
export async function askProvider(work: Work, authentication: Authentication): Promise<Reloaded> {
  const { core, lease } = work;
  const [requireLease, kept] = await Promise.all([watchLease(core, lease), loadKept(core, authentication)]);
  const [bound, request] = await Promise.all([bind(core, authentication), requestOf(work, authentication, kept)]);
  const isSent = bound !== undefined && request.type === "request";
  requireLease();
  const answer = isSent
    ? await bound.connector.authenticate(bound.call, request)
    : request.type === "request"
      ? unbound
      : request;
  note(core, authentication, { answer, isSent });
  return commitAndReload(core, lease, async (tx) => {
    await lockAndRenew(tx, lease);
    // The bank may have answered all the same. The lease is renewed for the next call.
    if (isSent && answer.type === "unavailable") return {};
    return recordAnswer(tx, work, authentication, { answer, kept });
  });
}

/** Returns the request, or why there is none. */
async function requestOf(
  { core, lease, loaded, shopper: submitted }: Work,
  authentication: Authentication,
  kept: KeptForProvider,
): Promise<(AuthenticationRequest & { readonly type: "request" }) | Unavailable> {
  const { session } = loaded;
  const [shopper, acquirer] = await Promise.all([
    findShopper(core, session, submitted),
    findAcquirer(core, session.plan ?? [], kept.network ?? ""),
  ]);
  if (shopper?.browser === undefined) return none("the page has sent no data of the browser");
  if (acquirer === undefined) return none(`no gateway has its acquirer's data for ${kept.network ?? "the card"}`);
  return {
    type: "request",
    ...cardOf(session),
    amountMinor: session.amountMinor,
    currency: session.currency,
    keep: kept.keep,
    methodIndicator: kept.methodIndicator,
    isMandated: loaded.attempts.length > 0,
    mandate: mandateOf(loaded.stored),
    browser: shopper.browser,
    returnUrl: core.returnUrlOf({ sessionId: lease.sessionId, id: authentication.id, isProvided: true }),
    purchasedAt: session.submittedAt ?? session.createdAt,
    customerEmail: session.customerEmail ?? undefined,
    billingAddress: session.details?.billingAddress,
    shopperIp: shopper.shopperIp,
    shopperUserAgent: shopper.shopperUserAgent,
    acquirer,
  };
}

// This is not the provider's fault, so it does not count in the provider's health.
function none(reason: string): Unavailable {
  return { type: "unavailable", reason };
}

/**
 * Returns the data of the first gateway that gets the proof and has them for this network. After an acquirer that
 * accepts only its own there is no other.
 */
async function findAcquirer(
  { database }: Core,
  plan: readonly PlannedConnection[],
  network: string,
): Promise<AuthenticationRequest["acquirer"] | undefined> {
  for (const { connectionId } of plan.filter(({ provider }) => provider !== undefined)) {
    const acquirer = await loadAcquirer(database, connectionId);
    if (acquirer === undefined) continue;
    const { mcc, country, merchantName, networks, acceptsOwnOnly } = acquirer;
    const own = networks[network];
    if (own !== undefined) return { mcc, country, merchantName, ...own };
    if (acceptsOwnOnly) return undefined;
  }
  return undefined;
}

/** Asks the provider for the result: of a challenge, or of a request whose answer another process has lost. */
export async function lookAtProvider(work: Work, authentication: Authentication): Promise<Reloaded> {
  const { core, lease } = work;
  const kept = await loadKept(core, authentication);
  const bound = await bind(core, authentication);
  const answer = bound === undefined ? unbound : await bound.connector.result(bound.call, kept.keep, kept.returned);
  note(core, authentication, { answer, isSent: bound !== undefined });
  return commitAndReload(core, lease, async (tx) => {
    await lockAndRenew(tx, lease);
    return recordAnswer(tx, work, authentication, { answer, kept });
  });
}

async function recordAnswer(
  tx: Tx,
  { core, loaded }: Work,
  authentication: Authentication,
  { answer, kept }: { readonly answer: ProviderAnswer | ProviderResult; readonly kept: KeptForProvider },
): Promise<Changed> {
  // After the customer gave up, the bank's answer does not count.
  if (await isGivenUp(tx, authentication)) return {};
  if (answer.type === "ended") {
    const { result, proof, message } = answer;
    const status = endOfProvided(answer, authentication);
    const isProven = status === "AUTHENTICATED" || status === "ATTEMPTED";
    endProvided(tx, core, authentication, { status, result, proof: isProven ? proof : undefined, message });
    return {};
  }
  if (answer.type === "challenge") {
    const { action, keep, message } = answer;
    recordChallenge(tx, core, authentication, { action, kept: { ...kept, keep }, message });
    return {};
  }
  if (authentication.status === "AWAITING_CUSTOMER") postponeProviderLook(tx, authentication, loaded.readAt);
  else endWithoutResult(tx, authentication, "UNAVAILABLE");
  return {};
}

/** Ends an authentication whose customer gave up or did not finish. */
export async function giveUpProvider(
  { core, lease }: Work,
  authentication: Authentication,
  as: "CANCELLED" | "ABANDONED",
): Promise<Reloaded> {
  return commitAndReload(core, lease, async (tx) => {
    await lockAndRenew(tx, lease);
    endWithoutResult(tx, authentication, as);
    tx.afterCommit(() => core.observer?.gaveUp(authentication.provider ?? "", as));
    return {};
  });
}
