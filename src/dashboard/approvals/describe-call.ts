/** Describes the changes of a call in sentences for a second person, with the state that it is based on. */
import type { DescMethod, MessageShape } from "@bufbuild/protobuf";
import { ApiKey_Kind, ApiKeyService } from "../../../gen/dashboard/v1/api_keys_pb.ts";
import { ApprovalService } from "../../../gen/dashboard/v1/approvals_pb.ts";
import { ConfigurationService } from "../../../gen/dashboard/v1/configuration_pb.ts";
import { GatewayConnectionService } from "../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { MemberService } from "../../../gen/dashboard/v1/members_pb.ts";
import { PaymentService } from "../../../gen/dashboard/v1/payments_pb.ts";
import { RoutingRuleService } from "../../../gen/dashboard/v1/routing_rules_pb.ts";
import { WebhookEndpointService } from "../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { listKeys, type ShownKey } from "../../accounts/api-keys.ts";
import type { ApprovalClass } from "../../accounts/approvals.ts";
import { findRoutingRule, findRuleInForce } from "../../core/record/routing-rules.ts";
import { parseEndpointUrl } from "../../events/egress.ts";
import { requireVerified } from "../../events/endpoint-status.ts";
import { type Endpoint, type EndpointKey, loadEndpoint } from "../../events/endpoints.ts";
import { type Connection, listConnections, loadNewestVersion } from "../../gateways/connections.ts";
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId, type MerchantId } from "../../platform/ids.ts";
import { amountInWords } from "../../platform/money.ts";
import { loadHeld, revisedParts } from "../configuration/configuration-message.ts";
import { planConfiguration } from "../configuration/plan-configuration.ts";
import type { DashboardEnvironment } from "../dashboard-parts.ts";
import { refuseMisshapen, requireVerifiable } from "../gateway-connections-rpc.ts";
import { routingAnswer } from "../route-verified.ts";
import { connectionOf, nameIn, ruleChangesIn } from "../routing-messages.ts";
import { requireVersion, restoredRule, verifiedRule, wantedRule } from "../routing-rules-rpc.ts";
import { requireRevision } from "../settings-revision.ts";
import { quoted } from "../typed-text.ts";
import { requireEndpointId } from "../webhook-messages.ts";
import { describeInvitation, describePolicy, describeRemoval, describeRoles } from "./describe-approvers.ts";
import { describeRefund } from "./describe-refund.ts";
import type { Described, Describing } from "./described.ts";

/** Returns undefined for a call that changes nothing of its class. Throws as the call itself would. */
type Describe<Method extends DescMethod> = (
  request: MessageShape<Method["input"]>,
  describing: Describing & { readonly environment: DashboardEnvironment; readonly database: Queryable },
) => Promise<Described | undefined>;

const describers = new Map<DescMethod, Describe<DescMethod>>();

function describes<Method extends DescMethod>(method: Method, describe: Describe<Method>): void {
  describers.set(method, describe as Describe<DescMethod>);
}

/** Describes a call of a method with `(approval)`. */
export async function describeCall(
  method: DescMethod,
  request: object,
  describing: Describing,
): Promise<Described | undefined> {
  const describe = describers.get(method);
  if (describe === undefined) throw new Error(`${method.name} has an approval class and no description`);
  return describe(request as MessageShape<DescMethod["input"]>, describing as Parameters<typeof describe>[1]);
}

describes(MemberService.method.inviteMember, describeInvitation);
describes(MemberService.method.changeMemberRole, describeRoles);
describes(MemberService.method.removeMember, describeRemoval);
describes(ApprovalService.method.setApprovalPolicy, describePolicy);
describes(PaymentService.method.refundPayment, describeRefund);

describes(
  RoutingRuleService.method.setRoutingRule,
  async (request, { database, environment: { core }, merchantId }) => {
    const before = await findRoutingRule(database, merchantId);
    requireVersion(before, request.expectedVersion);
    const connections = await listConnections(database, merchantId);
    const rule = verifiedRule({ connections, core }, wantedRule(request, before));
    const inForce = await findRuleInForce(core, database, merchantId);
    return {
      classes: ["routing"],
      sentences: orElse(ruleChangesIn(inForce, rule, connections), "The routing rule is saved as it is."),
      state: [before?.version ?? 0, shown(connections)],
      unnamed: request.expectedVersion === undefined ? "expectedVersion" : undefined,
    };
  },
);

