/** Maps endpoints, deliveries and delivery attempts to the dashboard's messages and to its audit trail. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { WebhookDelivery_Status, WebhookDelivery_WaitingFor } from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { WebhookEndpoint_DisabledReason, WebhookEndpoint_Status } from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import type { Delivery, DeliveryAttempt } from "../events/delivery-log.ts";
import type { Endpoint } from "../events/endpoints.ts";
import type { Attempt } from "../events/record-delivery.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, type EndpointId, type EventId, encodeId, type Id, type IdPrefix } from "../platform/ids.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";

/** Returns the endpoint's internal id; an invalid id is `not_found`. */
export function requireEndpointId(publicId: string): EndpointId {
  return requireId("we", publicId, "endpoint");
}

export function requireEventId(publicId: string): EventId {
  return requireId("evt", publicId, "event");
}

/** Returns the internal id of a public one. Throws `not_found` if it is none of this kind. */
export function requireId<Prefix extends IdPrefix>(prefix: Prefix, publicId: string, what: string): Id<Prefix> {
  const id = decodeId(prefix, publicId);
  if (id === undefined) throw new DomainError("not_found", `There is no such ${what}.`);
  return id;
}

/** Returns an endpoint as its owner sees it, without its secrets. */
export function endpointMessage(endpoint: Endpoint) {
  const { id, url, status, eventTypes, disabledReason, version } = endpoint;
  return {
    endpointId: encodeId("we", id),
    url,
    // Removed endpoints are never shown.
    status: status === "REMOVED" ? WebhookEndpoint_Status.STATUS_UNSPECIFIED : WebhookEndpoint_Status[status],
    eventTypes: [...(eventTypes ?? [])],
    createdAt: timestampFromDate(endpoint.createdAt),
    ...moment("verifiedAt", endpoint.verifiedAt),
    ...moment("disabledAt", endpoint.disabledAt),
    ...(disabledReason !== null && { disabledReason: WebhookEndpoint_DisabledReason[disabledReason] }),
    ...moment("failingSince", endpoint.failingSince),
    ...moment("overlapUntil", endpoint.overlapUntil),
    version,
  };
}

/** Returns the audit trail's view of an endpoint, without its secrets, sealed or not. */
export function showEndpoint({ url, status, eventTypes, disabledReason, overlapUntil, version }: Endpoint) {
  return {
    url,
    status,
    eventTypes: eventTypes ?? [],
    version,
    ...(disabledReason !== null && { disabledReason }),
    ...(overlapUntil !== null && { overlapUntil: overlapUntil.toISOString() }),
  };
}

/** Returns one event's delivery to one endpoint, with the time of the next attempt. */
export function deliveryMessage(delivery: Delivery) {
  const { eventId, endpointId, sessionId, orderRef, sequence, type, status, tries, waitingFor } = delivery;
  const { statusCode, noAnswer } = delivery;
  return {
    eventId: encodeId("evt", eventId),
    endpointId: encodeId("we", endpointId),
    sessionId: sessionId === null ? "" : encodeId("ps", sessionId),
    orderRef: shownOrderRef(orderRef ?? ""),
    sequence,
    type,
    status: WebhookDelivery_Status[status],
    scheduledAttempts: tries,
    createdAt: timestampFromDate(delivery.createdAt),
    ...moment("nextAttemptAt", delivery.nextAt),
    ...moment("endedAt", delivery.endedAt),
    ...(waitingFor !== null && { waitingFor: WebhookDelivery_WaitingFor[waitingFor] }),
    ...(statusCode !== null && { lastAnswer: { case: "lastStatusCode", value: statusCode } as const }),
    ...(noAnswer !== null && { lastAnswer: { case: "lastNoAnswer", value: noAnswer } as const }),
  };
}

/** Returns a delivery attempt as it came from the network. */
export function attemptMessage(attempt: Attempt) {
  const { startedAt, durationMs } = attempt;
  return attempt.type === "answered"
    ? logMessage({ startedAt, durationMs, statusCode: attempt.statusCode, noAnswer: null, answer: attempt.answer })
    : logMessage({ startedAt, durationMs, statusCode: null, noAnswer: attempt.reason, answer: null });
}

export function logMessage({ startedAt, durationMs, statusCode, noAnswer, answer }: Omit<DeliveryAttempt, "id">) {
  return {
    startedAt: timestampFromDate(startedAt),
    durationMs,
    answer:
      statusCode === null
        ? ({ case: "noAnswer", value: noAnswer ?? "" } as const)
        : ({ case: "statusCode", value: statusCode } as const),
    answerExcerpt: answer ?? "",
  };
}

function moment<Name extends string>(name: Name, at: Date | null) {
  return (at === null ? {} : { [name]: timestampFromDate(at) }) as Partial<
    Record<Name, ReturnType<typeof timestampFromDate>>
  >;
}
