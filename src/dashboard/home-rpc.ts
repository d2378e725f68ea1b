/** What a merchant's people see first: proto ↔ core. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AttentionItem_Kind,
  type AttentionItemSchema,
  GetHomeResponseSchema,
  type HomeService,
  type TodaySchema,
} from "../../gen/dashboard/v1/home_pb.ts";
import { type Attention, type DayInCurrency, loadAttention, loadDay } from "../core/attention.ts";
import { shownOrderRef } from "../core/shown-order-ref.ts";
import { dayLongestMs } from "../limits/dashboard.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { amountMessage, momentOf } from "./payment-messages.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpc of the home page. */
export function createHomeService({ entropy }: Pick<DashboardParts, "entropy">): ServiceImpl<typeof HomeService> {
  return {
    async getHome(request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const now = entropy.now();
      const dayStart = dayStartOf(now, momentOf("dayStart", request.dayStart));
      const [attention, day] = await Promise.all([
        loadAttention(environment.database, { merchantId, now }),
        loadDay(environment.reads, { merchantId, dayStart }),
      ]);
      return create(GetHomeResponseSchema, {
        attention: itemsOf(attention),
        attentionCut: attention.isCut,
        today: todayOf(day.currencies, { isNewestOnly: day.isNewestOnly, dayStart }),
      });
    },
  };
}

/** The caller's own, not longer ago than any day is; else the day by UTC. */
function dayStartOf(now: Date, asked: Date | undefined): Date {
  if (asked !== undefined) return new Date(Math.max(asked.getTime(), now.getTime() - dayLongestMs));
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()));
}

type Item = MessageInitShape<typeof AttentionItemSchema>;

/** The worst first: money, then what stands still, then what may pass. */
function itemsOf({ alarms, paidTwice, unhealthy, endpoints, degraded }: Attention): Item[] {
  return [
    ...paidTwice.map(({ orderRef, lastAt, lastId }) => ({
      kind: AttentionItem_Kind.PAID_TWICE,
      text: "More than one payment took money for this order reference.",
      since: timestampFromDate(lastAt),
      orderRef: shownOrderRef(orderRef),
      // A masked reference finds nothing.
      ...(shownOrderRef(orderRef) !== orderRef && { sessionId: encodeId("ps", lastId) }),
    })),
    ...alarms.map(({ detail, openedAt, sessionId }) => ({
      kind: AttentionItem_Kind.PAYMENT_ALARM,
      text: detail,
      since: timestampFromDate(openedAt),
      sessionId: encodeId("ps", sessionId),
    })),
    ...endpoints.map(({ id, url, disabledAt, disabledBecause }) => ({
      kind: AttentionItem_Kind.ENDPOINT_DISABLED,
      text: `${url} ${disabledBecause === "GONE" ? "answered that it is gone" : "failed for too long"}, so it gets no more events.`,
      since: timestampFromDate(disabledAt),
      endpointId: encodeId("we", id),
    })),
    ...unhealthy.map(({ connectionId, gateway, attempts, failed }) => ({
      kind: AttentionItem_Kind.GATEWAY_UNHEALTHY,
      text: `${gateway} gave no usable answer to ${failed} of ${attempts} attempts of the last hour.`,
      gateway,
      connectionId: encodeId("gc", connectionId),
    })),
    ...(degraded.count === 0 ? [] : [degradedItem(degraded)]),
  ];
}

function degradedItem({ count, since }: Attention["degraded"]): Item {
  const payments = count === 1 ? "1 payment" : `${count} payments`;
  return {
    kind: AttentionItem_Kind.PAYMENTS_DEGRADED,
    text: `${payments} of the last hour ended as DEGRADED: the last gateway asked gave no usable answer or refused the capture, or none could be asked.`,
    since: timestampFromDate(since),
  };
}

function todayOf(
  currencies: readonly DayInCurrency[],
  { isNewestOnly, dayStart }: { isNewestOnly: boolean; dayStart: Date },
): MessageInitShape<typeof TodaySchema> {
  const sum = (figure: (day: DayInCurrency) => number) => currencies.reduce((total, day) => total + figure(day), 0);
  return {
    created: sum(({ created }) => created),
    succeeded: sum(({ succeeded }) => succeeded),
    declined: sum(({ declined }) => declined),
    degraded: sum(({ degraded }) => degraded),
    savedByFailover: sum(({ savedByFailover }) => savedByFailover),
    volume: currencies
      .filter(({ succeeded }) => succeeded > 0)
      .map(({ volumeMinor, currency }) => amountMessage(volumeMinor, currency)),
    newestOnly: isNewestOnly,
    since: timestampFromDate(dayStart),
  };
}
