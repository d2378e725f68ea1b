/** What the address of the list of deliveries says: its filters, so that a list can be kept and handed on. */
import { WebhookDelivery_Status as Status } from "../../../gen/dashboard/v1/webhook_deliveries_pb.ts";

/** Each absent for any. */
export type DeliverySearch = {
  readonly endpoint?: string;
  /** One event, or all of one payment: ids tell themselves apart. */
  readonly about?: string;
  readonly status?: DeliveryState;
};

/** What a delivery can be. */
export const deliveryStates = ["pending", "succeeded", "exhausted"] as const;
/** One of them. */
export type DeliveryState = (typeof deliveryStates)[number];

const endpointId = /^we_[0-9a-z]{26}$/;
const eventOrPaymentId = /^(evt|ps)_[0-9a-z]{26}$/;

/** The filters of an address, or of a form; what is no filter is left out. */
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

/** The filter as the service is asked. */
export function filterOf({ endpoint = "", about = "", status }: DeliverySearch) {
  return {
    endpointId: endpoint,
    eventId: about.startsWith("evt_") ? about : "",
    sessionId: about.startsWith("ps_") ? about : "",
    status: status === undefined ? Status.STATUS_UNSPECIFIED : statusOf[status],
  };
}
