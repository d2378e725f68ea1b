/**
 * Calls the dashboard's rpcs from programs without generated code: JSON in and JSON out, typed by the schemas, over
 * gRPC.
 */
import {
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonValue,
  type MessageJsonType,
  toJson,
} from "@bufbuild/protobuf";
import type { ChannelCredentials, ServiceError } from "@grpc/grpc-js";
import { AlertService } from "../../gen/dashboard/v1/alerts_pb.ts";
import { AnalyticsService } from "../../gen/dashboard/v1/analytics_pb.ts";
import { ApiKeyService } from "../../gen/dashboard/v1/api_keys_pb.ts";
import { AuditService } from "../../gen/dashboard/v1/audit_pb.ts";
import { type BlocklistEntryJson, BlocklistService } from "../../gen/dashboard/v1/blocklist_pb.ts";
import {
  type ConfigurationChangeJson,
  type ConfigurationJson,
  ConfigurationService,
  type PlanConfigurationResponseJson,
} from "../../gen/dashboard/v1/configuration_pb.ts";
import { DisputeService } from "../../gen/dashboard/v1/disputes_pb.ts";
import { GatewayConnectionService } from "../../gen/dashboard/v1/gateway_connections_pb.ts";
import { GatewayService } from "../../gen/dashboard/v1/gateways_pb.ts";
import { HomeService } from "../../gen/dashboard/v1/home_pb.ts";
import { LedgerService } from "../../gen/dashboard/v1/ledger_pb.ts";
import { MemberService } from "../../gen/dashboard/v1/members_pb.ts";
import { MerchantService } from "../../gen/dashboard/v1/merchants_pb.ts";
import { PaymentService } from "../../gen/dashboard/v1/payments_pb.ts";
import { ReconciliationService } from "../../gen/dashboard/v1/reconciliation_pb.ts";
import { RefundService } from "../../gen/dashboard/v1/refunds_pb.ts";
import { RoutingRuleService } from "../../gen/dashboard/v1/routing_rules_pb.ts";
import { SettingsService } from "../../gen/dashboard/v1/settings_pb.ts";
import { SettlementService } from "../../gen/dashboard/v1/settlement_pb.ts";
import { StoredCardService } from "../../gen/dashboard/v1/stored_cards_pb.ts";
import { type WalletsJson, WalletsService } from "../../gen/dashboard/v1/wallets_pb.ts";
import { WebhookAlertService } from "../../gen/dashboard/v1/webhook_alerts_pb.ts";
import { WebhookDeliveryService } from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { WebhookEndpointService } from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { WorkQueueService } from "../../gen/dashboard/v1/work_queue_pb.ts";
import { type CallOptions, createGrpcClient } from "../platform/grpc-client.ts";
import type { Secret } from "../platform/secrets.ts";
import { RpcError } from "./rpc-error.ts";

export type ConfigurationView = ConfigurationJson;
export type ChangeView = ConfigurationChangeJson;
export type PlanView = PlanConfigurationResponseJson;
export type BlocklistEntryView = BlocklistEntryJson;
export type WalletsView = WalletsJson;

type JsonMethods<Service extends DescService> = {
  [Name in keyof Service["method"]]: Service["method"][Name] extends DescMethodUnary<infer Input, infer Output>
    ? (request: MessageJsonType<Input>) => Promise<MessageJsonType<Output>>
    : never;
};

// A verification waits for the gateway's answer and up to ten seconds more for its test notification.
const callTimeoutMs = 40_000;

/** An operator's token, or the token that an internal service signs for each request. */
export type DashboardCredential = Secret | ((request: JsonValue) => string);

/**
 * Connects lazily. Every method rejects with RpcError; `address` is `host:port`. `cell`: instead of the merchant's own.
 * Without `channel` the connection is not encrypted.
 */
export function createDashboardClient(
  address: string,
  credential: DashboardCredential,
  cell?: string,
  channel?: ChannelCredentials,
) {
  type Calls = Record<string, (message: object, options: CallOptions) => Promise<never>>;
  const opened = new Map<DescService, { readonly calls: Calls; readonly close: () => void }>();
  const open = (service: DescService) => {
    const client = createGrpcClient(service, address, channel);
    const one = { calls: client as unknown as Calls, close: () => client.close() };
    opened.set(service, one);
    return one;
  };
  const call = async (method: DescMethod, request: JsonValue): Promise<JsonValue> => {
    const { calls } = opened.get(method.parent) ?? open(method.parent);
    const token = typeof credential === "function" ? credential(request) : credential.expose();
    const metadata = { authorization: `Bearer ${token}`, ...(cell !== undefined && { cell }) };
    const message = fromJson(method.input, request);
    try {
      const answer = await calls[method.localName]!(message, { timeoutMs: callTimeoutMs, metadata });
      return toJson(method.output, answer, { alwaysEmitImplicit: true });
    } catch (error) {
      throw isServiceError(error) ? new RpcError(error, address) : error;
    }
  };
  const clientOf = <Service extends DescService>(service: Service): JsonMethods<Service> =>
    Object.fromEntries(
      service.methods.map((method) => [method.localName, (request: JsonValue) => call(method, request)]),
    ) as JsonMethods<Service>;
  return {
    merchants: clientOf(MerchantService),
    members: clientOf(MemberService),
    apiKeys: clientOf(ApiKeyService),
    connections: clientOf(GatewayConnectionService),
    disputes: clientOf(DisputeService),
    gateways: clientOf(GatewayService),
    routingRules: clientOf(RoutingRuleService),
    configuration: clientOf(ConfigurationService),
    endpoints: clientOf(WebhookEndpointService),
    deliveries: clientOf(WebhookDeliveryService),
    alerts: clientOf(WebhookAlertService),
    alertSettings: clientOf(AlertService),
    analytics: clientOf(AnalyticsService),
    settings: clientOf(SettingsService),
    blocklist: clientOf(BlocklistService),
    audit: clientOf(AuditService),
    payments: clientOf(PaymentService),
    refunds: clientOf(RefundService),
    storedCards: clientOf(StoredCardService),
    ledger: clientOf(LedgerService),
    settlement: clientOf(SettlementService),
    home: clientOf(HomeService),
    wallets: clientOf(WalletsService),
    workQueue: clientOf(WorkQueueService),
    reconciliation: clientOf(ReconciliationService),
    /** Calls any method of the package. */
    call,
    close: () => {
      for (const { close } of opened.values()) close();
    },
  };
}

export type DashboardClient = ReturnType<typeof createDashboardClient>;

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "details" in error;
}

/** Loads the schema of a configuration, which few commands need. */
export function loadConfigurationSchema() {
  return import("../../gen/dashboard/v1/configuration_pb.ts");
}