describes(
  RoutingRuleService.method.restoreRoutingRule,
  async ({ version, expectedVersion }, { database, environment: { core }, merchantId }) => {
    const before = await findRoutingRule(database, merchantId);
    requireVersion(before, expectedVersion);
    const connections = await listConnections(database, merchantId);
    const wanted = await restoredRule(database, { merchantId, version, before });
    const rule = verifiedRule({ connections, core }, wanted);
    return {
      classes: ["routing"],
      sentences: [`Version ${version} of the routing rule is restored.`, ...ruleChangesIn(before, rule, connections)],
      state: [before?.version ?? 0, shown(connections)],
      unnamed: expectedVersion === undefined ? "expectedVersion" : undefined,
    };
  },
);

const sectionClasses: readonly (readonly [RegExp, ApprovalClass])[] = [
  [/^(routing|connections)\b/, "routing"],
  [/^webhooks\b/, "endpoints"],
];
const sectionsOfOwners = /^(connections|alerts|refundLimits)\b/;

describes(
  ConfigurationService.method.applyConfiguration,
  async ({ desired, revision }, { database, environment, merchantId }) => {
    const held = await loadHeld(database, merchantId);
    requireRevision(revision, revisedParts(held));
    const { changes } = planConfiguration({ merchantId, environment, held }, desired!);
    const classes = sectionClasses.flatMap(([section, of]) =>
      changes.some(({ path }) => section.test(path)) ? [of] : [],
    );
    if (classes.length === 0) return undefined;
    return {
      classes,
      ...(changes.some(({ path }) => sectionsOfOwners.test(path)) && { role: "OWNER" }),
      sentences: changes.flatMap(({ sentences = [] }) => sentences),
      state: revisedParts(held),
      unnamed: revision === undefined ? "revision" : undefined,
    };
  },
);

const { resumeGatewayConnection, verifyGatewayConnection, rotateGatewayCredentials } = GatewayConnectionService.method;

describes(resumeGatewayConnection, async ({ connectionId }, { database, merchantId }) => {
  const { connection, name } = await findConnection(database, merchantId, connectionId);
  return {
    classes: ["routing"],
    sentences: [`${name} is resumed: it gets payments again by the routing rule.`],
    state: shown([connection]),
  };
});

describes(verifyGatewayConnection, async ({ connectionId, routePayments }, { database, environment, merchantId }) => {
  const { connection, name } = await findConnection(database, merchantId, connectionId);
  routingAnswer(environment, connection, routePayments);
  const newest = await loadNewestVersion(database, connection.id);
  // A check of credentials that are in use changes nothing.
  if (newest === connection.credentialVersion) return undefined;
  const isFirst = connection.credentialVersion === null;
  return {
    classes: isFirst && routePayments ? ["credentials", "routing"] : ["credentials"],
    sentences: [
      `The new credentials of ${name} are used once ${connection.gateway} accepts them.`,
      ...(isFirst ? [`Payments are ${routePayments ? "" : "not "}routed to ${name}.`] : []),
    ],
    state: [shown([connection]), newest],
  };
});

describes(rotateGatewayCredentials, async ({ connectionId, credentials }, { database, environment, merchantId }) => {
  const { connection, name } = await findConnection(database, merchantId, connectionId);
  refuseMisshapen(requireVerifiable(environment, connection.gateway), credentials);
  return {
    classes: ["credentials"],
    sentences: [`The credentials of ${name} are replaced by new ones once ${connection.gateway} accepts them.`],
    state: [shown([connection]), await loadNewestVersion(database, connection.id)],
  };
});

describes(ApiKeyService.method.regenerateApiKey, async (request, { database, merchantId }) => {
  const kind = request.kind === ApiKey_Kind.SECRET ? "secret" : "publishable";
  const keys = (await listKeys(database, merchantId)).filter((each) => each.kind === kind);
  const ends = keys.map(({ last4 }) => `…${last4}`).join(" and ");
  return {
    classes: ["credentials"],
    sentences: [`The ${kind} key ${ends} is replaced, and stops working immediately.`],
    state: keys.map(stateOfKey),
  };
});

describes(ApiKeyService.method.createRestrictedKey, async ({ name, rights, refundCap, expiresAt }) => {
  const caps = refundCap.map(({ amountMinor, currency }) => amountInWords(Number(amountMinor), currency));
  const end = expiresAt && new Date(Number(expiresAt.seconds) * 1_000).toISOString().slice(0, 16).replace("T", " ");
  return {
    classes: ["credentials"],
    sentences: [
      `The restricted key ${quoted(name)} is created, with the rights ${rights.join(", ")}.`,
      ...(caps.length > 0 ? [`It refunds at most ${caps.join(", ")} a day.`] : []),
      ...(end ? [`It ends at ${end} UTC.`] : []),
    ],
    state: [],
  };
});

