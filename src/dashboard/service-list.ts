import type { DescService } from "@bufbuild/protobuf";
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

/** Every service of the package dashboard.v1 that operators may call. */
export const dashboardServices: readonly DescService[] = [
  MerchantService,
  ApiKeyService,
  GatewayConnectionService,
  GatewayService,
  RoutingRuleService,
  ConfigurationService,
  WebhookEndpointService,
  WebhookDeliveryService,
  WebhookAlertService,
  AlertService,
  AnalyticsService,
  SettingsService,
  WalletsService,
  BlocklistService,
  AuditService,
  PaymentService,
  RefundService,
  DisputeService,
  StoredCardService,
  LedgerService,
  SettlementService,
  HomeService,
  WorkQueueService,
  ReconciliationService,
  MemberService,
  ApprovalService,
];

/** The services that only the dashboard's page calls. */
export const signInServices: readonly DescService[] = [SignInService, PasskeyService, ApprovalDecisionService];
