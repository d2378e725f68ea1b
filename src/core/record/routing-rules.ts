/**
 * A merchant's routing rules, and what a payment loads from them. Every change of a rule is a new version, and a version
 * never changes.
 */

import { type CardDigits, whyNotForwardable } from "../../card-vault/card-vault.ts";
import type { Amount } from "../../gateways/amounts.ts";
import type { Exemption } from "../../gateways/authentication.ts";
import type { Connection } from "../../gateways/connections.ts";
import type { Connector } from "../../gateways/connector.ts";
import { holdMarginMs } from "../../limits.ts";
import { columnsOf } from "../../platform/columns.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { ConnectionId, MerchantId, SessionId } from "../../platform/ids.ts";
import { sha256 } from "../../platform/secrets.ts";
import { isBrakingInSql } from "../card-testing/card-counts.ts";
import type { Core } from "../core.ts";
import { defaultRuleVersion, leftOut } from "../decide/because.ts";
import type { FailoverRule } from "../decide/failover.ts";
import { type Candidate, candidatesIn, planRoute } from "../decide/plan-route.ts";
import { type CasedRoute, cardFactsOf, routesOf } from "../decide/routing-cases.ts";
import {
  type AuthenticationPolicy,
  type AuthenticationRule,
  type CryptogramResend,
  type FailoverSwitch,
  type PaymentSession,
  type RoutingCases,
  type RoutingRule,
  RoutingRuleEntity,
  type Split,
} from "../rows/entities.ts";
import { type DefaultParts, defaultFailover, loadDefaultConnections } from "./default-rule.ts";

export const defaultResend: CryptogramResend = "UNANSWERED";

const selectRoute: Statement = {
  name: "select_route",
  text: `
    SELECT r.version, r.failover_on AS "failoverOn", r.authentication, r.policy,
      r.connection_ids AS "connectionIds", r.cases, r.split, r.cryptogram_resend AS "cryptogramResend", c.id AS "connectionId", c.gateway, c.credential_version AS "credentialVersion", c.paused,
      c.acquirer, ${isBrakingInSql} AS "isBraking",
      (SELECT to_json(p) FROM (SELECT id, gateway, credential_version AS "credentialVersion", paused
         FROM connection WHERE id = r.provider_id AND merchant_id = $1) p) AS provider
    FROM (SELECT * FROM routing_rule WHERE merchant_id = $1 ORDER BY version DESC LIMIT 1) r
    CROSS JOIN LATERAL (
      SELECT unnest(r.connection_ids) AS connection_id
      UNION
      SELECT jsonb_array_elements_text(jsonb_path_query_array(r.cases, '$.list[*].**.connectionIds[*]'))::uuid
      UNION
      SELECT jsonb_array_elements_text(r.split->'connectionIds')::uuid) planned
    JOIN connection c ON c.id = planned.connection_id AND c.merchant_id = $1`,
};

type RouteRow = {
  version: number;
  failoverOn: FailoverSwitch[];
  authentication: AuthenticationRule;
  policy: AuthenticationPolicy | null;
  connectionIds: readonly ConnectionId[];
  cases: RoutingCases | null;
  split: Split | null;
  cryptogramResend: CryptogramResend;
  connectionId: ConnectionId;
  gateway: string;
  credentialVersion: number | null;
  paused: boolean;
  acquirer: Connection["acquirer"];
  provider: RuleProvider | null;
  isBraking: boolean;
};

/** The provider that a rule names. */
type RuleProvider = Pick<Connection, "id" | "gateway" | "credentialVersion" | "paused">;

/** Describes the provider of a rule as the plan takes it: a connection, and why it cannot be used now. */
export function providerOfRule(
  core: RouteParts,
  { id: connectionId, gateway: name, credentialVersion, paused }: RuleProvider,
  isFailing = false,
) {
  const known = core.providerOf(name);
  const whyNot = !known
    ? leftOut.noProvider(name)
    : credentialVersion === null
      ? leftOut.notVerified
      : paused
        ? leftOut.paused
        : isFailing
          ? leftOut.providerFailing
          : whyNotForwardable(core.vault.forwarding, known);
  return { connectionId, name, credentialVersion: credentialVersion ?? 0, whyNot };
}

