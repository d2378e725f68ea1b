/** Adds authentication to the attempts of a payment: to a request, after a decline that asks for it, and before a gateway. */

import type { AuthenticationWish } from "../../gateways/authentication.ts";
import type { Shopper } from "../../gateways/connector.ts";
import type { Tx } from "../../platform/database.ts";
import type { AuthenticationId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import type { Failure } from "../decide/failover.ts";
import type { Extras } from "../execute/gateway-calls.ts";
import type { Work } from "../execute/work.ts";
import type { Attempt, PlannedProvider } from "../rows/entities.ts";
import { exemptionOf, type Payment, type Planned, plannedAt } from "../rows/payment.ts";
import { mandateOf } from "../stored-cards/gateway-use.ts";
import { mayAsk, mayRepeat } from "./after-authentication.ts";
import { isLeftToProvider, providerAfter } from "./after-provider.ts";
import { findShopper } from "./authentications.ts";
import { loadProof, openProvided } from "./provided-rows.ts";

/** Returns what authentication adds to an attempt's request: the browser, the permission to ask, a proof. */
export async function authenticationExtras(
  { core, loaded, shopper: submitted }: Work,
  attempt: Attempt,
): Promise<Extras> {
  const shopper = await findShopper(core, loaded.session, submitted);
  return {
    shopper,
    authentication: wishFor(core, loaded, attempt, shopper),
    proof: await loadProof(core, attempt),
  };
}

/**
 * Returns the wish that the plan has for an attempt's gateway; undefined if the rule or the gateway rules authentication
 * out.
 */
function plannedWish(
  core: Pick<Core, "connectorOf">,
  session: Planned,
  attempt: Pick<Attempt, "connectionId" | "gateway">,
): AuthenticationWish["wish"] | undefined {
  return core.connectorOf(attempt.gateway)?.authentication && plannedAt(session, attempt)?.authentication;
}

/**
 * Returns the permission that an attempt's gateway gets to challenge the customer; undefined if it gets none: the rule
 * or the gateway rules authentication out, the page cannot show an action, or the session has reached its most
 * challenges.
 */
function wishFor(
  core: Core,
  { session, authentications, stored }: Payment,
  attempt: Attempt,
  shopper: Shopper | undefined,
): AuthenticationWish | undefined {
  const planned = plannedWish(core, session, attempt);
  if (attempt.authenticationId != null || isLeftToProvider({ session, authentications }, attempt)) return undefined;
  if (planned === undefined || !mayAsk({ session, authentications }, attempt) || shopper?.browser === undefined)
    return undefined;
  // An exemption and a mandate exclude each other.
  const unexempted = exemptionOf(session, attempt) === undefined ? planned : "as_needed";
  const wish = attempt.round === 1 ? "always" : unexempted;
  const mandate = wish === "always" ? mandateOf(stored) : undefined;
  return { wish, mandate, browser: shopper.browser, returnUrl: core.returnUrlOf(attempt) };
}

/**
 * Returns the way in which the request can be repeated at the gateway that asked for authentication: with a provider's,
 * or with its own. Empty if there is none, or the page cannot show an action.
 */
export async function findRepeat(
  { core, loaded, shopper }: Work,
  attempt: Attempt,
): Promise<Pick<Failure, "repeat" | "provider">> {
  const provider = providerAfter(loaded, attempt);
  if (attempt.round !== 0) return {};
  const isLeft = isLeftToProvider(loaded, attempt);
  const runsOwn = !isLeft && plannedWish(core, loaded.session, attempt) !== undefined && mayRepeat(loaded, attempt);
  if (attempt.authenticationId != null || (provider === undefined && !runsOwn)) return {};
  const canShow = (await findShopper(core, loaded.session, shopper))?.browser !== undefined;
  return canShow ? { repeat: attempt, provider } : {};
}

/** Records that a provider is about to authenticate the customer. Returns the authentication's id. */
export async function openProvider(
  tx: Tx,
  work: Pick<Work, "core" | "shopper"> & { readonly loaded: Pick<Payment, "session"> },
  { provider, because }: { readonly provider: PlannedProvider; readonly because: string },
): Promise<AuthenticationId> {
  const { core, loaded } = work;
  const shopper = await findShopper(core, loaded.session, work.shopper);
  return openProvided(tx, core, { sessionId: loaded.session.id, provider, because, shopper });
}
