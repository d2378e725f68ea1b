/** All services of the dashboard behind their guard, ready to be added to a server. */
import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, ServiceImpl } from "@connectrpc/connect";
import { AlertService } from "../../gen/dashboard/v1/alerts_pb.ts";
import { AnalyticsService } from "../../gen/dashboard/v1/analytics_pb.ts";
import { ApiKeyService } from "../../gen/dashboard/v1/api_keys_pb.ts";
import { ApprovalDecisionService, ApprovalService } from "../../gen/dashboard/v1/approvals_pb.ts";
import { AuditService } from "../../gen/dashboard/v1/audit_pb.ts";
import { BlocklistService } from "../../gen/dashboard/v1/blocklist_pb.ts";
import { ConfigurationService } from "../../gen/dashboard/v1/configuration_pb.ts";
import { DisputeService } from "../../gen/dashboard/v1/disputes_pb.ts";
import { GatewayConnectionService } from "../../gen/dashboard/v1/gateway_connections_pb.ts";
import { GatewayService } from "../../gen/dashboard/v1/gateways_pb.ts";
import { HomeService } from "../../gen/dashboard/v1/home_pb.ts";
import { LedgerService } from "../../gen/dashboard/v1/ledger_pb.ts";
import { MemberService } from "../../gen/dashboard/v1/members_pb.ts";
import { MerchantService } from "../../gen/dashboard/v1/merchants_pb.ts";
import { PasskeyService } from "../../gen/dashboard/v1/passkeys_pb.ts";
import { PaymentService } from "../../gen/dashboard/v1/payments_pb.ts";
import { ReconciliationService } from "../../gen/dashboard/v1/reconciliation_pb.ts";
import { RefundService } from "../../gen/dashboard/v1/refunds_pb.ts";
import { RoutingRuleService } from "../../gen/dashboard/v1/routing_rules_pb.ts";
import { SettingsService } from "../../gen/dashboard/v1/settings_pb.ts";
import { SettlementService } from "../../gen/dashboard/v1/settlement_pb.ts";
import { SignInService } from "../../gen/dashboard/v1/sign_in_pb.ts";
import { StoredCardService } from "../../gen/dashboard/v1/stored_cards_pb.ts";
import { WalletsService } from "../../gen/dashboard/v1/wallets_pb.ts";
import { WebhookAlertService } from "../../gen/dashboard/v1/webhook_alerts_pb.ts";
import { WebhookDeliveryService } from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { WebhookEndpointService } from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { WorkQueueService } from "../../gen/dashboard/v1/work_queue_pb.ts";
import { createAlertService } from "./alerts-rpc.ts";
import { createAnalyticsService } from "./analytics-rpc.ts";
import { createApiKeyService } from "./api-keys-rpc.ts";
import { createApprovalDecisionService } from "./approvals/approval-decision-rpc.ts";
import { createApprovalService } from "./approvals/approvals-rpc.ts";
import { createAuditService } from "./audit-rpc.ts";
import { createBlocklistService } from "./blocklist-rpc.ts";
import { createConfigurationService } from "./configuration/configuration-rpc.ts";
import type { ServedParts } from "./dashboard-parts.ts";
import { disputeService } from "./disputes-rpc.ts";
import { createGatewayConnectionService } from "./gateway-connections-rpc.ts";
import { createGatewayService } from "./gateways-rpc.ts";
import { createGuard } from "./guard.ts";
import { createHomeService } from "./home-rpc.ts";
import { ledgerService } from "./ledger-rpc.ts";
import { createMemberService } from "./members-rpc.ts";
import { createMerchantService } from "./merchants-rpc.ts";
import { createPasskeyService } from "./passkeys-rpc.ts";
import { createPaymentService } from "./payments-rpc.ts";
import { createReconciliationService } from "./reconciliation-rpc.ts";
import { createRefundService } from "./refunds-rpc.ts";
import { createRoutingRuleService } from "./routing-rules-rpc.ts";
import { dashboardServices, signInServices } from "./service-list.ts";
import { createSettingsService } from "./settings-rpc.ts";
import { settlementService } from "./settlement-rpc.ts";
import { createSignInService } from "./sign-in-rpc.ts";
import { createStoredCardService } from "./stored-cards-rpc.ts";
import { createWalletsService } from "./wallets-rpc.ts";
import { createWebhookAlertService } from "./webhook-alerts-rpc.ts";
import { createWebhookDeliveryService } from "./webhook-deliveries-rpc.ts";
import { createWebhookEndpointService } from "./webhook-endpoints-rpc.ts";
import { createWorkQueueService } from "./work-queue-rpc.ts";

const auditedMethods = [...dashboardServices, ...signInServices].flatMap(({ methods }) => methods);

/** Returns a function that adds the services to a router. Their guard replaces the server's own interceptors. */
export function createDashboardRoutes(parts: ServedParts): (router: ConnectRouter) => void {
  const guarded = { interceptors: [createGuard(parts)] };
  const implementations = new Map<DescService, object>();
  return (router) => {
    const serve = <Service extends DescService>(service: Service, implementation: ServiceImpl<Service>) => {
      implementations.set(service, implementation);
      router.service(service, implementation, guarded);
    };
    serve(MerchantService, createMerchantService(parts));
    serve(ApiKeyService, createApiKeyService(parts));
    serve(GatewayConnectionService, createGatewayConnectionService(parts));
    serve(GatewayService, createGatewayService(parts));
    serve(RoutingRuleService, createRoutingRuleService(parts));
    serve(ConfigurationService, createConfigurationService(parts));
    serve(WebhookEndpointService, createWebhookEndpointService());
    serve(WebhookDeliveryService, createWebhookDeliveryService(parts));
    serve(WebhookAlertService, createWebhookAlertService(parts));
    serve(AlertService, createAlertService(parts));
    serve(AnalyticsService, createAnalyticsService(parts));
    serve(SettingsService, createSettingsService());
    serve(WalletsService, createWalletsService());
    serve(BlocklistService, createBlocklistService(parts));
    serve(AuditService, createAuditService(parts, auditedMethods));
    serve(PaymentService, createPaymentService(parts));
    serve(RefundService, createRefundService(parts));
    serve(DisputeService, disputeService);
    serve(StoredCardService, createStoredCardService(parts));
    serve(LedgerService, ledgerService);
    serve(SettlementService, settlementService);
    serve(HomeService, createHomeService(parts));
    serve(WorkQueueService, createWorkQueueService(parts));
    serve(ReconciliationService, createReconciliationService(parts));
    serve(MemberService, createMemberService(parts));
    serve(ApprovalService, createApprovalService(parts));
    const { signIns } = parts;
    if (signIns === undefined) return;
    const proving = { accounts: parts.accounts, runtime: parts.runtime, sealing: signIns.sealing };
    serve(
      ApprovalDecisionService,
      createApprovalDecisionService(parts, (service) => implementations.get(service)),
    );
    serve(SignInService, createSignInService({ ...parts, signIns, proving }));
    serve(PasskeyService, createPasskeyService({ ...parts, signIns, proving }));
  };
}
