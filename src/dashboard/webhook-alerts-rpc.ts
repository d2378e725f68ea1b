/** Endpoint alerts of a merchant: proto ↔ events, and the addresses that they are mailed to. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetAlertAddressesResponseSchema,
  ListWebhookAlertsResponseSchema,
  SetAlertAddressesResponseSchema,
  WebhookAlert_Kind,
  type WebhookAlertService,
} from "../../gen/dashboard/v1/webhook_alerts_pb.ts";
import { loadAlertAddresses, recordAlertAddresses } from "../accounts/alert-addresses.ts";
import { acknowledgeAlert, type EndpointAlert, listAlerts } from "../events/endpoint-alerts.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { askToConfirm } from "./confirm-alert-address.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireRevision, revisionOf } from "./settings-revision.ts";

/** The rpcs that list alerts, acknowledge them in the caller's name, and set the addresses they are mailed to. */
export function createWebhookAlertService(parts: DashboardParts): ServiceImpl<typeof WebhookAlertService> {
  const { runtime } = parts;
  return {
    async listWebhookAlerts(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { includeAcknowledged } = request;
      const list = ["webhook alerts", merchantId, includeAcknowledged];
      const about = { list, key: environment.core.pageTokenKey, now: runtime.now() };
      const { rows, nextPageToken } = await loadPage(request, about, (page) =>
        listAlerts(environment.database, { merchantId, includeAcknowledged, ...page }),
      );
      return create(ListWebhookAlertsResponseSchema, { alerts: rows.map(toMessage), nextPageToken });
    },

    async acknowledgeWebhookAlert({ alertId }, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const id = decodeId("ntc", alertId);
      if (id === undefined) throw new DomainError("not_found", "This alert does not exist.");
      const alert = await change(async (tx) => {
        const acknowledged = await acknowledgeAlert(tx, { id, merchantId, by: rpcContext.actor });
        await rpcContext.audit(tx, { subject: alertId, after: { kind: acknowledged.kind } });
        return acknowledged;
      });
      return { alert: toMessage(alert) };
    },

    async getAlertAddresses(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { addresses, unconfirmed } = await loadAlertAddresses(environment.database, merchantId);
      return create(GetAlertAddressesResponseSchema, {
        addresses: [...addresses],
        revision: revisionOf(addresses),
        unconfirmed: [...unconfirmed],
      });
    },

    async setAlertAddresses({ addresses, revision }, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const { unconfirmed, removals } = await change(async (tx) => {
        const { addresses: before } = await loadAlertAddresses(tx, merchantId);
        requireRevision(revision, before);
        const recorded = await recordAlertAddresses(tx, merchantId, addresses);
        const subject = `${encodeId("mer", merchantId)}/alert-addresses`;
        await rpcContext.audit(tx, { subject, before: { addresses: before }, after: { addresses } });
        return recorded;
      });
      // A mail that fails is sent again with the next test alert, which says why.
      await Promise.all(
        unconfirmed.map((address) => askToConfirm(parts, environment, { merchantId, address, removals })),
      );
      return create(SetAlertAddressesResponseSchema, {
        addresses,
        revision: revisionOf(addresses),
        unconfirmed: [...unconfirmed],
      });
    },
  };
}

function toMessage({ id, endpointId, kind, isOver, ...alert }: EndpointAlert) {
  const { statusCode, noAnswer, acknowledgedAt, acknowledgedBy } = alert;
  return {
    alertId: encodeId("ntc", id),
    kind: WebhookAlert_Kind[kind],
    endpointId: encodeId("we", endpointId),
    url: alert.url,
    failingSince: timestampFromDate(alert.failingSince),
    ...(statusCode !== null && { statusCode }),
    ...(noAnswer !== null && { noAnswer }),
    over: isOver,
    createdAt: timestampFromDate(alert.createdAt),
    ...(acknowledgedAt !== null && { acknowledgedAt: timestampFromDate(acknowledgedAt) }),
    ...(acknowledgedBy !== null && { acknowledgedBy }),
  };
}