/**
 * Loads the merchant's newest rule, at most a second old, in one statement whether it has cases and splits or not. Without a saved rule
 * it returns the default rule, which has no candidates where no connection is verified.
 */
export async function loadRoute(
  core: Core,
  payment: { merchantId: MerchantId } & Amount & Partial<Pick<PaymentSession, "manualCapture" | "captureBy">>,
): Promise<CasedRoute & { readonly isBraking?: boolean }> {
  const read = async () => {
    const saved = await core.database.query<RouteRow>(selectRoute, [payment.merchantId]);
    return saved.length > 0 ? saved : loadDefaultRoute(core, payment.merchantId);
  };
  const rows = await core.hold(`route ${payment.merchantId}`, read);
  const [first] = rows;
  if (first === undefined) return { version: defaultRuleVersion, failoverOn: [], candidates: [], all: [] };
  const isFailing = (connectionId: ConnectionId) => core.circuitBreaker.isFailing(connectionId, core.runtime.now());
  const heldForMs = payment.manualCapture
    ? (payment.captureBy?.getTime() ?? 0) - core.runtime.now().getTime()
    : undefined;
  const routed = { ...payment, heldForMs };
  const all = rows.map(({ connectionId, gateway, credentialVersion, paused, acquirer }): Candidate => {
    const failing = isFailing(connectionId);
    const candidate = candidateOf(core, { id: connectionId, gateway, credentialVersion, paused, acquirer }, routed);
    return { ...candidate, failing };
  });
  const { version, failoverOn, authentication, policy, connectionIds, cases, split, cryptogramResend, isBraking } =
    first;
  const provider = first.provider ? providerOfRule(core, first.provider, isFailing(first.provider.id)) : undefined;
  const candidates = candidatesIn(all, connectionIds);
  const ruled = { version, failoverOn, authentication, policy, cryptogramResend };
  return { ...ruled, candidates, provider, cases, split, all, isBraking };
}

async function loadDefaultRoute(core: Core, merchantId: MerchantId): Promise<RouteRow[]> {
  const connections = await loadDefaultConnections(core, core.database, merchantId);
  const rule = {
    version: defaultRuleVersion,
    failoverOn: [...defaultFailover],
    authentication: "AS_NEEDED" as const,
    policy: null,
    connectionIds: connections.map(({ id }) => id),
    cases: null,
    split: null,
    provider: null,
    cryptogramResend: defaultResend,
  };
  return connections.map(({ id: connectionId, ...connection }) => ({ ...rule, ...connection, connectionId }));
}

/** An amount, and the time for which a gateway has to hold it for a later capture; absent if it is captured at once. */
export type RoutedPayment = Amount & { readonly heldForMs?: number | undefined };

/** The parts of the core that decide whether a gateway can take a payment. */
export type RouteParts = Pick<Core, "connectorOf" | "providerOf"> & {
  readonly vault: Pick<Core["vault"], "forwarding">;
};

/** Describes a connection as a candidate for this payment, without the circuit breaker's state. */
export function candidateOf(
  { connectorOf, vault }: RouteParts,
  connection: Pick<Connection, "id" | "gateway" | "credentialVersion" | "paused" | "acquirer">,
  payment: RoutedPayment,
): Candidate {
  const { id, gateway, credentialVersion, paused, acquirer } = connection;
  const connector = connectorOf(gateway);
  return {
    connectionId: id,
    gateway,
    credentialVersion: credentialVersion ?? undefined,
    paused,
    failing: false,
    authenticates: connector?.authentication !== undefined,
    imports: connector?.importsProof,
    ...(acquirer && { accepts: acquirer.acceptsOwnOnly ? "own" : "any" }),
    ...(connector?.acceptsNetworkToken && { acceptsNetworkToken: connector.acceptsNetworkToken }),
    exemptions: connector?.asksExemptions && payment.amountMinor > 0 ? exemptionsFor(acquirer, payment) : [],
    notPayable: connector
      ? (whyNotForwardable(vault.forwarding, connector) ??
        connector.whyNotPayable(payment) ??
        whyNotHeld(connector, payment) ??
        whyNotSetUp(connector, payment))
      : leftOut.noConnector({ gateway }),
  };
}

