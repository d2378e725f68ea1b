/**
 * A request that each rpc of the dashboard answers, in an order in which each finds its data; a group for each page.
 */
import { v7 } from "uuid";
import type { DashboardFixture } from "../../../dashboard/dashboard.fixture.ts";
import { revisionOf } from "../../../dashboard/settings-revision.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { AppleAuthority } from "../../../sandbox/wallets/apple-authority.ts";
import { makeDisputed } from "./disputed-payment.ts";
import { makeHeld, makePayment, makeStoredCard, openTables } from "./payment-rows.ts";
import { makePayout } from "./payout-rows.ts";

export type KnownIds = { connectionId: string; endpointId: string; invitationId: string };

/** The parts that requests are made of. `call` calls a method by its name, as an operator. */
export type RequestParts = {
  readonly dashboard: DashboardFixture;
  readonly scope: { readonly merchantId: string; readonly environment: string };
  readonly ids: Readonly<KnownIds>;
  /** An endpoint that answers. */
  readonly receiverUrl: string;
  readonly call: (name: string, request: object) => Promise<unknown>;
};

export type AnsweredRequests = Record<string, () => object | Promise<object>>;

export async function answeredRequests(parts: RequestParts): Promise<AnsweredRequests> {
  return {
    ...merchantRequests(parts),
    ...connectionRequests(parts),
    ...routingRequests(parts),
    ...endpointRequests(parts),
    ...deliveryRequests(parts),
    ...endOfEndpointRequests(parts),
    ...walletRequests(parts),
    ...(await watchRequests(parts)),
    ...(await teamRequests(parts)),
    ...(await paymentRequests(parts)),
  };
}

function merchantRequests({ dashboard, scope }: RequestParts): AnsweredRequests {
  const restrictedKey = async () => {
    const inUse = "SELECT key_id AS id FROM api_key WHERE kind = 'restricted' AND revoked_at IS NULL";
    const [key] = await dashboard.rows<{ id: string }>(inUse);
    return encodeId("key", key!.id);
  };
  return {
    CreateMerchant: () => ({ name: "Tea House" }),
    ListMerchants: () => ({}),
    MoveMerchant: () => ({ ...scope, toCell: 1 }),
    ListCells: () => ({}),
    ListApiKeys: () => scope,
    RegenerateApiKey: () => ({ ...scope, kind: "PUBLISHABLE" }),
    CreateRestrictedKey: () => ({ ...scope, name: "Reports", rights: ["sessions.read"] }),
    RollApiKey: async () => ({ ...scope, keyId: await restrictedKey(), oldKeySeconds: 3600 }),
    RevokeApiKey: async () => ({ ...scope, keyId: await restrictedKey() }),
    SetCheckoutOrigins: () => ({ ...scope, checkoutOrigins: ["https://shop.example.com"] }),
    GetAnalytics: () => ({ ...scope, firstDay: "2026-01-01", lastDay: "2026-01-02", timeZone: "UTC" }),
    SetSessionLifetime: () => ({ ...scope, sessionLifetimeSeconds: 900 }),
    SetBraking: () => ({ ...scope, hold: "NONE" }),
    SetRepeatedOrders: () => ({ ...scope, repeatedOrders: "REPEATED_ORDERS_WARN" }),
    SetStatementDescriptor: () => ({ ...scope, statementDescriptor: "Acme Books" }),
    GetSettings: () => scope,
    EraseCustomer: () => ({ ...scope, email: "customer@example.com" }),
  };
}

