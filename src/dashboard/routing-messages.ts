/** Maps routing rules to messages, and names in requests to the core's. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { AcquirerExemption_Kind as ExemptionMessage } from "../../gen/dashboard/v1/gateway_connections_pb.ts";
import {
  RoutingRule_Authentication as AuthenticationMessage,
  RoutingRule_CryptogramResend as CryptogramMessage,
  RoutingRule_FailoverSwitch as FailoverMessage,
  type RoutingRule_AuthenticationPolicy as PolicyMessage,
  RoutingRule_WithoutBrowser as WithoutBrowserMessage,
} from "../../gen/dashboard/v1/routing_rules_pb.ts";
import { defaultRuleVersion } from "../core/decide/because.ts";
import { defaultResend, type RuleContent } from "../core/record/routing-rules.ts";
import {
  type AuthenticationPolicy,
  type AuthenticationRule,
  type CryptogramResend,
  cryptogramResends,
  type FailoverSwitch,
  type RoutingRule,
  withoutBrowserChoices,
} from "../core/rows/entities.ts";
import { type Exemption, exemptions } from "../gateways/authentication.ts";
import type { Connection } from "../gateways/connections.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { describeRuleChanges } from "../reporting/rule-changes.ts";
import { casesMessage, showCases, showSplit } from "./routing-case-messages.ts";
import { accountName, withQuotedTexts } from "./typed-text.ts";

const switches: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];

/** Returns the failover switches of a request, always in the same order. */
export function failoverOf(messages: readonly FailoverMessage[]): FailoverSwitch[] {
  return switches.filter((name) => messages.includes(FailoverMessage[name]));
}

const authenticationRules: readonly AuthenticationRule[] = ["AS_NEEDED", "ALWAYS", "NEVER"];

/** Returns the authentication of a request; that of the newest rule if it names none. */
export function authenticationOf(
  message: AuthenticationMessage | undefined,
  newest: Pick<RoutingRule, "authentication"> | undefined,
): AuthenticationRule {
  const named = authenticationRules.find((name) => AuthenticationMessage[name] === message);
  return named ?? newest?.authentication ?? "AS_NEEDED";
}

/** Returns when a request sends a cryptogram again; as the newest rule does if it does not say. */
export function cryptogramResendOf(
  message: CryptogramMessage | undefined,
  newest: Pick<RoutingRule, "cryptogramResend"> | undefined,
): CryptogramResend {
  const named = cryptogramResends.find((name) => CryptogramMessage[name] === message);
  return named ?? newest?.cryptogramResend ?? defaultResend;
}

/** Returns the exemptions of a request, always in the same order. */
export function exemptionsOf(messages: readonly ExemptionMessage[]): Exemption[] {
  return exemptions.filter((name) => messages.includes(ExemptionMessage[name]));
}

/** Returns the policy of a request; that of the newest rule if it has none. */
export function policyOf(
  message: PolicyMessage | undefined,
  newest: Pick<RoutingRule, "policy"> | undefined,
): AuthenticationPolicy | null {
  if (message === undefined) return newest?.policy ?? null;
  const { stopsIfUnavailable, forbidsSecondChallenge, savingAsRule } = message;
  const withoutBrowser = withoutBrowserChoices.find((name) => WithoutBrowserMessage[name] === message.withoutBrowser);
  return {
    exemptions: exemptionsOf(message.exemptions),
    stopsIfUnavailable,
    forbidsSecondChallenge,
    withoutBrowser: withoutBrowser ?? "DECLINE",
    ...(savingAsRule && { savingAsRule }),
  };
}

export function showRule(rule: RoutingRule) {
  const { version, connectionIds, failoverOn, authentication, retriesSameGateway, cryptogramResend } = rule;
  const { providerId, policy, cases, split } = rule;
  return {
    version,
    connectionIds: connectionIds.map((id) => encodeId("gc", id)),
    failoverOn,
    authentication,
    retriesSameGateway,
    cryptogramResend,
    ...(providerId && { providerId: encodeId("gc", providerId) }),
    ...(policy && { policy }),
    ...(cases && { cases: showCases(cases) }),
    ...(split && { split: showSplit(split) }),
  };
}

export function ruleMessage(rule: RoutingRule) {
  const { setBy, restoredFrom } = rule;
  return {
    ...showRule(rule),
    policy: {
      ...rule.policy,
      exemptions: (rule.policy?.exemptions ?? []).map((name) => ExemptionMessage[name]),
      withoutBrowser: WithoutBrowserMessage[rule.policy?.withoutBrowser ?? "DECLINE"],
      savingAsRule: rule.policy?.savingAsRule ?? false,
    },
    cases: casesMessage(rule.cases ?? { list: [], cardRanges: [] }),
    failoverOn: rule.failoverOn.map((name) => FailoverMessage[name]),
    authentication: AuthenticationMessage[rule.authentication],
    cryptogramResend: CryptogramMessage[rule.cryptogramResend],
    ...(rule.version !== defaultRuleVersion && { createdAt: timestampFromDate(rule.createdAt) }),
    ...(setBy && { setBy }),
    ...(restoredFrom && { restoredFrom }),
  };
}

/** Returns the merchant's connection with this public id. Throws `invalid_field`. */
export function connectionOf(
  connections: readonly Connection[],
  publicId: string,
  field = "connectionIds",
): Connection {
  const connection = connections.find(({ id }) => id === decodeId("gc", publicId));
  if (connection !== undefined) return connection;
  throw new DomainError("invalid_field", "One of the gateway connections does not exist.", { field });
}

export function nameIn(connections: readonly Connection[]): (connectionId: string) => string {
  return (connectionId) => {
    const connection = connections.find(({ id }) => id === connectionId);
    return connection === undefined ? "A connection" : accountName(connection);
  };
}

/** Returns one sentence for each difference of two rules, with the texts that members typed in quotes. */
export function ruleChangesIn(
  before: RuleContent | undefined,
  after: RuleContent,
  connections: readonly Connection[],
): string[] {
  return describeRuleChanges(before && withQuotedTexts(before), withQuotedTexts(after), nameIn(connections));
}