/** Returns why a gateway cannot hold the amount until its merchant captures it. */
function whyNotHeld({ holdLifeMs }: Connector, { heldForMs }: RoutedPayment): string | undefined {
  if (heldForMs === undefined) return undefined;
  if (holdLifeMs === undefined) return leftOut.holdsNothing;
  if (heldForMs <= holdLifeMs - holdMarginMs) return undefined;
  return leftOut.holdsTooShort(Math.floor(holdLifeMs / 86_400_000));
}

/** Returns why a gateway takes no payment of 0, which stores a card. */
function whyNotSetUp(connector: Connector, { amountMinor }: RoutedPayment): string | undefined {
  return amountMinor > 0 || connector.setsUp ? undefined : leftOut.setsUpNone(connector);
}

function exemptionsFor(acquirer: Connection["acquirer"], { amountMinor, currency }: Amount): readonly Exemption[] {
  const granted = acquirer?.exemptions ?? [];
  const covering = granted.filter((one) => one.currency === currency && amountMinor <= one.amountMinor);
  return covering.map(({ kind }) => kind);
}

const selectRule: Statement = {
  name: "select_failover_rule",
  text: `SELECT version, failover_on AS "failoverOn", authentication, retries_same_gateway AS "retriesSameGateway" FROM routing_rule WHERE merchant_id = $1 AND version = $2`,
};

/** Loads the rule by which a session was planned, which may no longer be the newest. */
export async function loadFailoverRule(
  queryable: Queryable,
  options: { merchantId: MerchantId; version: number },
): Promise<FailoverRule> {
  const [rule] = await queryable.query<FailoverRule>(selectRule, [options.merchantId, options.version]);
  return (
    rule ?? { version: options.version, failoverOn: options.version === defaultRuleVersion ? defaultFailover : [] }
  );
}

/**
 * Loads the networks that at least one planned gateway accepts. Empty when nothing is planned or a gateway leaves the
 * networks to the account.
 */
export async function loadCardBrands(
  core: Core,
  payment: { merchantId: MerchantId; amountMinor: number; currency: string },
): Promise<string[]> {
  const rule = await loadRoute(core, payment);
  // The card is not known yet, so each case and each arm may apply.
  const routes = rule.cases || rule.split ? routesOf(rule) : [rule];
  const plans = routes.map((route) => planRoute(route).plan);
  const taken = new Set<string>();
  for (const { gateway } of plans.flat()) {
    const brands = core.connectorOf(gateway)?.cardBrands;
    if (brands === undefined) return [];
    for (const brand of brands) taken.add(brand);
  }
  return [...taken];
}

/**
 * Returns the number of a session from 1 to 100. It is always the same for a session, and as good as random over many:
 * the hash of a random id.
 */
export function drawOf(sessionId: SessionId): number {
  return (sha256(sessionId).readUInt32BE(0) % 100) + 1;
}

/** Returns what a rule's cases and splits ask about a payment. */
export function factsOf(
  core: Core,
  session: Pick<PaymentSession, "id" | "amountMinor" | "currency" | "details">,
  { cases }: CasedRoute,
  card: CardDigits | undefined,
) {
  return {
    amountMinor: session.amountMinor,
    currency: session.currency,
    at: core.runtime.now(),
    billingCountry: session.details?.billingAddress?.country,
    metadata: session.details?.metadata,
    card: cardFactsOf(card, cases?.cardRanges),
    draw: drawOf(session.id),
  };
}

/** The content of a rule. */
export type RuleContent = {
  readonly connectionIds: readonly ConnectionId[];
  readonly failoverOn: readonly FailoverSwitch[];
  /** The default is as needed. */
  readonly authentication?: AuthenticationRule | undefined;
  /** The connection of the provider that authenticates for gateways that import its proof. */
  readonly providerId?: ConnectionId | null | undefined;
  readonly policy?: AuthenticationPolicy | null | undefined;
  readonly cases?: RoutingCases | null | undefined;
  /** The split of the default plan; null for none. */
  readonly split?: Split | null | undefined;
  /** The default is false. */
  readonly retriesSameGateway?: boolean | undefined;
  /** The default is UNANSWERED. */
  readonly cryptogramResend?: CryptogramResend | undefined;
};

