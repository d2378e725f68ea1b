/** Answers `nextStep` for a payment that authenticates its customer. PURE. */
import type { AttemptId, AuthenticationId } from "../../platform/ids.ts";
import { because } from "../decide/because.ts";
import type { PlannedConnection } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { type AuthenticationStep, openAuthenticationOf, stepOfLeftBehind, stepOfWait } from "./after-authentication.ts";
import {
  type ProviderStep,
  providedOf,
  providerBefore,
  repeatAfterProvider,
  stepOfProvider,
} from "./after-provider.ts";

/**
 * Returns the step of a payment whose customer is being authenticated, whose payment is being completed, or whose
 * provider is at work; undefined for any other. `unsentId` is the attempt or authentication whose request this process
 * has committed and not yet sent.
 */
export function stepOfAuthentication(
  loaded: Payment,
  unsentId: AttemptId | AuthenticationId | undefined,
): AuthenticationStep | ProviderStep | undefined {
  const authorizing = loaded.attempts.find(({ status }) => status === "AUTHORIZING");
  if (authorizing && authorizing.id !== unsentId) return stepOfLeftBehind(loaded, authorizing);
  if (authorizing) {
    const authentication = openAuthenticationOf(loaded, authorizing);
    return authentication && { type: "complete", attempt: authorizing, authentication };
  }
  const awaiting = loaded.attempts.find(({ status }) => status === "AWAITING_CUSTOMER");
  if (awaiting) return stepOfWait(loaded, awaiting);
  const provided = providedOf(loaded.authentications);
  // rule:provider-alone
  if (provided && provided.completedAt === null) return stepOfProvider(loaded, provided, unsentId);
  return undefined;
}

/**
 * Returns what comes before the plan continues, while an attempt may still be opened: a provider's authentication
 * before the gateway `to`, or the repeat that follows one.
 */
export function stepBeforePlan(
  loaded: Payment,
  to: PlannedConnection | undefined,
):
  | Extract<ProviderStep, { type: "openProvider" }>
  | { readonly type: "open"; readonly to: PlannedConnection; readonly because: string; readonly round: 1 }
  | undefined {
  const last = loaded.attempts.at(-1);
  if (last === undefined || last.nextAction === "failover") {
    const provider = to && providerBefore(loaded, to);
    return provider && { type: "openProvider", provider, because: because.providerFirst(loaded.session) };
  }
  const repeat = repeatAfterProvider(loaded);
  return repeat && { type: "open", ...repeat };
}