/** An identity's key: the others need a vault. */
function walletRequests({ scope, call }: RequestParts): AnsweredRequests {
  const identity = { ...scope, kind: "WALLET_KEY_KIND_APPLE_IDENTITY" };
  const recipient = "merchant.com.example";
  const create = async () => {
    const { wallets } = (await call("CreateWalletKey", { ...identity, recipient })) as {
      wallets: { keys: { id: string; signingRequest: string }[] };
    };
    return wallets.keys[0]!;
  };
  return {
    GetWallets: () => scope,
    SetWalletCountry: () => ({ ...scope, countryCode: "DE" }),
    CreateWalletKey: () => ({ ...identity, recipient }),
    ActivateWalletKey: async () => {
      const { id, signingRequest } = await create();
      const certificate = await (await AppleAuthority.create()).issueFor(signingRequest, recipient);
      return { ...identity, id, certificate: certificate.toString("base64") };
    },
    DropWalletKey: async () => ({ ...identity, id: (await create()).id }),
    SetDomainFile: () => ({ ...scope, domainFile: "7b22" }),
    // Uses the origin and the file of SetCheckoutOrigins and SetDomainFile; the origin does not serve the file.
    CheckDomain: () => ({ ...scope, origin: "https://shop.example.com" }),
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
    SetAcquirerData: () => ({
      ...scope,
      connectionId: ids.connectionId,
      acquirer: {
        mcc: "5411",
        country: "AT",
        merchantName: "Acme",
        networks: [{ network: "visa", acquirerBin: "438309", acquirerMerchantId: "00002000000" }],
        exemptions: [{ kind: "LOW_VALUE", currency: "EUR", upToMinor: "3000" }],
      },
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
    GetConfiguration: () => scope,
    PlanConfiguration: () => ({ ...scope, desired: { webhooks: {} } }),
    ApplyConfiguration: () => ({ ...scope, desired: { checkout: configuredCheckout }, allowRemovals: true }),
    TestRoute: () => ({ ...scope, amountMinor: 4900, currency: "EUR" }),
    WhatIf: () => ({ ...scope, draft: { connectionIds: connectionIds() } }),
  };
}

const configuredCheckout = {
  origins: ["https://shop.example.com"],
  sessionLifetimeSeconds: 1_200,
  statementDescriptor: "Acme Books",
  repeatedOrders: "REPEATED_ORDERS_WARN",
};

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
  const delivery = async () => ({ ...endpoint(), eventId: (await dashboard.emitEvent()).eventId });
  return {
    ListWebhookDeliveries: () => scope,
    GetWebhookDelivery: delivery,
    ReplayWebhookDelivery: delivery,
    RecoverWebhookDeliveries: () => ({ ...endpoint(), since: "2026-01-01T00:00:00Z" }),
    AcknowledgeWebhookAlert: async () => ({ ...scope, alertId: await dashboard.openAlert(ids.endpointId) }),
    ListWebhookAlerts: () => scope,
    SetAlertAddresses: () => ({ ...scope, addresses: ["ops@example.com"] }),
    GetAlertAddresses: () => scope,
    GetAlertSettings: () => scope,
    SetMutedAlerts: () => ({ ...scope, mutedTopics: ["ALERT_TOPIC_UNVERIFIED"] }),
    SetAlertChat: () => ({ ...scope, url: "" }),
    SendTestAlert: () => scope,
  };
}

function endOfEndpointRequests({ scope, ids }: RequestParts): AnsweredRequests {
  const endpoint = () => ({ ...scope, endpointId: ids.endpointId });
  return { DisableWebhookEndpoint: endpoint, EnableWebhookEndpoint: endpoint, RemoveWebhookEndpoint: endpoint };
}

async function watchRequests({ dashboard, scope }: RequestParts): Promise<AnsweredRequests> {
  const { environment } = scope;
  const { workItemId } = await dashboard.openItem("close me");
  const alarm = await dashboard.openItem("close me too");
  return {
    ListAuditEntries: () => scope,
    ListWorkItems: () => ({ environment }),
    CloseAlarm: () => ({ ...scope, workItemId: alarm.workItemId, note: "looked at" }),
    CloseWorkItem: () => ({ environment, workItemId, note: "looked at" }),
    ListReconciliationRuns: () => ({ environment }),
  };
}

const receipt = { name: "receipt.pdf", contentType: "application/pdf", content: "JVBERi0xLjQ=" };

async function paymentRequests({ dashboard, scope, call }: RequestParts): Promise<AnsweredRequests> {
  const { sessionId } = await dashboard.emitEvent();
  const refundable = await makeRefundable(dashboard);
  const held = await Promise.all([1, 2].map(() => makeHeld(dashboard)));
  const stored = await makeStoredCard(dashboard, { stoppedBecause: "lost_or_stolen" });
  const [accepted, contested, silent, settled] = [
    await makeDisputed(dashboard),
    await makeDisputed(dashboard),
    await makeDisputed(dashboard, { silent: true }),
    await makeDisputed(dashboard, { settled: true }),
  ];
  const [decided, confirmed, withdrawn] = await Promise.all([1, 2, 3].map(() => makeVoiding(dashboard)));
  return {
    ListPayments: () => scope,
    CountPayments: () => scope,
    SearchPayments: () => ({ ...scope, text: sessionId }),
    GetPayment: () => ({ ...scope, sessionId }),
    ListBlockableParts: () => ({ ...scope, sessionId }),
    AddBlocklistEntry: () => ({ ...scope, email: "tester@example.com", reason: "tried cards" }),
    ListBlocklist: () => scope,
    EndBlocklistEntry: async () => {
      const added = await call("AddBlocklistEntry", { ...scope, network: "93.184.216.0/24", reason: "tried cards" });
      return { ...scope, entryId: (added as { entry: { entryId: string } }).entry.entryId };
    },
    GetCustomerTotals: () => ({ ...scope, email: "ada@example.com" }),
    GetStoredCards: () => ({ ...scope, customerRef: stored.customerRef }),
    LiftCardStop: () => ({ ...scope, paymentMethodId: stored.paymentMethodId, reason: "the bank set it up wrongly" }),
    CancelStoredAgreement: () => ({ ...scope, agreementId: stored.agreementId, reason: "asked by mail" }),
    DeleteStoredCard: () => ({ ...scope, paymentMethodId: stored.paymentMethodId, reason: "asked by mail" }),
    ExportPayments: () => scope,
    RefundPayment: () => {
      const { sessionId: refunded } = refundable;
      return { ...scope, sessionId: refunded, idempotencyKey: "return-1", amountMinor: "100" };
    },
    GetDisputeOptions: () => ({ ...scope, ...accepted }),
    GetDisputeFacts: () => ({ ...scope, ...accepted }),
    AddDisputeFile: () => ({ ...scope, ...contested, file: receipt }),
    AcceptDispute: () => ({ ...scope, ...accepted }),
    SubmitEvidence: () => ({ ...scope, ...contested, evidence: { explanation: "It was delivered." } }),
    DecideDispute: () => ({ ...scope, ...silent, won: true, reason: "looked at" }),
    LinkDisputeRefund: () => ({ ...scope, ...settled, reason: "looked at" }),
    CapturePayment: () => ({ ...scope, sessionId: held[0], reason: "shipped", amountMinor: "100" }),
    CancelPayment: () => ({ ...scope, sessionId: held[1], reason: "out of stock" }),
    DecideRefund: () => ({ ...scope, ...refundable, decision: "NEVER_MADE", reason: "looked at" }),
    GetRefund: () => ({ ...scope, refundId: refundable.refundId }),
    ListRefunds: () => scope,
    ExportRefunds: () => scope,
    GetRefundLimits: () => scope,
    SetRefundLimits: () => ({ ...scope, role: "ROLE_DEVELOPER", limits: [{ currency: "EUR", amountMinor: "50000" }] }),
    GetLedgerTotals: () => ({ ...scope, day: "2026-03-04" }),
    ExportLedger: () => ({ ...scope, day: "2026-03-04" }),
    ListPayouts: () => scope,
    ExportPayouts: () => scope,
    GetPayout: async () => ({ ...scope, payoutId: (await makePayout(dashboard)).payoutId }),
    ListPayoutLines: () => scope,
    ExportPayoutLines: () => scope,
    ListSettlements: () => scope,
    ExportSettlements: () => scope,
    GetSettlementOverview: () => scope,
    GetCosts: () => ({ ...scope, firstDay: "2026-01-01", lastDay: "2026-01-31" }),
    GetPaymentSettlements: () => ({ ...scope, sessionId }),
    ListCurrencies: () => scope,
    GetHome: () => scope,
    DecideAttempt: () => ({ ...scope, ...decided, kind: "GIVEN_UP", reason: "looked at", noMoneyKept: true }),
    ConfirmAttemptDecision: async () => {
      await waitForSecond(dashboard, confirmed!);
      return { ...scope, ...confirmed, kind: "GIVEN_UP" };
    },
    WithdrawAttemptDecision: async () => {
      await waitForSecond(dashboard, withdrawn!);
      return { ...scope, ...withdrawn };
    },
  };
}

async function teamRequests({ dashboard, scope, ids }: RequestParts): Promise<AnsweredRequests> {
  await dashboard.addMember("Olive", "OWNER");
  const { memberId } = await dashboard.addMember("Milo", "VIEWER");
  const team = { merchantId: scope.merchantId };
  return {
    ListMembers: () => team,
    InviteMember: () => ({ ...team, email: "Nina@Example.com", role: "ROLE_DEVELOPER", liveRole: "ROLE_NONE" }),
    MakeInvitationLink: () => ({ ...team, email: "Nils@Example.com", role: "ROLE_VIEWER", liveRole: "ROLE_VIEWER" }),
    RevokeInvitation: () => ({ ...team, invitationId: ids.invitationId }),
    ChangeMemberRole: () => ({ ...team, memberId, role: "ROLE_OWNER", liveRole: "ROLE_OWNER" }),
    ResetMemberPassword: () => ({ email: "Milo@example.com" }),
    SetBreakGlass: () => ({ email: "olive@example.com", isBreakGlass: true }),
    RemoveSecondFactors: () => ({ email: "milo@example.com" }),
    RemoveMember: () => ({ ...team, memberId }),
    GetApprovalPolicy: () => scope,
    // The revision of a policy that has nothing on.
    SetApprovalPolicy: () => ({ ...scope, policy: {}, revision: revisionOf([[false, false, false, false], []]) }),
    ListApprovals: () => scope,
  };
}

type Named = { readonly sessionId: string; readonly attemptId: string };

async function makeVoiding(dashboard: DashboardFixture): Promise<Named> {
  await openTables(dashboard);
  const attempts = [{ gateway: "SANDBOX_A", became: "VOIDING" }] as const;
  const { sessionId, attemptIds } = await makePayment(dashboard, { status: "DEGRADED", processing: true, attempts });
  return { sessionId, attemptId: attemptIds[0]! };
}

/** Makes a payment of which another refund waits for a person. */
async function makeRefundable(dashboard: DashboardFixture): Promise<{ sessionId: string; refundId: string }> {
  await openTables(dashboard);
  const { sessionId, attemptIds } = await makePayment(dashboard, {});
  const refundId = v7();
  const named = [decodeId("att", attemptIds[0]!), refundId];
  await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE id = $1", named.slice(0, 1));
  await dashboard.rows(
    `INSERT INTO refund (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, request_hash)
     SELECT session_id, $2, id, connection_id, gateway, 100, currency, '\\x00' FROM attempt WHERE id = $1`,
    named,
  );
  await dashboard.rows("UPDATE payment_session SET refunds = 1 WHERE id = $1", [decodeId("ps", sessionId)]);
  return { sessionId, refundId: encodeId("ref", refundId) };
}

/** Makes another person's decision, which is not confirmed. */
async function waitForSecond(dashboard: DashboardFixture, { attemptId }: Named): Promise<void> {
  await dashboard.rows(
    `UPDATE attempt SET decision = 'GIVEN_UP', decision_reason = 'r', decided_by = 'eve', decided_at = now(),
       decision_takes_two = true WHERE id = $1`,
    [decodeId("att", attemptId)],
  );
}
