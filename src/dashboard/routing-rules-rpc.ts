/** A merchant's routing rule and its versions: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetRoutingRuleResponseSchema,
  ListRoutingRuleVersionsResponseSchema,
  type RoutingRuleService,
  type SetRoutingRuleRequest,
} from "../../gen/dashboard/v1/routing_rules_pb.ts";
import {
  findRoutingRule,
  findRuleInForce,
  listRoutingRules,
  type RuleContent,
  recordRoutingRule,
} from "../core/record/routing-rules.ts";
import type { RoutingCase, RoutingRule, Split } from "../core/rows/entities.ts";
import { type Connection, listConnections } from "../gateways/connections.ts";
import type { Queryable, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type ConnectionId, encodeId, type MerchantId } from "../platform/ids.ts";
import { describeRuleChanges } from "../reporting/rule-changes.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { casesOf, splitOf } from "./routing-case-messages.ts";
import {
  authenticationOf,
  connectionOf,
  cryptogramResendOf,
  failoverOf,
  nameIn,
  policyOf,
  ruleMessage,
  showRule,
} from "./routing-messages.ts";
import { createRouteTests } from "./routing-tests-rpc.ts";
import { type ScopedContext, scopedContextOf } from "./rpc-context.ts";

type VersionParts = Pick<DashboardParts, "runtime">;

export function createRoutingRuleService(parts: VersionParts): ServiceImpl<typeof RoutingRuleService> {
  return {
    async setRoutingRule(request, context) {
      const routingRule = await setRule(scopedContextOf(context), request.expectedVersion, ({ before }) =>
        wantedRule(request, before),
      );
      return { routingRule };
    },

    async getRoutingRule(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const rule = await findRuleInForce(environment.core, environment.database, merchantId);
      return create(GetRoutingRuleResponseSchema, rule === undefined ? {} : { routingRule: ruleMessage(rule) });
    },

    async listRoutingRuleVersions(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { database, core } = environment;
      const list = { list: [merchantId, "routing-rule-versions"], key: core.pageTokenKey, now: parts.runtime.now() };
      let oldest: RoutingRule | undefined;
      const { rows, nextPageToken } = await loadPage(request, list, async ({ after, count }) => {
        const newest = after === undefined ? undefined : Number(after) - 1;
        const rules = await listRoutingRules(database, { merchantId, newest, count });
        oldest = rules.at(count - 1);
        return rules.map((rule) => ({ ...rule, id: String(rule.version) }));
      });
      const nameOf = nameIn(await listConnections(database, merchantId));
      const versions = rows.map((rule, index) => ({
        routingRule: ruleMessage(rule),
        changes: describeRuleChanges(rows[index + 1] ?? oldest, rule, nameOf),
      }));
      return create(ListRoutingRuleVersionsResponseSchema, { versions, nextPageToken });
    },

    async restoreRoutingRule({ version, expectedVersion }, context) {
      const routingRule = await setRule(scopedContextOf(context), expectedVersion, ({ tx, merchantId, before }) =>
        restoredRule(tx, { merchantId, version, before }),
      );
      return { routingRule };
    },

    ...createRouteTests(parts),
  };
}

type NewRule = RuleContent & { readonly restoredFrom?: number };

/** Returns the rule that a request asks for, with public ids. */
export function wantedRule(request: SetRoutingRuleRequest, before: RoutingRule | undefined): RuleContent {
  return {
    connectionIds: request.connectionIds,
    failoverOn: failoverOf(request.failoverOn),
    authentication: authenticationOf(request.authentication, before),
    providerId: request.providerId ?? (before?.providerId ? encodeId("gc", before.providerId) : ""),
    policy: policyOf(request.policy, before),
    cases: casesOf(request.cases, before),
    split: splitOf(request.split, before, request.connectionIds),
    retriesSameGateway: request.retriesSameGateway ?? before?.retriesSameGateway ?? false,
    cryptogramResend: cryptogramResendOf(request.cryptogramResend, before),
  };
}

/** Returns an earlier version of the rule, with public ids. Throws for one that does not exist, or is in use. */
export async function restoredRule(
  queryable: Queryable,
  { merchantId, version, before }: { merchantId: MerchantId; version: number; before: RoutingRule | undefined },
): Promise<NewRule> {
  const [rule] = await listRoutingRules(queryable, { merchantId, newest: version, count: 1 });
  if (rule?.version !== version) throw new DomainError("not_found", "This version of the rule does not exist.");
  if (before?.version === version) throw new DomainError("state_conflict", "This version is already in use.");
  const { version: _, ...content } = showRule(rule);
  return { ...content, cryptogramResend: rule.cryptogramResend, restoredFrom: version };
}
type Changing = { readonly tx: Tx; readonly merchantId: MerchantId; readonly before: RoutingRule | undefined };

