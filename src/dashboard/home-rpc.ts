/** The home page of a merchant's people: proto ↔ core. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AlertItem_Kind,
  type AlertItemSchema,
  GetHomeResponseSchema,
  type HomeService,
  SetUpStep,
} from "../../gen/dashboard/v1/home_pb.ts";
import { loadAlertAddresses } from "../accounts/alert-addresses.ts";
import { type BrakingState, loadBraking } from "../core/card-testing/held-braking.ts";
import { auditedClosing, closeWorkItem, mayMerchantClose } from "../core/record/work-items.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { type Alerts, loadAlerts, loadSetUp, type SetUp } from "../reporting/alerts.ts";
import { countOpenDisputes, type OpenDisputes } from "../reporting/open-disputes.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { scopedContextOf } from "./rpc-context.ts";

export function createHomeService({
  runtime,
  mailer,
}: Pick<DashboardParts, "runtime" | "mailer">): ServiceImpl<typeof HomeService> {
  return {
    async getHome(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const now = runtime.now();
      const [alerts, disputes, braking, setUp, { unconfirmed }] = await Promise.all([
        loadAlerts(environment.database, { merchantId, now }),
        countOpenDisputes(environment.database, { merchantId, now }),
        loadBraking(environment.database, merchantId),
        loadSetUp(environment.database, merchantId),
        loadAlertAddresses(environment.database, merchantId),
      ]);
      return create(GetHomeResponseSchema, {
        alerts: [...brakingItems(braking), ...disputeItems(disputes), ...itemsOf(alerts)],
        alertsCut: alerts.isCut,
        missing: missingOf(setUp, environment.name),
        unconfirmedAddresses: mailer === undefined ? [] : [...unconfirmed],
      });
    },

    async closeAlarm({ workItemId, note, wholeCause: isWholeCause }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const id = decodeId("wi", workItemId);
      const closedCount = await rpcContext.changeEnvironment(environment, async (tx) => {
        const closed = id && (await closeWorkItem(tx, { id, by: rpcContext.actor, note, merchantId, isWholeCause }));
        if (!closed) throw new DomainError("not_found", "There is no open alarm with this id that you can close.");
        await rpcContext.audit(tx, { subject: workItemId, after: auditedClosing(closed, note) });
        return closed.count;
      });
      return { closedCount };
    },
  };
}

/** Lists the missing set-up steps. An empty list of origins refuses every page in live, and none in test. */
function missingOf(setUp: SetUp, environment: "test" | "live"): SetUpStep[] {
  const steps: readonly (readonly [boolean, SetUpStep])[] = [
    [setUp.hasVerifiedGateway, SetUpStep.GATEWAY],
    [setUp.hasRoutableRule, SetUpStep.ROUTING_RULE],
    [setUp.hasCheckoutOrigin || environment === "test", SetUpStep.CHECKOUT_ORIGIN],
    [setUp.hasVerifiedEndpoint, SetUpStep.WEBHOOK_ENDPOINT],
  ];
  return steps.filter(([isDone]) => !isDone).map(([, step]) => step);
}

type Item = MessageInitShape<typeof AlertItemSchema>;

/** Lists the alerts, worst first: money, then parts that have stopped, then those that may recover. */
function itemsOf({ alarms, paidTwice, cardNumbers, open, endpoints, degraded }: Alerts): Item[] {
  return [
    ...paidTwice.map(({ orderRef, lastAt, lastId }) => ({
      kind: AlertItem_Kind.PAID_TWICE,
      text: "More than one payment was captured for this order reference.",
      since: timestampFromDate(lastAt),
      orderRef: shownOrderRef(orderRef),
      refundSessionId: encodeId("ps", lastId),
      // A masked reference finds nothing.
      ...(shownOrderRef(orderRef) !== orderRef && { sessionId: encodeId("ps", lastId) }),
    })),
    ...alarms.map((alarm) => ({
      kind: AlertItem_Kind.PAYMENT_ALARM,
      text: textOfAlarm(alarm),
      count: alarm.count,
      since: timestampFromDate(alarm.openedAt),
      sessionId: encodeId("ps", alarm.sessionId),
      ...(mayMerchantClose(alarm) && { workItemId: encodeId("wi", alarm.id) }),
    })),
    ...(cardNumbers === undefined ? [] : [cardNumbersItem(cardNumbers)]),
    ...endpoints.map(({ id, url, disabledAt, disabledReason }) => ({
      kind: AlertItem_Kind.ENDPOINT_DISABLED,
      text: `${url} ${disabledReason === "GONE" ? "answered that it is gone" : "failed for too long"}. It is disabled and receives no more events.`,
      since: timestampFromDate(disabledAt),
      endpointId: encodeId("we", id),
    })),
    ...open.map(openItem),
    ...(degraded.count === 0 ? [] : [degradedItem(degraded)]),
  ];
}

