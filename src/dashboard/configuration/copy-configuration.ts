/** The configuration of one environment as another one can have it. */
import { create } from "@bufbuild/protobuf";
import {
  type Configuration,
  ConfigurationSchema,
  type ConfiguredEndpoint,
  type ConnectionChoice,
  type RoutingSection,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import { configurationMessage, connectionName, type Held, mapConnections } from "./configuration-message.ts";

export type Copy = {
  readonly desired: Configuration;
  /** The parts that are not copied, each with the reason. */
  readonly leftOut: readonly string[];
  /** Names of connections that the target has not, and that no choice replaces. */
  readonly unknown: readonly string[];
};

/**
 * Returns the target's desired configuration: the rule, settings and limits of the source, and addresses of both. Keys,
 * credentials and connections are never copied; parts that only the target has are not removed, except by the rule.
 */
export function copyConfiguration(from: Held, to: Held, choices: readonly ConnectionChoice[]): Copy {
  const source = configurationMessage(from);
  const target = configurationMessage(to);
  const leftOut: string[] = [];
  const fits = (url: string) => {
    const reason = whyLocal(url);
    if (reason !== undefined) leftOut.push(`${url}: ${reason}.`);
    return reason === undefined;
  };
  const origins = (source.checkout?.origins ?? []).filter(fits);
  const endpoints = (source.webhooks?.endpoints ?? []).filter(({ url }) => fits(url));
  const { routing, unknown } = copyRouting(source.routing, to, { choices, leftOut });
  return {
    unknown,
    leftOut,
    desired: create(ConfigurationSchema, {
      ...(routing && { routing }),
      ...(source.checkout && { checkout: { ...source.checkout, origins: union(target.checkout?.origins, origins) } }),
      webhooks: { endpoints: mergedEndpoints(target.webhooks?.endpoints ?? [], endpoints) },
      ...(source.alerts && {
        alerts: { ...source.alerts, addresses: union(target.alerts?.addresses, source.alerts.addresses) },
      }),
      ...(source.refundLimits && { refundLimits: source.refundLimits }),
    }),
  };
}

/** Returns why an address is of no use outside the machine or the network of a test; undefined for any other. */
function whyLocal(url: string): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (/^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname)) return "it is on a developer's machine";
  return protocol === "http:" ? "it is not HTTPS" : undefined;
}

function union(held: readonly string[] = [], copied: readonly string[] = []): string[] {
  return [...new Set([...held, ...copied])];
}

/** Endpoints with one URL get the types of the source. */
function mergedEndpoints(held: readonly ConfiguredEndpoint[], copied: readonly ConfiguredEndpoint[]) {
  const added = copied.filter(({ url }) => !held.some((one) => one.url === url));
  return [...held.map((one) => copied.find(({ url }) => url === one.url) ?? one), ...added];
}

type Choosing = { readonly choices: readonly ConnectionChoice[]; readonly leftOut: string[] };

function copyRouting(
  routing: RoutingSection | undefined,
  { connections }: Held,
  { choices, leftOut }: Choosing,
): { routing?: RoutingSection; unknown: readonly string[] } {
  if (routing === undefined) return { unknown: [] };
  const verified = connections.filter(({ credentialVersion }) => credentialVersion !== null);
  const names = new Map(
    verified.flatMap((one) => {
      const name = connectionName(connections, one);
      return [[name, name] as const, [`${one.gateway}:${one.account}`, name] as const];
    }),
  );
  const unknown = new Set<string>();
  const omitted = new Set<string>();
  const targetOf = (name: string) => {
    const chosen = choices.find(({ from }) => from === name);
    if (chosen?.to === "") omitted.add(name);
    const [gateway = ""] = name.split(":");
    const found = chosen === undefined ? (names.get(name) ?? names.get(gateway)) : chosen.to;
    if (found === undefined) unknown.add(name);
    return found ?? name;
  };
  const mapped = mapConnections(routing, targetOf);
  if (unknown.size > 0) return { unknown: [...unknown] };
  for (const name of omitted) leftOut.push(`${name}: you left this connection out of the routing rule.`);
  return { unknown: [], routing: withoutEmpty(mapped) };
}

/** Leaves out the connections that the member chose to leave out, and the parts that become empty. */
function withoutEmpty(routing: RoutingSection): RoutingSection {
  const kept = (named: readonly string[]) => [...new Set(named.filter((one) => one !== ""))];
  const { split, cases } = routing;
  const keptSplit = (one: RoutingSection["split"]) => {
    const arms = one && { ...one, connectionIds: kept(one.connectionIds) };
    return arms && arms.connectionIds.length > 0 ? { split: arms } : {};
  };
  const { split: _, ...rest } = routing;
  return {
    ...rest,
    connectionIds: kept(routing.connectionIds),
    ...keptSplit(split),
    ...(cases && {
      cases: {
        ...cases,
        list: cases.list
          .map(({ split: own, ...one }) => ({ ...one, connectionIds: kept(one.connectionIds), ...keptSplit(own) }))
          .filter(({ connectionIds }) => connectionIds.length > 0),
      },
    }),
  };
}
