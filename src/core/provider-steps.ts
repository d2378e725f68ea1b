/**
 * The steps of a session whose customer a provider authenticates. As in flow-steps.ts, each is a call, a transaction, or
 * a call followed by a transaction. None of them moves money.
 */
import type {
  AuthenticationRequest,
  Prepared,
  ProviderAnswer,
  ProviderResult,
} from "../gateways/authentication-provider.ts";
import { followUpTimeoutMs } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { endOfProvided } from "./after-provider.ts";
import { findShopper, isGivenUp } from "./authentications.ts";
import type { Core } from "./core.ts";
import type { Authentication, PaymentSession } from "./entities.ts";
import { type Changed, commitAndReload, type Reloaded, type Work } from "./flow-steps.ts";
import { lockAndRenew } from "./lease.ts";
import {
  endProvided,
  type KeptForProvider,
  loadAcquirer,
  loadKept,
  postponeProviderLook,
  recordChallenge,
  recordMethod,
  recordRequesting,
} from "./provided-rows.ts";

const unbound = {
  type: "unavailable",
  reason: "this installation has no such provider, or not its credentials",
} as const;

async function bind(core: Core, { connectionId, provider, credentialVersion }: Authentication) {
  const bound = await core.bindProvider(connectionId, provider ?? "", credentialVersion ?? 0);
  return bound && { ...bound, call: { credentials: bound.credentials, timeoutMs: followUpTimeoutMs } };
}

/** Records the health of a provider: it is left out while its calls fail. An error that it reports counts as one. */
function recordHealth(core: Core, authentication: Authentication, answer: Prepared | ProviderAnswer): void {
  const { connectionId, provider } = authentication;
  if (answer === unbound) return;
  // An unknown card is an answer; without the reason, the two cannot be told apart.
  const health = answer.type === "unavailable" ? "nothing" : "answered";
  core.circuitBreaker.record(connectionId, health, core.runtime.now(), provider ?? "");
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
  recordHealth(core, authentication, answer);
  return commitAndReload(core, lease, async (tx): Promise<Changed> => {
    await lockAndRenew(tx, lease);
    if (answer.type === "unavailable") {
      core.log.info(
        { sessionId: lease.sessionId, reason: answer.reason },
        "the provider cannot authenticate this card",
      );
      endProvided(tx, core, authentication, { status: "UNAVAILABLE" });
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

/** Sends the committed request, once. Without an answer the result is asked for once. */
export async function askProvider(work: Work, authentication: Authentication): Promise<Reloaded> {
  const { core, lease } = work;
  const kept = await loadKept(core, authentication);
  const request = await requestOf(work, authentication, kept);
  const bound = await bind(core, authentication);
  let answer: ProviderAnswer | ProviderResult = unbound;
  if (bound !== undefined && request !== undefined) {
    answer = await bound.connector.authenticate(bound.call, request);
    recordHealth(core, authentication, answer);
    if (answer.type === "unavailable") answer = await bound.connector.result(bound.call, kept.keep);
  }
  return commitAndReload(core, lease, async (tx) => {
    await lockAndRenew(tx, lease);
    return recordAnswer(tx, work, authentication, { answer, kept });
  });
}

/** Returns the request; undefined if the acquirer's data or the browser's are missing. */
async function requestOf(
  { core, lease, loaded, shopper: submitted }: Work,
  authentication: Authentication,
  kept: KeptForProvider,
): Promise<AuthenticationRequest | undefined> {
  const { session } = loaded;
  const first = session.plan?.find(({ provider }) => provider !== undefined);
  const [shopper, acquirer] = await Promise.all([
    findShopper(core, session, submitted),
    first && loadAcquirer(core.database, first.connectionId),
  ]);
  const own = acquirer?.networks[kept.network ?? ""];
  if (shopper?.browser === undefined || acquirer === undefined || own === undefined) return undefined;
  const { mcc, country, merchantName } = acquirer;
  return {
    ...cardOf(session),
    amountMinor: session.amountMinor,
    currency: session.currency,
    keep: kept.keep,
    methodIndicator: kept.methodIndicator,
    isMandated: loaded.attempts.length > 0,
    browser: shopper.browser,
    returnUrl: core.returnUrlOf({ sessionId: lease.sessionId, id: authentication.id, isProvided: true }),
    purchasedAt: session.submittedAt ?? session.createdAt,
    customerEmail: session.customerEmail ?? undefined,
    billingAddress: session.details?.billingAddress,
    shopperIp: shopper.shopperIp,
    shopperUserAgent: shopper.shopperUserAgent,
    acquirer: { mcc, country, merchantName, ...own },
  };
}

/** Asks the provider for the result: of a challenge, or of a request whose answer another process has lost. */
export async function lookAtProvider(work: Work, authentication: Authentication): Promise<Reloaded> {
  const { core, lease } = work;
  const kept = await loadKept(core, authentication);
  const bound = await bind(core, authentication);
  const answer = bound === undefined ? unbound : await bound.connector.result(bound.call, kept.keep);
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
  // After the customer gave up, nothing the bank says counts.
  if (await isGivenUp(tx, authentication)) return {};
  if (answer.type === "ended") {
    const { result, proof } = answer;
    const status = endOfProvided(answer);
    const isProven = status === "AUTHENTICATED" || status === "ATTEMPTED";
    endProvided(tx, core, authentication, { status, result, proof: isProven ? proof : undefined });
    return {};
  }
  if (answer.type === "challenge") {
    recordChallenge(tx, core, authentication, { action: answer.action, kept: { ...kept, keep: answer.keep } });
    return {};
  }
  if (authentication.status === "AWAITING_CUSTOMER") postponeProviderLook(tx, authentication, loaded.readAt);
  else endProvided(tx, core, authentication, { status: "UNAVAILABLE" });
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
    endProvided(tx, core, authentication, { status: as });
    tx.afterCommit(() => core.observer?.gaveUp(authentication.provider ?? "", as));
    return {};
  });
}