/** The disputes that wait for an answer, as one item. */
function disputeItems({ count, respondBy, sessionId }: OpenDisputes): Item[] {
  if (sessionId === null) return [];
  const text = count === 1 ? "1 dispute needs a response." : `${count} disputes need a response.`;
  const dueBy = respondBy && { dueBy: timestampFromDate(respondBy) };
  return [{ kind: AlertItem_Kind.DISPUTES_OPEN, text, sessionId: encodeId("ps", sessionId), ...dueBy }];
}

/** Braking, or a hold that prevents it. */
function brakingItems({ now, hold }: BrakingState): Item[] {
  const until = hold && `until ${hold.until.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  if (now) {
    const cause = now.begunBy
      ? `${now.begunBy} switched braking on${hold?.isOn ? ` ${until}` : ""}.`
      : `${now.cards} cards were declined within ten minutes as testers’ are; the threshold is ${now.threshold}.`;
    const text = `${cause} A card that was never approved here is authenticated where that is possible, and gets no second gateway after a decline.`;
    return [{ kind: AlertItem_Kind.CARD_TESTING, text, since: timestampFromDate(now.beganAt) }];
  }
  if (!hold || hold.isOn) return [];
  const text = `${hold.heldBy} switched braking off ${until}. Payments are not restricted, however many cards are declined.`;
  return [{ kind: AlertItem_Kind.CARD_TESTING, text }];
}

function textOfAlarm({ count, gateway, detail }: Alerts["alarms"][number]): string {
  if (count === 1) return detail;
  return `${count} payments${gateway === null ? "" : ` at ${gateway}`} have this alarm. The newest: ${detail}`;
}

function cardNumbersItem({ count, lastAt, lastId }: NonNullable<Alerts["cardNumbers"]>): Item {
  const payments = count === 1 ? "1 recent payment has" : `${count} recent payments have`;
  return {
    kind: AlertItem_Kind.ORDER_REF_LIKE_CARD,
    text: `${payments} an order reference that looks like a card number. Order references are stored and sent unchanged. Never send card data in orderRef.`,
    since: timestampFromDate(lastAt),
    sessionId: encodeId("ps", lastId),
  };
}

function openItem(alert: Alerts["open"][number]): Item {
  const { kind, detail, since, gateway, connectionId, endpointId, url } = alert;
  const isFailing = kind === "FAILING_24_HOURS" || kind === "FAILING_72_HOURS";
  return {
    kind: AlertItem_Kind[isFailing ? "ENDPOINT_FAILING" : kind],
    text: detail ?? `${url} keeps failing. Its events are retried and kept.`,
    since: timestampFromDate(since),
    ...(gateway !== null && { gateway }),
    ...(connectionId !== null && { connectionId: encodeId("gc", connectionId) }),
    ...(endpointId !== null && { endpointId: encodeId("we", endpointId) }),
  };
}

function degradedItem({ count, since }: Alerts["degraded"]): Item {
  const payments = count === 1 ? "1 payment" : `${count} payments`;
  return {
    kind: AlertItem_Kind.PAYMENTS_DEGRADED,
    text: `${payments} failed in the last hour: the last gateway gave no usable answer or refused the capture, or no gateway could be used.`,
    ...(since && { since: timestampFromDate(since) }),
  };
}
