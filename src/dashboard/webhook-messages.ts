/** Endpoints, deliveries and tries as the dashboard's messages and its audit trail show them. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { WebhookDelivery_Status, WebhookDelivery_WaitingFor } from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import {
  WebhookEndpoint_DisabledBecause,
  WebhookEndpoint_Status,
} from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import type { Delivery, DeliveryTry } from "../events/delivery-log.ts";
import type { Endpoint } from "../events/endpoints.ts";
import type { Try } from "../events/record-delivery.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";

/** The endpoint's own id; a text that is none is not found. */
export function requireEndpointId(publicId: string): string {
  return requireId("we", publicId, "endpoint");
}

/** The event's own id. */
export function requireEventId(publicId: string): string {
  return requireId("evt", publicId, "event");
}

/** The own id behind a public one. Throws `not_found` where it is none of this kind. */
export function requireId(prefix: "we" | "evt" | "ps", publicId: string, what: string): string {
  const id = decodeId(prefix, publicId);
  if (id === undefined) throw new DomainError("not_found", `There is no such ${what}.`);
  return id;
}

/** An endpoint as its owner sees it; never its secrets. */
export function endpointMessage(endpoint: Endpoint) {
  const { id, url, status, eventTypes, disabledBecause, version } = endpoint;
  return {
    endpointId: encodeId("we", id),
    url,
    // A removed one is shown to nobody.
    status: status === "REMOVED" ? WebhookEndpoint_Status.STATUS_UNSPECIFIED : WebhookEndpoint_Status[status],
    eventTypes: [...(eventTypes ?? [])],
    createdAt: timestampFromDate(endpoint.createdAt),
    ...moment("verifiedAt", endpoint.verifiedAt),
    ...moment("disabledAt", endpoint.disabledAt),
    ...(disabledBecause !== null && { disabledBecause: WebhookEndpoint_DisabledBecause[disabledBecause] }),
    ...moment("failingSince", endpoint.failingSince),
    ...moment("overlapUntil", endpoint.overlapUntil),
    version,
  };
}

/** What the audit trail keeps of an endpoint: never its secrets, sealed or not. */
export function showEndpoint({ url, status, eventTypes, disabledBecause, overlapUntil, version }: Endpoint) {
  return {
    url,
    status,
    eventTypes: eventTypes ?? [],
    version,
    ...(disabledBecause !== null && { disabledBecause }),
    ...(overlapUntil !== null && { overlapUntil: overlapUntil.toISOString() }),
  };
}

/** One event's way to one endpoint, with when it is tried next. */
export function deliveryMessage(delivery: Delivery) {
  const { eventId, endpointId, sessionId, sequence, type, status, tries, waitingFor } = delivery;
  return {
    eventId: encodeId("evt", eventId),
    endpointId: encodeId("we", endpointId),
    sessionId: encodeId("ps", sessionId),
    sequence,
    type,
    status: WebhookDelivery_Status[status],
    tries,
    createdAt: timestampFromDate(delivery.createdAt),
    ...moment("nextTryAt", delivery.nextAt),
    ...moment("endedAt", delivery.endedAt),
    ...(waitingFor !== null && { waitingFor: WebhookDelivery_WaitingFor[waitingFor] }),
  };
}

/** A try as it came from the network. */
export function tryMessage(tried: Try) {
  const { startedAt, durationMs } = tried;
  return tried.kind === "answered"
    ? logMessage({ startedAt, durationMs, statusCode: tried.statusCode, noAnswer: null, answer: tried.answer })
    : logMessage({ startedAt, durationMs, statusCode: null, noAnswer: tried.because, answer: null });
}

/** A try as it is kept. */
export function logMessage({ startedAt, durationMs, statusCode, noAnswer, answer }: Omit<DeliveryTry, "id">) {
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
