/** The changes that make a merchant's configuration the desired one. Nothing is changed here. */
import { create } from "@bufbuild/protobuf";
import {
  type CheckoutSection,
  type Configuration,
  ConfiguredEndpointSchema,
  type RoutingSection,
  RoutingSectionSchema,
  type WebhookSection,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import {
  RoutingRule_Authentication,
  RoutingRule_CryptogramResend,
  type RoutingRuleDraft,
  RoutingRuleDraftSchema,
} from "../../../gen/dashboard/v1/routing_rules_pb.ts";
import { RepeatedOrders as RepeatedOrdersMessage } from "../../../gen/dashboard/v1/settings_pb.ts";
import type { RuleContent } from "../../core/record/routing-rules.ts";
import { parseEndpointUrl } from "../../events/egress.ts";
import { type Endpoint, parseEventTypes } from "../../events/endpoints.ts";
import type { Connection } from "../../gateways/connections.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId, type MerchantId } from "../../platform/ids.ts";
import type { DashboardEnvironment } from "../dashboard-parts.ts";
import { casesOf, splitOf } from "../routing-case-messages.ts";
import { authenticationOf, cryptogramResendOf, failoverOf, policyOf, ruleChangesIn } from "../routing-messages.ts";
import { verifiedRule } from "../routing-rules-rpc.ts";
import { requireOrigins, type SettingsChange } from "../settings-rpc.ts";
import { quoted } from "../typed-text.ts";
import { configurationMessage, type Held, withIds } from "./configuration-message.ts";
import { type AlertPlan, type LimitPlan, planAlerts, planLimits } from "./plan-alerts-and-limits.ts";
import { type Change, changeOf, valueChange } from "./plan-change.ts";
import { type ConnectionPlan, planConnections } from "./plan-connections.ts";

/** The changes for people, and the new content of each section that differs. */
export type Plan = {
  readonly changes: readonly Change[];
  readonly rule?: RuleContent;
  /** The rule for a simulation; undefined if it stays, or has a connection that is not there yet. */
  readonly draft?: RoutingRuleDraft;
  readonly settings?: SettingsChange;
  readonly endpoints: EndpointPlan;
  readonly connections: Pick<ConnectionPlan, "paused" | "resumed" | "waiting">;
  readonly alerts: Omit<AlertPlan, "changes">;
  readonly limits: Omit<LimitPlan, "changes">;
};

type EndpointPlan = {
  readonly added: readonly { readonly url: string; readonly eventTypes: string[] }[];
  readonly retyped: readonly { readonly endpoint: Endpoint; readonly eventTypes: string[] }[];
  readonly removed: readonly Endpoint[];
};

type Planning = {
  readonly merchantId: MerchantId;
  readonly environment: DashboardEnvironment;
  readonly held: Held;
};

/** Throws `invalid_field`, which names the place in the configuration, for one that could not be applied. */
export function planConfiguration(planning: Planning, desired: Configuration): Plan {
  const { held, merchantId, environment } = planning;
  const now = configurationMessage(held);
  const merchant = encodeId("mer", merchantId);
  const { core } = environment;
  const knows = (gateway: string) => (core.connectorOf(gateway) ?? core.providerOf(gateway)) !== undefined;
  const newId = () => core.runtime.uuid() as Connection["id"];
  const connections = planned("connections", desired.connections, (wanted) =>
    planConnections(held.connections, wanted, { newId, knows }),
  );
  const known = connections?.connections ?? held.connections;
  const rule = planned("routing", desired.routing, (wanted) => planRule(planning, known, { now: now.routing, wanted }));
  const settings = planned("checkout", desired.checkout, (wanted) => planSettings(merchant, now.checkout!, wanted));
  const endpoints = planned("webhooks", desired.webhooks, (wanted) => planEndpoints(planning, wanted));
  const alerts = planned("alerts", desired.alerts, (wanted) => planAlerts(merchant, held.alerts, wanted));
  const limits = planned("refundLimits", desired.refundLimits, (wanted) => planLimits(merchant, held.limits, wanted));
  return {
    changes: [connections, rule, settings, endpoints, alerts, limits].flatMap((part) => part?.changes ?? []),
    ...(rule && rule.changes.length > 0 && { rule: rule.content, ...(rule.draft && { draft: rule.draft }) }),
    ...(settings && settings.changes.length > 0 && { settings: settings.wanted }),
    endpoints: endpoints ?? { added: [], retyped: [], removed: [] },
    connections: connections ?? { paused: [], resumed: [], waiting: [] },
    alerts: alerts ?? {},
    limits: limits ?? {},
  };
}

/** Plans a section that is present. A refusal names the field as the single settings do: it gets the section before it. */
function planned<Section, Result>(
  section: string,
  wanted: Section | undefined,
  plan: (wanted: Section) => Result,
): Result | undefined {
  if (wanted === undefined) return undefined;
  try {
    return plan(wanted);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const placed = (field: string) => `${section}.${field.replace(/^checkoutOrigins/, "origins")}`;
    throw new DomainError(error.code, error.message, {
      field: error.field === undefined ? section : placed(error.field),
      problems: error.problems.map(({ param, pointer, ...problem }) => ({
        ...problem,
        param: placed(param),
        pointer: `/${section}${pointer.replace(/^\/checkoutOrigins/, "/origins")}`,
      })),
    });
  }
}

function planRule(
  { environment: { core }, held }: Planning,
  connections: readonly Connection[],
  { now, wanted }: { readonly now: RoutingSection | undefined; readonly wanted: RoutingSection },
): { changes: Change[]; content: RuleContent; draft?: RoutingRuleDraft } {
  const named = withIds(wanted, connections);
  const content = verifiedRule(
    { connections, core },
    {
      connectionIds: named.connectionIds as RuleContent["connectionIds"],
      failoverOn: failoverOf(named.failoverOn),
      authentication: authenticationOf(named.authentication, undefined),
      providerId: named.providerId,
      policy: policyOf(named.policy, undefined),
      cases: casesOf(named.cases, undefined),
      split: splitOf(named.split, undefined, named.connectionIds),
      retriesSameGateway: named.retriesSameGateway,
      cryptogramResend: cryptogramResendOf(named.cryptogramResend, undefined),
    },
  );
  const sentences = ruleChangesIn(held.rule, content, connections);
  if (sentences.length === 0 && now !== undefined) return { changes: [], content };
  const subject = `${encodeId("mer", held.settings.merchantId)}/routing-rule`;
  const change = { ...changeOf("routing", RoutingSectionSchema, { now, wanted }), subject, sentences };
  const isHeld = connections.length === held.connections.length;
  return {
    content,
    changes: [{ ...change, removes: ruleLoses(now && withIds(now, held.connections), named) }],
    ...(isHeld && { draft: draftOf(named) }),
  };
}

/** An absent part of a draft is that of the newest version, so each part is there. */
function draftOf({ $typeName: _, $unknown: __, ...named }: RoutingSection): RoutingRuleDraft {
  return create(RoutingRuleDraftSchema, {
    ...named,
    policy: named.policy ?? {},
    cases: named.cases ?? {},
    split: named.split ?? { percent: 0 },
    authentication: named.authentication || RoutingRule_Authentication.AS_NEEDED,
    cryptogramResend: named.cryptogramResend || RoutingRule_CryptogramResend.UNANSWERED,
  });
}

/** Reports whether connections or cases of the rule go. */
function ruleLoses(now: RoutingSection | undefined, wanted: RoutingSection): boolean {
  const partsOf = ({ connectionIds, cases }: RoutingSection) => [
    ...[...connectionIds, ...(cases?.list ?? []).flatMap((one) => one.connectionIds)].map((id) => `connection ${id}`),
    ...(cases?.list ?? []).map(({ name }) => `case ${name}`),
  ];
  const kept = new Set(partsOf(wanted));
  return now !== undefined && partsOf(now).some((part) => !kept.has(part));
}

function planSettings(
  merchant: string,
  now: CheckoutSection,
  wanted: CheckoutSection,
): { changes: Change[]; wanted: SettingsChange } {
  requireOrigins(wanted.origins);
  const changes: Change[] = [];
  const note = (path: string, values: readonly [unknown, unknown], sentence: string, removes = false) => {
    const subject = `${merchant}/settings`;
    const noted = valueChange(`checkout.${path}`, values, { sentences: [sentence], removes, subject });
    changes.push(...noted);
    return noted.length > 0;
  };
  const gone = now.origins.filter((origin) => !wanted.origins.includes(origin));
  const ordersOf = ({ repeatedOrders }: CheckoutSection) =>
    repeatedOrders === RepeatedOrdersMessage.REFUSE ? "REPEATED_ORDERS_REFUSE" : "REPEATED_ORDERS_WARN";
  const minutes = Math.round(wanted.sessionLifetimeSeconds / 60);
  const origins = note(
    "origins",
    [now.origins, wanted.origins],
    wanted.origins.length === 0 ? "No origin is registered." : `The checkout is shown at ${wanted.origins.join(", ")}.`,
    gone.length > 0,
  );
  const lifetime = note(
    "sessionLifetimeSeconds",
    [now.sessionLifetimeSeconds, wanted.sessionLifetimeSeconds],
    `New sessions accept a payment for ${minutes} minutes.`,
  );
  const descriptor = note(
    "statementDescriptor",
    [now.statementDescriptor, wanted.statementDescriptor],
    wanted.statementDescriptor === ""
      ? "Card statements show the text of the gateway's account."
      : `Card statements show ${quoted(wanted.statementDescriptor)}.`,
  );
  const orders = note(
    "repeatedOrders",
    [ordersOf(now), ordersOf(wanted)],
    wanted.repeatedOrders === RepeatedOrdersMessage.REFUSE
      ? "A second payment of an order is refused."
      : "A second payment of an order is taken, with an alert.",
  );
  return {
    changes,
    wanted: {
      ...(origins && { checkoutOrigins: wanted.origins }),
      ...(lifetime && { sessionLifetimeMs: wanted.sessionLifetimeSeconds * 1_000 }),
      ...(descriptor && { statementDescriptor: wanted.statementDescriptor || null }),
      ...(orders && { repeatedOrders: wanted.repeatedOrders === RepeatedOrdersMessage.REFUSE ? "REFUSE" : "WARN" }),
    },
  };
}

function planEndpoints(
  { environment, held }: Planning,
  { endpoints }: WebhookSection,
): EndpointPlan & { changes: Change[] } {
  const wanted = endpoints.map(({ url, eventTypes }) => ({
    url: parseEndpointUrl(url, environment.endpoints.egress.rule).href,
    eventTypes: [...(parseEventTypes(eventTypes) ?? [])],
  }));
  const urls = wanted.map(({ url }) => url);
  const twice = urls.find((url, index) => urls.indexOf(url) !== index);
  if (twice !== undefined) {
    throw new DomainError("invalid_field", `The URL ${twice} is given twice.`, { field: "endpoints" });
  }
  // If two endpoints have one URL, which only the pages can make, the older one stays.
  const kept = new Map(held.endpoints.toReversed().map((endpoint) => [endpoint.url, endpoint]));
  const added = wanted.filter(({ url }) => !kept.has(url));
  const removed = held.endpoints.filter(
    (endpoint) => !urls.includes(endpoint.url) || kept.get(endpoint.url) !== endpoint,
  );
  const typesOf = (types: readonly string[] | null) => JSON.stringify((types ?? []).toSorted());
  const retyped = wanted.flatMap(({ url, eventTypes }) => {
    const endpoint = kept.get(url);
    return endpoint && typesOf(endpoint.eventTypes) !== typesOf(eventTypes) ? [{ endpoint, eventTypes }] : [];
  });
  const path = (url: string) => `webhooks.endpoints[${url}]`;
  const of = (types: readonly string[]) => (types.length === 0 ? "every event" : types.join(", "));
  const shown = ({ url, eventTypes }: { url: string; eventTypes: readonly string[] | null }) =>
    create(ConfiguredEndpointSchema, { url, eventTypes: [...(eventTypes ?? [])] });
  return {
    added,
    retyped,
    removed,
    changes: [
      ...added.map((one) => ({
        ...changeOf(path(one.url), ConfiguredEndpointSchema, { wanted: shown(one) }),
        sentences: [`${one.url} is added for ${of(one.eventTypes)}. Verify it afterwards.`],
      })),
      ...retyped.map(({ endpoint, eventTypes }) => ({
        ...changeOf(path(endpoint.url), ConfiguredEndpointSchema, {
          now: shown(endpoint),
          wanted: shown({ url: endpoint.url, eventTypes }),
        }),
        subject: encodeId("we", endpoint.id),
        sentences: [`${endpoint.url} gets ${of(eventTypes)}.`],
      })),
      ...removed.map((endpoint) => ({
        ...changeOf(path(endpoint.url), ConfiguredEndpointSchema, { now: shown(endpoint) }),
        subject: encodeId("we", endpoint.id),
        sentences: [`${endpoint.url} is removed for ever.`],
        removes: true,
      })),
    ],
  };
}