/** Saves `wanted` as the newest version, unless another one was saved since `expected`. */
async function setRule(
  { merchantId, environment: { core }, rpcContext, change }: ScopedContext,
  expected: number | undefined,
  wanted: (changing: Changing) => NewRule | Promise<NewRule>,
) {
  const rule = await change(async (tx) => {
    const before = await findRoutingRule(tx, merchantId);
    requireVersion(before, expected);
    const { restoredFrom, ...content } = await wanted({ tx, merchantId, before });
    const rule = verifiedRule({ connections: await listConnections(tx, merchantId), core }, content);
    return saveRule(tx, { merchantId, rpcContext }, { before, rule, restoredFrom });
  });
  return ruleMessage(rule);
}

/** Returns a rule whose connections have public ids with their ids. Throws `invalid_field` for one that is not verified. */
export function verifiedRule(among: Among, content: RuleContent): RuleContent {
  const requireAll = (named: readonly string[], field: string) => requireVerified(among, named, field);
  const verifiedSplit = (named: Split | null | undefined, field: string) =>
    named && { ...named, connectionIds: requireAll(named.connectionIds, `${field}.connectionIds`) };
  const connectionIds = requireAll(content.connectionIds, "connectionIds");
  const list = (content.cases?.list ?? []).map((one, index): RoutingCase => {
    const field = `cases.list[${index}]`;
    try {
      const verified = requireAll(one.connectionIds, `${field}.connectionIds`);
      const split = verifiedSplit(one.split, `${field}.split`);
      return { ...one, connectionIds: verified, ...(split && { split }) };
    } catch (error) {
      throw inCase(one.name, error);
    }
  });
  const split = verifiedSplit(content.split, "split");
  const providerId = content.providerId ? requireProvider(among, content.providerId) : null;
  return { ...content, connectionIds, cases: content.cases && { ...content.cases, list }, split, providerId };
}

/** The merchant's connections, and the function that distinguishes a gateway from a provider of authentication. */
type Among = {
  readonly connections: readonly Connection[];
  readonly core: Pick<DashboardEnvironment["core"], "providerOf">;
};

/** Saves a rule as the newest version, with its audit row. */
export async function saveRule(
  tx: Tx,
  { merchantId, rpcContext }: Pick<ScopedContext, "merchantId" | "rpcContext">,
  saved: {
    readonly before: RoutingRule | undefined;
    readonly rule: RuleContent;
    readonly restoredFrom?: number | undefined;
  },
): Promise<RoutingRule> {
  const { before, rule, restoredFrom } = saved;
  const origin = restoredFrom === undefined ? {} : { restoredFrom };
  await recordRoutingRule(tx, { ...rule, merchantId, setBy: rpcContext.actor, ...origin });
  const after = await findRoutingRule(tx, merchantId);
  const subject = `${encodeId("mer", merchantId)}/routing-rule`;
  await rpcContext.audit(tx, {
    subject,
    before: before && showRule(before),
    after: { ...showRule(after!), ...origin },
  });
  return after!;
}

export function requireVersion(before: RoutingRule | undefined, expected: number | undefined): void {
  if (expected === undefined || expected === (before?.version ?? 0)) return;
  if (before === undefined) throw new DomainError("state_conflict", "There is no rule to change yet.");
  const by = before.setBy === null || before.setBy === undefined ? "" : ` by ${before.setBy}`;
  throw new DomainError(
    "state_conflict",
    `Version ${before.version} was set${by} at ${before.createdAt.toISOString()}, and your change is based on version ${expected}. Review the changes, then save again.`,
  );
}

/** Returns the id of a verified connection of a provider. Throws `invalid_field` for any other. */
function requireProvider({ connections, core }: Among, publicId: string): ConnectionId {
  const found = connections.find(({ id }) => encodeId("gc", id) === publicId);
  if (found?.credentialVersion && core.providerOf(found.gateway)) return found.id;
  throw new DomainError("invalid_field", "This is no verified connection of a provider of authentication.", {
    field: "providerId",
  });
}

/** Returns the refusal of a connection with the name of the case that has it. */
function inCase(name: string, error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  return new DomainError(error.code, `Case “${name}”: ${error.message}`, { field: error.field ?? "cases" });
}

function requireVerified({ connections, core }: Among, named: readonly string[], field: string): ConnectionId[] {
  return named.map((publicId) => {
    const { id, credentialVersion, gateway, account } = connectionOf(connections, publicId, field);
    if (core.providerOf(gateway) !== undefined) {
      const detail = `No payment is routed to ${gateway}: it only authenticates customers.`;
      throw new DomainError("invalid_field", detail, { field });
    }
    if (credentialVersion !== null) return id;
    throw new DomainError("invalid_field", `The connection to ${gateway} (${account}) is not verified yet.`, { field });
  });
}