describes(ApiKeyService.method.rollApiKey, async ({ keyId, oldKeySeconds }, { database, merchantId }) => {
  const keys = await listKeys(database, merchantId);
  const named = keys.filter((each) => encodeId("key", each.keyId) === keyId);
  const [key] = named;
  if (key === undefined) throw new DomainError("not_found", "There is no such key.");
  const hours = Number(oldKeySeconds) / 3_600;
  return {
    classes: ["credentials"],
    sentences: [
      `The ${key.name === null ? "secret key" : `key ${quoted(key.name)}`} …${key.last4} is replaced. It works for ${Number(hours.toFixed(1))} h longer.`,
    ],
    state: named.map(stateOfKey),
  };
});

const endpoints = WebhookEndpointService.method;
const typesInWords = (types: readonly string[] | null | undefined) =>
  types?.length ? types.join(", ") : "every event";

/** Returns an address as it is stored: what a browser or a person reads in its text may be another one. */
const addressOf = (url: string, { endpoints: { egress } }: DashboardEnvironment) =>
  parseEndpointUrl(url, egress.rule).href;

describes(endpoints.addWebhookEndpoint, async ({ url, eventTypes }, { environment }) => ({
  classes: ["endpoints"],
  sentences: [`${addressOf(url, environment)} is added as a webhook endpoint for ${typesInWords(eventTypes)}.`],
  state: [],
}));

describes(endpoints.updateWebhookEndpoint, async (request, describing) => {
  const { eventTypes, version } = request;
  const url = request.url === undefined ? undefined : addressOf(request.url, describing.environment);
  const endpoint = await findEndpoint(describing, request);
  const sentences = [
    ...(url !== undefined && url !== endpoint.url ? [`Events for ${endpoint.url} are posted to ${url} instead.`] : []),
    ...(eventTypes ? [`${url ?? endpoint.url} gets ${typesInWords(eventTypes.types)}.`] : []),
  ];
  return {
    ...ofEndpoint(endpoint, ...orElse(sentences, `${endpoint.url} stays as it is.`)),
    unnamed: version === undefined ? "version" : undefined,
  };
});

describes(endpoints.rotateWebhookSecret, async (request, describing) => {
  const endpoint = await findEndpoint(describing, request);
  const { overlapHours } = request;
  const old = overlapHours === 0 ? "stops immediately" : `is used beside it for ${overlapHours} h`;
  return ofEndpoint(endpoint, `${endpoint.url} gets a new signing secret. The old one ${old}.`);
});

describes(endpoints.resumeWebhookEndpoint, async (request, describing) => {
  const endpoint = await findEndpoint(describing, request);
  return ofEndpoint(endpoint, `${endpoint.url} is resumed: events are posted to it again.`);
});

describes(endpoints.enableWebhookEndpoint, async (request, describing) => {
  const endpoint = await findEndpoint(describing, request);
  requireVerified(endpoint);
  return ofEndpoint(endpoint, `${endpoint.url} is enabled: events are posted to it again.`);
});

describes(endpoints.removeWebhookEndpoint, async (request, describing) => {
  const endpoint = await findEndpoint(describing, request);
  return ofEndpoint(endpoint, `${endpoint.url} is removed for ever.`);
});

function ofEndpoint({ id, version }: Endpoint, ...sentences: string[]): Described {
  return { classes: ["endpoints"], sentences, state: [id, version] };
}

async function findEndpoint(
  { database, merchantId }: { readonly database: Queryable; readonly merchantId: MerchantId },
  { endpointId, version }: { readonly endpointId: string; readonly version?: number | undefined },
): Promise<Endpoint> {
  const key: EndpointKey = { merchantId, endpointId: requireEndpointId(endpointId) };
  const endpoint = await loadEndpoint(database, key);
  if (version === undefined || version === endpoint.version) return endpoint;
  const detail = "The endpoint was changed since you read it. Read it again, then repeat your change.";
  throw new DomainError("state_conflict", detail, { field: "version" });
}

async function findConnection(database: Queryable, merchantId: MerchantId, publicId: string) {
  const connections = await listConnections(database, merchantId);
  const connection = connectionOf(connections, publicId, "connectionId");
  return { connection, name: nameIn(connections)(connection.id) };
}

function shown(connections: readonly Connection[]): readonly unknown[] {
  return connections.map(({ id, credentialVersion, paused }) => [id, credentialVersion, paused]);
}

function stateOfKey({ keyId, last4, endsAt }: ShownKey): readonly unknown[] {
  return [keyId, last4, endsAt];
}

function orElse(sentences: readonly string[], otherwise: string): readonly string[] {
  return sentences.length > 0 ? sentences : [otherwise];
}
