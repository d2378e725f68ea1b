/** Simulates a routing rule on one payment or on past payments: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  RouteCase_Answer as AnswerMessage,
  CardRange_Type,
  ReplayedPayment_End as EndMessage,
  type RoutingRuleDraft,
  type RoutingRuleService,
  type TestFacts,
  TestRouteResponseSchema,
  WhatIfResponseSchema,
} from "../../gen/dashboard/v1/routing_rules_pb.ts";
import { cardTypes, type PaymentFacts } from "../core/decide/routing-cases.ts";
import { signPageToken, verifyPageToken } from "../core/page-token.ts";
import { findRuleInForce } from "../core/record/routing-rules.ts";
import type { RoutingCases, RoutingRule, Split } from "../core/rows/entities.ts";
import { type Connection, listConnections } from "../gateways/connections.ts";
import { DomainError } from "../platform/errors.ts";
import { type ConnectionId, decodeId, encodeId } from "../platform/ids.ts";
import { isCurrency } from "../platform/money.ts";
import { cutRange, lastDays } from "../reporting/analytics/analytics-range.ts";
import { loadComparisons } from "../reporting/analytics/split-comparisons.ts";
import { planDraft } from "../reporting/draft-route.ts";
import { measuredBy } from "../reporting/measured-plans.ts";
import { listPastSessions, type PastSession } from "../reporting/past-payments.ts";
import { describeAuthentication, type RouteCase, routeCases } from "../reporting/route-cases.ts";
import { describeRuleChanges } from "../reporting/rule-changes.ts";
import {
  addCounts,
  compareReplay,
  type Replay,
  type ReplayEnd,
  replayMeasured,
  replayPayment,
} from "../reporting/what-if.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { momentOf } from "./paging.ts";
import { amountMessage } from "./payment-messages.ts";
import { casesOf, splitOf } from "./routing-case-messages.ts";
import {
  authenticationOf,
  connectionOf,
  cryptogramResendOf,
  failoverOf,
  nameIn,
  policyOf,
} from "./routing-messages.ts";
import { type Scope, scopedContextOf } from "./rpc-context.ts";

// Sessions that one call of the what-if reads: some tens of milliseconds, so the page shows progress.
const whatIfSliceSessions = 2_000;
// Sessions of a whole what-if: enough for steady shares of a percent, and done in a second or two.
const whatIfSessionsMax = 10_000;
// Default range of a what-if in days: a week has each weekday once.
const whatIfDaysDefault = 7;
// Payments that each slice shows as examples: a person reads no more.
const whatIfExamples = 10;

// Days of which a what-if uses what splits have measured: the longest that it looks back.
const learntDays = 31;

/** The rpcs that test a rule. They call no gateway and change nothing. */
export function createRouteTests({
  runtime,
}: Pick<DashboardParts, "runtime">): Pick<ServiceImpl<typeof RoutingRuleService>, "testRoute" | "whatIf"> {
  return {
    async testRoute({ draft, amountMinor, currency, facts }, context) {
      const scope = scopedContextOf(context);
      const { core } = scope.environment;
      if (!isCurrency(currency)) {
        throw new DomainError("invalid_field", "This is not a currency in circulation.", { field: "currency" });
      }
      const { connections, newest, content, version } = await loadRule(scope, draft);
      const payment = { amountMinor: Number(amountMinor), currency, ...factsOf(facts, runtime.now()) };
      const { plan, skipped, routedBy } = planDraft(core, { ...content, version, connections }, payment);
      const { authentication = content.authentication } = routedBy ?? {};
      return create(TestRouteResponseSchema, {
        version,
        amount: amountMessage(payment.amountMinor, currency),
        plan: plan.map(({ priority, gateway, connectionId, authentication }) => ({
          ...publicConnection({ priority, gateway, connectionId }),
          authenticates: authentication !== undefined,
        })),
        skipped: skipped.map(publicConnection),
        cases: routeCases(plan, { ...content, authentication, version }).map(caseMessage),
        authentication: describeAuthentication(plan, authentication, content.policy?.withoutBrowser),
        ...(routedBy?.case !== undefined && { case: routedBy.case }),
        ...(routedBy?.split && { split: { arm: routedBy.split.arm, percent: routedBy.split.percent } }),
        unknownCases: (routedBy?.unknown ?? []).map((one) => `The case “${one.case}” is skipped. ${one.because}`),
        changes: draft === undefined ? [] : describeRuleChanges(newest, content, nameIn(connections)),
      });
    },

    async whatIf({ draft, days = whatIfDaysDefault, timeZone, pageToken }, context) {
      const scope = scopedContextOf(context);
      const { merchantId, environment } = scope;
      const { connections, content, version } = await loadRule(scope, draft);
      const now = runtime.now();
      const { key, list } = {
        key: environment.core.pageTokenKey,
        list: JSON.stringify([merchantId, "what-if", content, days, timeZone]),
      };
      const position = readPosition(pageToken && verifyPageToken(key, { scope: list, token: pageToken, now }));
      const cut = (count: number) =>
        cutRange(environment.reads, { ...lastDays(count, { timeZone: timeZone || "UTC", now }), pointLength: "week" });
      const since = position?.since ?? (await cut(days)).startsAt[0]!;
      const seen = position?.seen ?? 0;
      const count = Math.min(whatIfSliceSessions, whatIfSessionsMax - seen);
      const options = { merchantId, since, before: position?.before, count };
      const [sessions, comparisons] = await Promise.all([
        listPastSessions(environment.reads, options),
        loadComparisons(environment.reads, { merchantId, range: await cut(learntDays) }),
      ]);
      const measured = measuredBy(comparisons, content);
      const replayed = sessions.filter(isPayment).map((session) => {
        const plan = planDraft(environment.core, { ...content, version, connections }, session.facts, session.wallet);
        const { attempts, customerAsked, followed, wallet } = session;
        const succeeded = session.status === "SUCCEEDED" || session.released;
        const payment = { succeeded, attempts, customerAsked, wallet };
        const known = followed && plan.routedBy?.unknown === undefined && measured(followed, plan.connectionIds);
        const replay = known ? replayMeasured(plan, known) : replayPayment(payment, plan, { ...content, version });
        return { session, replay, counts: compareReplay(payment, replay) };
      });
      const last = sessions.at(-1);
      const sessionsSoFar = seen + sessions.length;
      const isOver = last === undefined || sessions.length < count || sessionsSoFar >= whatIfSessionsMax;
      const lastId = `${last?.id}/${sessionsSoFar}/${since.getTime()}`;
      return create(WhatIfResponseSchema, {
        counts: addCounts(replayed.map(({ counts }) => counts)),
        examples: replayed
          .filter(({ counts }) => counts.same === 0)
          .slice(0, whatIfExamples)
          .map(exampleMessage),
        nextPageToken: isOver ? "" : signPageToken(key, { scope: list, lastId, now }),
        sessionsSoFar,
        ...(last && { reached: timestampFromDate(last.createdAt) }),
      });
    },
  };
}

