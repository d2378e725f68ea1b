/** A request that each rpc of the dashboard answers, in an order in which each finds what it needs; a group for each page. */
import type { DashboardFixture } from "../dashboard-fixture.ts";

/** What earlier answers told. */
export type KnownIds = { connectionId: string; endpointId: string; invitationId: string };

/** What requests are made of. `call` calls a method by its name, as an operator. */
export type RequestParts = {
  readonly dashboard: DashboardFixture;
  readonly scope: { readonly merchantId: string; readonly environment: string };
  readonly ids: Readonly<KnownIds>;
  /** An endpoint that answers. */
  readonly receiverUrl: string;
  readonly call: (name: string, request: object) => Promise<unknown>;
};

/** By the method's name, what is asked. */
export type AnsweredRequests = Record<string, () => object | Promise<object>>;

/** All of them. */
export async function answeredRequests(parts: RequestParts): Promise<AnsweredRequests> {
  return {
    ...merchantRequests(parts),
    ...connectionRequests(parts),
    ...routingRequests(parts),
    ...endpointRequests(parts),
    ...deliveryRequests(parts),
    ...endOfEndpointRequests(parts),
    ...(await watchRequests(parts)),
    ...(await teamRequests(parts)),
    ...(await paymentRequests(parts)),
  };
}

function merchantRequests({ scope }: RequestParts): AnsweredRequests {
  return {
    CreateMerchant: () => ({ name: "Tea House" }),
    ListMerchants: () => ({}),
    ListApiKeys: () => scope,
    RegenerateApiKey: () => ({ ...scope, kind: "PUBLISHABLE" }),
    SetCheckoutOrigins: () => ({ ...scope, checkoutOrigins: ["https://shop.example.com"] }),
    GetAnalytics: () => ({ ...scope, firstDay: "2026-01-01", lastDay: "2026-01-02", timeZone: "UTC" }),
    SetSessionLifetime: () => ({ ...scope, sessionLifetimeSeconds: 900 }),
    GetSettings: () => scope,
    EraseCustomer: () => ({ ...scope, email: "customer@example.com" }),
  };
}

function connectionRequests({ scope, ids }: RequestParts): AnsweredRequests {
  return {
    AddGatewayConnection: () => ({
      ...scope,
      gateway: "SANDBOX_A",
      account: "every-rpc",
      credentials: { apiKey: "sandbox_test_every-rpc" },
    }),
    VerifyGatewayConnection: () => ({ ...scope, connectionId: ids.connectionId }),
    RotateGatewayCredentials: () => ({
      ...scope,
      connectionId: ids.connectionId,
      credentials: { apiKey: "sandbox_test_every-rpc" },
    }),
    PauseGatewayConnection: () => ({ ...scope, connectionId: ids.connectionId }),
    ResumeGatewayConnection: () => ({ ...scope, connectionId: ids.connectionId }),
    ListUnclassifiedCodes: () => scope,
    ListGatewayConnections: () => scope,
    ListGateways: () => scope,
    ListGatewayHealth: () => scope,
  };
}

function routingRequests({ scope, ids, call }: RequestParts): AnsweredRequests {
  const connectionIds = () => [ids.connectionId];
  return {
    SetRoutingRule: () => ({ ...scope, connectionIds: connectionIds(), failoverOn: ["TIMEOUT"] }),
    GetRoutingRule: () => scope,
    ListRoutingRuleVersions: () => scope,
    RestoreRoutingRule: async () => {
      await call("SetRoutingRule", { ...scope, connectionIds: connectionIds() });
      return { ...scope, version: 1 };
    },
    TestRoute: () => ({ ...scope, amountMinor: 4900, currency: "EUR" }),
    WhatIf: () => ({ ...scope, draft: { connectionIds: connectionIds() } }),
  };
}

function endpointRequests({ scope, ids, receiverUrl }: RequestParts): AnsweredRequests {
  const endpoint = () => ({ ...scope, endpointId: ids.endpointId });
  return {
    AddWebhookEndpoint: () => ({ ...scope, url: receiverUrl }),
    VerifyWebhookEndpoint: endpoint,
    ListWebhookEndpoints: () => scope,
    GetWebhookEndpoint: endpoint,
    UpdateWebhookEndpoint: () => ({ ...endpoint(), eventTypes: { types: ["payment_session.succeeded"] } }),
    RotateWebhookSecret: () => ({ ...endpoint(), overlapHours: 1 }),
    PauseWebhookEndpoint: endpoint,
    ResumeWebhookEndpoint: endpoint,
  };
}

function deliveryRequests({ dashboard, scope, ids }: RequestParts): AnsweredRequests {
  const endpoint = () => ({ ...scope, endpointId: ids.endpointId });
  const delivery = async () => ({ ...endpoint(), eventId: (await dashboard.tellEvent()).eventId });
  return {
    ListWebhookDeliveries: () => scope,
    GetWebhookDelivery: delivery,
    ReplayWebhookDelivery: delivery,
    RecoverWebhookDeliveries: () => ({ ...endpoint(), since: "2026-01-01T00:00:00Z" }),
    ListWebhookEvents: () => ({ ...scope, fromNow: true }),
    AcknowledgeWebhookNotice: async () => ({ ...scope, noticeId: await dashboard.openNotice(ids.endpointId) }),
    ListWebhookNotices: () => scope,
    SetNoticeAddresses: () => ({ ...scope, addresses: ["ops@example.com"] }),
    GetNoticeAddresses: () => scope,
  };
}

function endOfEndpointRequests({ scope, ids }: RequestParts): AnsweredRequests {
  const endpoint = () => ({ ...scope, endpointId: ids.endpointId });
  return { DisableWebhookEndpoint: endpoint, EnableWebhookEndpoint: endpoint, RemoveWebhookEndpoint: endpoint };
}

async function watchRequests({ dashboard, scope }: RequestParts): Promise<AnsweredRequests> {
  const { environment } = scope;
  const { workItemId } = await dashboard.openItem("close me");
  return {
    ListAuditEntries: () => scope,
    ListWorkItems: () => ({ environment }),
    CloseWorkItem: () => ({ environment, workItemId, note: "looked at" }),
    ListComparisonRuns: () => ({ environment }),
  };
}

async function paymentRequests({ dashboard, scope }: RequestParts): Promise<AnsweredRequests> {
  const { sessionId } = await dashboard.tellEvent();
  return {
    ListPayments: () => scope,
    SearchPayments: () => ({ ...scope, text: sessionId }),
    GetPayment: () => ({ ...scope, sessionId }),
    ExportPayments: () => scope,
    ListCurrencies: () => scope,
    GetHome: () => scope,
  };
}

async function teamRequests({ dashboard, scope, ids }: RequestParts): Promise<AnsweredRequests> {
  await dashboard.addMember("Olive", "OWNER");
  const { memberId } = await dashboard.addMember("Milo", "VIEWER");
  const team = { merchantId: scope.merchantId };
  return {
    ListMembers: () => team,
    InviteMember: () => ({ ...team, email: "Nina@Example.com", role: "ROLE_DEVELOPER" }),
    MakeInvitationLink: () => ({ ...team, email: "Nils@Example.com", role: "ROLE_VIEWER" }),
    RevokeInvitation: () => ({ ...team, invitationId: ids.invitationId }),
    ChangeMemberRole: () => ({ ...team, memberId, role: "ROLE_OWNER" }),
    ResetMemberPassword: () => ({ email: "Milo@example.com" }),
    RemoveSecondFactors: () => ({ email: "milo@example.com" }),
    RemoveMember: () => ({ ...team, memberId }),
  };
}