const insertRule: Statement = {
  name: "insert_routing_rule",
  text: `
    INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on, set_by, restored_from, authentication, provider_id, policy, cases,
                              split, retries_same_gateway, cryptogram_resend)
    SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM routing_rule WHERE merchant_id = $1
    RETURNING version`,
};

/** Records a new version and returns its number. Payments that are submitted a second after its commit follow it. */
export async function recordRoutingRule(
  tx: Tx,
  rule: RuleContent & {
    readonly merchantId: MerchantId;
    /** The author, as the audit trail names them. */
    readonly setBy?: string;
    /** The version that it restores. */
    readonly restoredFrom?: number;
  },
): Promise<number> {
  const { merchantId, connectionIds, failoverOn, setBy = null, restoredFrom = null } = rule;
  const values = [
    merchantId,
    connectionIds,
    failoverOn,
    setBy,
    restoredFrom,
    rule.authentication ?? "AS_NEEDED",
    rule.providerId ?? null,
    rule.policy ? JSON.stringify(rule.policy) : null,
    hasCases(rule.cases) ? JSON.stringify(rule.cases) : null,
    rule.split ? JSON.stringify(rule.split) : null,
    rule.retriesSameGateway ?? false,
    rule.cryptogramResend ?? defaultResend,
  ];
  const [row] = await tx.query<{ version: number }>(insertRule, values);
  return row!.version;
}

/** Reports whether a rule has anything beside its default plan to store: cases, or card ranges for later ones. */
function hasCases(cases: RoutingCases | null | undefined): boolean {
  return cases != null && (cases.list.length > 0 || cases.cardRanges.length > 0);
}

const ruleColumns = columnsOf(RoutingRuleEntity, "r");

const selectNewest: Statement = {
  name: "select_newest_routing_rule",
  text: `SELECT ${ruleColumns} FROM routing_rule r WHERE merchant_id = $1 ORDER BY version DESC LIMIT 1`,
};

/** Finds a merchant's newest rule; undefined before the first one. */
export async function findRoutingRule(queryable: Queryable, merchantId: MerchantId): Promise<RoutingRule | undefined> {
  const [rule] = await queryable.query<RoutingRule>(selectNewest, [merchantId]);
  return rule;
}

/**
 * Finds the rule that new payments follow: the newest version, or the default rule; undefined if nothing can be routed.
 */
export async function findRuleInForce(
  core: DefaultParts,
  queryable: Queryable,
  merchantId: MerchantId,
): Promise<RoutingRule | undefined> {
  const saved = await findRoutingRule(queryable, merchantId);
  if (saved !== undefined) return saved;
  const connections = await loadDefaultConnections(core, queryable, merchantId);
  if (connections.length === 0) return undefined;
  return {
    merchantId,
    version: defaultRuleVersion,
    connectionIds: connections.map(({ id }) => id),
    failoverOn: [...defaultFailover],
    retriesSameGateway: false,
    authentication: "AS_NEEDED",
    providerId: null,
    policy: null,
    cases: null,
    split: null,
    cryptogramResend: defaultResend,
    createdAt: new Date(0),
    setBy: null,
    restoredFrom: null,
  };
}

const selectSome: Statement = {
  name: "select_some_routing_rules",
  text: `SELECT ${ruleColumns} FROM routing_rule r WHERE merchant_id = $1 AND version = ANY ($2)`,
};

/** Finds these versions of a merchant's rule. */
export async function findRoutingRules(
  queryable: Queryable,
  { merchantId, versions }: { merchantId: MerchantId; versions: readonly number[] },
): Promise<RoutingRule[]> {
  return queryable.query<RoutingRule>(selectSome, [merchantId, versions]);
}

const selectVersions: Statement = {
  name: "select_routing_rule_versions",
  text: `
    SELECT ${ruleColumns} FROM routing_rule r
    WHERE merchant_id = $1 AND ($2::int IS NULL OR version <= $2) ORDER BY version DESC LIMIT $3`,
};

/** Lists a merchant's versions, newest first, beginning with `newest` if it is given. */
export async function listRoutingRules(
  queryable: Queryable,
  options: { merchantId: MerchantId; newest?: number | undefined; count: number },
): Promise<RoutingRule[]> {
  return queryable.query<RoutingRule>(selectVersions, [options.merchantId, options.newest ?? null, options.count]);
}
