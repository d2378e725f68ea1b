/** The changes that make a merchant's configuration the desired one. Nothing is changed here. */
import { create, type DescMessage, type MessageInitShape, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import {
  type CheckoutSection,
  type Configuration,
  type ConfigurationChangeSchema,
  ConfiguredEndpointSchema,
  ConfigurationChange_Kind as Kind,
  type RoutingSection,
  RoutingSectionSchema,
  type WebhookSection,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import { RepeatedOrders as RepeatedOrdersMessage } from "../../../gen/dashboard/v1/settings_pb.ts";
import type { RuleContent } from "../../core/record/routing-rules.ts";
import { parseEndpointUrl } from "../../events/egress.ts";
import { type Endpoint, parseEventTypes } from "../../events/endpoints.ts";
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MerchantId } from "../../platform/ids.ts";
import { describeRuleChanges } from "../../reporting/rule-changes.ts";
import type { DashboardEnvironment } from "../dashboard-parts.ts";
import { casesOf, splitOf } from "../routing-case-messages.ts";
import { authenticationOf, cryptogramResendOf, failoverOf, nameIn, policyOf } from "../routing-messages.ts";
import { verifiedRule } from "../routing-rules-rpc.ts";
import { requireOrigins, type SettingsChange } from "../settings-rpc.ts";
import { configurationMessage, type Held, withIds } from "./configuration-message.ts";

type Change = MessageInitShape<typeof ConfigurationChangeSchema> & { readonly path: string };

/** The changes for people, and what is to be written for each section that differs. */
export type Plan = {
  readonly changes: readonly Change[];
  readonly rule?: RuleContent;
  readonly settings?: SettingsChange;
  readonly endpoints: EndpointPlan;
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
export async function planConfiguration(
  queryable: Queryable,
  planning: Planning,
  desired: Configuration,
): Promise<Plan> {
  const { held } = planning;
  const now = configurationMessage(held);
  const { routing, checkout, webhooks } = desired;
  const rule = routing && (await inSection("routing", () => planRule(queryable, planning, now.routing, routing)));
  const settings = checkout && (await inSection("checkout", async () => planSettings(now.checkout!, checkout)));
  const endpoints = webhooks && (await inSection("webhooks", async () => planEndpoints(planning, webhooks)));
  return {
    changes: [...(rule?.changes ?? []), ...(settings?.changes ?? []), ...(endpoints?.changes ?? [])],
    ...(rule && rule.changes.length > 0 && { rule: rule.content }),
    ...(settings && settings.changes.length > 0 && { settings: settings.wanted }),
    endpoints: endpoints ?? { added: [], retyped: [], removed: [] },
  };
}

/** Runs the plan of a section. A refusal names the field as the single settings do: it gets the section before it. */
async function inSection<Result>(section: string, plan: () => Promise<Result>): Promise<Result> {
  try {
    return await plan();
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

async function planRule(
  queryable: Queryable,
  { merchantId, environment: { core }, held }: Planning,
  now: RoutingSection | undefined,
  wanted: RoutingSection,
): Promise<{ changes: Change[]; content: RuleContent }> {
  const named = withIds(wanted, held.connections);
  const content = await verifiedRule(
    queryable,
    { merchantId, core },
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
  const sentences = describeRuleChanges(held.rule, content, nameIn(held.connections));
  if (sentences.length === 0 && now !== undefined) return { changes: [], content };
  const change = changeOf("routing", RoutingSectionSchema, { now, wanted });
  return { content, changes: [{ ...change, sentences, removes: ruleLoses(now, wanted) }] };
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

function planSettings(now: CheckoutSection, wanted: CheckoutSection): { changes: Change[]; wanted: SettingsChange } {
  requireOrigins(wanted.origins);
  const changes: Change[] = [];
  const note = (path: string, [before, after]: readonly [unknown, unknown], sentence: string, removes = false) => {
    if (JSON.stringify(before) === JSON.stringify(after)) return false;
    const json = { before: JSON.stringify(before), after: JSON.stringify(after) };
    changes.push({ path: `checkout.${path}`, kind: Kind.CHANGED, ...json, sentences: [sentence], removes });
    return true;
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
      : `Card statements show ${wanted.statementDescriptor}.`,
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
  // Of two endpoints with one URL, which only the pages can make, the older one stays.
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
        sentences: [`${endpoint.url} gets ${of(eventTypes)}.`],
      })),
      ...removed.map((endpoint) => ({
        ...changeOf(path(endpoint.url), ConfiguredEndpointSchema, { now: shown(endpoint) }),
        sentences: [`${endpoint.url} is removed for ever.`],
        removes: true,
      })),
    ],
  };
}

function changeOf<Schema extends DescMessage>(
  path: string,
  schema: Schema,
  { now, wanted }: { now?: MessageShape<Schema> | undefined; wanted?: MessageShape<Schema> },
) {
  const kind = now === undefined ? Kind.ADDED : wanted === undefined ? Kind.REMOVED : Kind.CHANGED;
  return {
    path,
    kind,
    before: now === undefined ? "" : toJsonString(schema, now),
    after: wanted === undefined ? "" : toJsonString(schema, wanted),
  };
}