/** Returns a draft's content and the version that it would get; without a draft the rule in force. */
async function loadRule({ merchantId, environment: { core, database } }: Scope, draft: RoutingRuleDraft | undefined) {
  const [connections, newest] = await Promise.all([
    listConnections(database, merchantId),
    findRuleInForce(core, database, merchantId),
  ]);
  const kept = { connectionIds: newest?.connectionIds ?? [], failoverOn: newest?.failoverOn ?? [] };
  const content = {
    ...(draft === undefined ? kept : draftContent(draft, connections)),
    authentication: authenticationOf(draft?.authentication, newest),
    providerId: draft?.providerId === undefined ? newest?.providerId : decodeId("gc", draft.providerId),
    policy: policyOf(draft?.policy, newest),
    cases: draftCases(draft, newest, connections),
    split: draftSplit(draft, newest, connections),
    retriesSameGateway: draft?.retriesSameGateway ?? newest?.retriesSameGateway ?? false,
    cryptogramResend: cryptogramResendOf(draft?.cryptogramResend, newest),
  };
  return { connections, newest, content, version: (newest?.version ?? 0) + (draft === undefined ? 0 : 1) };
}

function draftContent({ connectionIds, failoverOn }: RoutingRuleDraft, connections: readonly Connection[]) {
  return {
    connectionIds: connectionIds.map((publicId) => connectionOf(connections, publicId).id),
    failoverOn: failoverOf(failoverOn),
  };
}

