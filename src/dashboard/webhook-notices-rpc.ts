/** What a merchant is told of its endpoints: proto ↔ events, and the addresses that it is mailed to. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AcknowledgeWebhookNoticeResponseSchema,
  GetNoticeAddressesResponseSchema,
  ListWebhookNoticesResponseSchema,
  SetNoticeAddressesResponseSchema,
  WebhookNotice_Kind,
  type WebhookNoticeService,
} from "../../gen/dashboard/v1/webhook_notices_pb.ts";
import { loadNoticeAddresses, recordNoticeAddresses } from "../accounts/notice-addresses.ts";
import { acknowledgeNotice, type EndpointNotice, listNotices } from "../events/endpoint-notices.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpcs that show notices, take them from the list in the caller's name, and say where they are mailed to. */
export function createWebhookNoticeService({ entropy }: DashboardParts): ServiceImpl<typeof WebhookNoticeService> {
  return {
    async listWebhookNotices(request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const { includeAcknowledged } = request;
      const list = ["webhook notices", merchantId, includeAcknowledged];
      const about = { list, key: environment.core.pageTokenKey, now: entropy.now() };
      const { rows, nextPageToken } = await loadPage(request, about, (page) =>
        listNotices(environment.database, { merchantId, includeAcknowledged, ...page }),
      );
      return create(ListWebhookNoticesResponseSchema, { notices: rows.map(toMessage), nextPageToken });
    },

    async acknowledgeWebhookNotice({ noticeId }, context) {
      const { merchantId, visit, change } = scopedVisitOf(context);
      const id = decodeId("ntc", noticeId);
      if (id === undefined) throw new DomainError("not_found", "There is no such notice.");
      const notice = await change(async (tx) => {
        const acknowledged = await acknowledgeNotice(tx, { id, merchantId, by: visit.actor });
        await visit.audit(tx, { subject: noticeId, after: { kind: acknowledged.kind } });
        return acknowledged;
      });
      return create(AcknowledgeWebhookNoticeResponseSchema, { notice: toMessage(notice) });
    },

    async getNoticeAddresses(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const addresses = await loadNoticeAddresses(environment.database, merchantId);
      return create(GetNoticeAddressesResponseSchema, { addresses: [...addresses] });
    },

    async setNoticeAddresses({ addresses }, context) {
      const { merchantId, visit, change } = scopedVisitOf(context);
      await change(async (tx) => {
        const before = await loadNoticeAddresses(tx, merchantId);
        await recordNoticeAddresses(tx, merchantId, addresses);
        const subject = `${encodeId("mer", merchantId)}/notice-addresses`;
        await visit.audit(tx, { subject, before: { addresses: before }, after: { addresses } });
      });
      return create(SetNoticeAddressesResponseSchema, { addresses });
    },
  };
}

function toMessage({ id, endpointId, kind, isOver, ...notice }: EndpointNotice) {
  const { statusCode, noAnswer, acknowledgedAt, acknowledgedBy } = notice;
  return {
    noticeId: encodeId("ntc", id),
    kind: WebhookNotice_Kind[kind],
    endpointId: encodeId("we", endpointId),
    url: notice.url,
    failingSince: timestampFromDate(notice.failingSince),
    ...(statusCode !== null && { statusCode }),
    ...(noAnswer !== null && { noAnswer }),
    over: isOver,
    createdAt: timestampFromDate(notice.createdAt),
    ...(acknowledgedAt !== null && { acknowledgedAt: timestampFromDate(acknowledgedAt) }),
    ...(acknowledgedBy !== null && { acknowledgedBy }),
  };
}
