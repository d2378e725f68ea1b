/** The search parameters of the list of deliveries: its filters, so that a list can be bookmarked and shared. */
import { WebhookDelivery_Status as Status } from "../../../gen/dashboard/v1/webhook_deliveries_pb.ts";

export type DeliverySearch = {
  readonly endpoint?: string;
  /** The id of an event, or of a payment for all of its events; its prefix distinguishes them. */
  readonly about?: string;
  readonly status?: DeliveryState;
};

export const deliveryStates = ["pending", "succeeded", "exhausted"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

const endpointId = /^we_[0-9a-z]{26}$/;
const eventOrPaymentId = /^(evt|ps)_[0-9a-z]{26}$/;

/** Reads the filters of an address, or of a form; invalid filters are dropped. */
export function readDeliverySearch(given: Readonly<Record<string, unknown>>): DeliverySearch {
  const textOf = (value: unknown) => (typeof value === "string" ? value.trim() : "");
  const [endpoint, about] = [textOf(given.endpoint), textOf(given.about)];
  const status = deliveryStates.find((state) => state === given.status);
  return {
    ...(endpointId.test(endpoint) && { endpoint }),
    ...(eventOrPaymentId.test(about) && { about }),
    ...(status && { status }),
  };
}

const statusOf: Readonly<Record<DeliveryState, Status>> = {
  pending: Status.PENDING,
  succeeded: Status.SUCCEEDED,
  exhausted: Status.EXHAUSTED,
};

export function filterOf({ endpoint = "", about = "", status }: DeliverySearch) {
  return {
    endpointId: endpoint,
    eventId: about.startsWith("evt_") ? about : "",
    sessionId: about.startsWith("ps_") ? about : "",
    status: status === undefined ? Status.STATUS_UNSPECIFIED : statusOf[status],
  };
}