function draftCases(
  draft: RoutingRuleDraft | undefined,
  newest: RoutingRule | undefined,
  connections: readonly Connection[],
): RoutingCases | null {
  const named = casesOf(draft?.cases, newest);
  if (named === null) return null;
  const list = named.list.map((one, index) => {
    const at = `cases.list[${index}]`;
    const connectionIds = idsOf(one.connectionIds, connections, `${at}.connectionIds`);
    if (one.split === undefined) return { ...one, connectionIds };
    const ofArm = idsOf(one.split.connectionIds, connections, `${at}.split.connectionIds`);
    return { ...one, connectionIds, split: { ...one.split, connectionIds: ofArm } };
  });
  return { ...named, list };
}

function draftSplit(
  draft: RoutingRuleDraft | undefined,
  newest: RoutingRule | undefined,
  connections: readonly Connection[],
): Split | null {
  if (draft === undefined) return newest?.split ?? null;
  const named = splitOf(draft.split, newest, draft.connectionIds);
  return named && { ...named, connectionIds: idsOf(named.connectionIds, connections, "split.connectionIds") };
}

function idsOf(publicIds: readonly string[], connections: readonly Connection[], field: string): ConnectionId[] {
  return publicIds.map((publicId) => connectionOf(connections, publicId, field).id);
}

/** Returns the facts of a payment to test; those that are not given are unknown. */
function factsOf(message: TestFacts | undefined, now: Date): Omit<PaymentFacts, "amountMinor" | "currency"> {
  const { cardBrand = "", cardType, issuingCountry = "", billingCountry = "", metadata, at, arm } = message ?? {};
  const type = cardTypes.find((name) => CardRange_Type[name] === cardType);
  return {
    metadata,
    at: momentOf("facts.at", at) ?? now,
    // Every share of arm B includes 1, and none includes 100.
    draw: arm === "B" ? 1 : 100,
    ...(billingCountry !== "" && { billingCountry }),
    card: {
      ...(cardBrand !== "" && { brand: cardBrand }),
      ...(issuingCountry !== "" && { country: issuingCountry }),
      ...(type && { type }),
    },
  };
}

function isPayment({ submitted, status }: PastSession): boolean {
  return submitted && status !== "CREATED";
}

/** Returns the position at which the previous slice ended. */
function readPosition(text: string) {
  if (text === "") return undefined;
  const [before, seen, since] = text.split("/");
  return { before, seen: Number(seen), since: new Date(Number(since)) };
}

function publicConnection<Row extends { readonly connectionId: ConnectionId }>(row: Row) {
  const { connectionId, ...rest } = row;
  return { ...rest, connectionId: encodeId("gc", connectionId) };
}

function caseMessage({ answer, steps, status }: RouteCase) {
  return {
    answer: AnswerMessage[answer],
    status,
    steps: steps.map(({ at, action, because }) => ({
      gateway: at.gateway,
      connectionId: encodeId("gc", at.connectionId),
      action,
      because,
    })),
  };
}

const endMessages: Record<ReplayEnd, EndMessage> = {
  succeeds: EndMessage.SUCCEEDS,
  fails: EndMessage.FAILS,
  cannotKnow: EndMessage.CANNOT_KNOW,
};

function exampleMessage({ session, replay }: { session: PastSession; replay: Replay }) {
  return {
    sessionId: encodeId("ps", session.id),
    createdAt: timestampFromDate(session.createdAt),
    statusThen: session.released ? "RELEASED" : session.status,
    askedThen: session.attempts.map(({ gateway }) => gateway),
    askedInstead: replay.asked.map(({ gateway }) => gateway),
    end: endMessages[replay.end],
    because: replay.because,
  };
}
