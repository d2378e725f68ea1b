/** A merchant's configuration as the message that files hold: connections by name, nothing secret. */
import { create } from "@bufbuild/protobuf";
import { AlertTopic as TopicMessage } from "../../../gen/dashboard/v1/alerts_pb.ts";
import {
  type Configuration,
  ConfigurationSchema,
  type ConfiguredConnection,
  ConfiguredConnectionSchema,
  type RoutingSection,
  RoutingSectionSchema,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import { RepeatedOrders as RepeatedOrdersMessage } from "../../../gen/dashboard/v1/settings_pb.ts";
import { loadAlertAddresses } from "../../accounts/alert-addresses.ts";
import { findRoutingRule } from "../../core/record/routing-rules.ts";
import type { RoutingRule } from "../../core/rows/entities.ts";
import { loadAlertSettings } from "../../events/alert-settings.ts";
import { type Endpoint, listEndpoints } from "../../events/endpoints.ts";
import { type Connection, listConnections } from "../../gateways/connections.ts";
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId, type MerchantId } from "../../platform/ids.ts";
import { loadRefundLimits, type RefundLimits, refundingRoles } from "../../refunds/daily-limit.ts";
import { ruleMessage } from "../routing-messages.ts";
import { type AllSettings, loadAllSettings, revisedSettings } from "../settings-rpc.ts";
import { type HeldAlerts, sorted } from "./plan-alerts-and-limits.ts";

/** A merchant's configuration as its rows hold it. `rule` is the latest rule, never the default rule. */
export type Held = {
  readonly connections: readonly Connection[];
  readonly rule: RoutingRule | undefined;
  readonly settings: AllSettings;
  readonly endpoints: readonly Endpoint[];
  readonly alerts: HeldAlerts;
  readonly limits: RefundLimits;
};

export async function loadHeld(queryable: Queryable, merchantId: MerchantId): Promise<Held> {
  return {
    connections: await listConnections(queryable, merchantId),
    rule: await findRoutingRule(queryable, merchantId),
    settings: await loadAllSettings(queryable, merchantId),
    endpoints: await listEndpoints(queryable, merchantId),
    alerts: {
      addresses: (await loadAlertAddresses(queryable, merchantId)).addresses,
      mutedTopics: (await loadAlertSettings(queryable, merchantId)).mutedTopics,
    },
    limits: await loadRefundLimits(queryable, merchantId),
  };
}

/** Everything that a plan depends on: it changes with each of them. */
export function revisedParts({ connections, rule, settings, endpoints, alerts, limits }: Held): readonly unknown[] {
  return [
    connections.map(({ id, credentialVersion, paused }) => [id, credentialVersion, paused]),
    rule?.version ?? 0,
    revisedSettings(settings),
    endpoints.map(({ id, version }) => [id, version]),
    alerts,
    refundingRoles.map((role) => sorted(limits[role])),
  ];
}

/** Returns the name of a connection: its gateway, with the account where the merchant has several there. */
export function connectionName(connections: readonly Connection[], { gateway, account }: Connection): string {
  const isOnly = connections.filter((one) => one.gateway === gateway).length === 1;
  return isOnly ? gateway : `${gateway}:${account}`;
}

/** Returns the section with public ids in place of the names. Throws `invalid_field` for a name that no connection has. */
export function withIds(routing: RoutingSection, connections: readonly Connection[]): RoutingSection {
  const ids = new Map(
    connections.flatMap((one) => {
      const id = encodeId("gc", one.id);
      return [connectionName(connections, one), `${one.gateway}:${one.account}`].map((name) => [name, id] as const);
    }),
  );
  return mapConnections(routing, (name, field) => {
    const id = ids.get(name);
    if (id !== undefined) return id;
    const known = connections.map((one) => connectionName(connections, one)).join(", ") || "none yet";
    throw new DomainError("invalid_field", `No connection is named ${name}. The merchant has: ${known}.`, {
      field,
    });
  });
}

export function mapConnections(
  routing: RoutingSection,
  change: (connection: string, field: string) => string,
): RoutingSection {
  const all = (named: readonly string[], field: string) => named.map((one, index) => change(one, `${field}[${index}]`));
  const { split, cases, providerId } = routing;
  return {
    ...routing,
    connectionIds: all(routing.connectionIds, "connectionIds"),
    providerId: providerId === "" ? "" : change(providerId, "providerId"),
    ...(split && { split: { ...split, connectionIds: all(split.connectionIds, "split.connectionIds") } }),
    ...(cases && {
      cases: {
        ...cases,
        list: cases.list.map((one, index) => {
          const field = `cases.list[${index}]`;
          const arms = one.split;
          return {
            ...one,
            connectionIds: all(one.connectionIds, `${field}.connectionIds`),
            ...(arms && { split: { ...arms, connectionIds: all(arms.connectionIds, `${field}.split.connectionIds`) } }),
          };
        }),
      },
    }),
  };
}

export function connectedMessage({ gateway, account, credentialVersion, paused }: Connection): ConfiguredConnection {
  return create(ConfiguredConnectionSchema, {
    gateway,
    account,
    paused,
    ...(credentialVersion !== null && { credentialsVersion: credentialVersion }),
  });
}

export function configurationMessage(held: Held): Configuration {
  const { connections, rule, settings, endpoints, alerts, limits } = held;
  const limitsOf = (amounts: Readonly<Record<string, number>> = {}) =>
    sorted(amounts).map(([currency, minor]) => ({ currency, amountMinor: BigInt(minor) }));
  return create(ConfigurationSchema, {
    ...(rule && { routing: routingMessage(rule, connections) }),
    checkout: {
      origins: [...settings.checkoutOrigins],
      sessionLifetimeSeconds: Math.round(settings.sessionLifetimeMs / 1_000),
      statementDescriptor: settings.statementDescriptor ?? "",
      repeatedOrders: RepeatedOrdersMessage[settings.repeatedOrders],
    },
    webhooks: { endpoints: endpoints.map(({ url, eventTypes }) => ({ url, eventTypes: [...(eventTypes ?? [])] })) },
    // A connection that was never verified is not part of the configuration yet.
    connections: { accounts: connections.filter((one) => one.credentialVersion !== null).map(connectedMessage) },
    alerts: { addresses: [...alerts.addresses], mutedTopics: alerts.mutedTopics.map((topic) => TopicMessage[topic]) },
    refundLimits: {
      support: limitsOf(limits.SUPPORT),
      developers: limitsOf(limits.DEVELOPER),
      owners: limitsOf(limits.OWNER),
    },
  });
}

function routingMessage(rule: RoutingRule, connections: readonly Connection[]): RoutingSection {
  const { connectionIds, failoverOn, authentication, policy, cases, split, ...shown } = ruleMessage(rule);
  const section = create(RoutingSectionSchema, {
    connectionIds,
    failoverOn,
    authentication,
    providerId: shown.providerId ?? "",
    retriesSameGateway: shown.retriesSameGateway,
    cryptogramResend: shown.cryptogramResend,
    ...(rule.policy && { policy }),
    ...(rule.cases && { cases }),
    ...(split && { split }),
  });
  const names = new Map<string, string>(
    connections.map((one) => [encodeId("gc", one.id), connectionName(connections, one)]),
  );
  return mapConnections(section, (id) => names.get(id) ?? id);
}
