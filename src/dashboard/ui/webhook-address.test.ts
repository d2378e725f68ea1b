import { describe, expect, it } from "vitest";
import { WebhookDelivery_Status as Status } from "../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { eventTypes } from "../../events/outbox.ts";
import { eventNames } from "./event-names.ts";
import { deliveryStates, filterOf, readDeliverySearch } from "./webhook-address.ts";

const id = "01k0abcdefghjkmnpqrstvwxyz";

describe("readDeliverySearch()", () => {
  it("keeps filters and drops everything else", () => {
    const search = { endpoint: `we_${id}`, about: ` evt_${id} `, status: "exhausted" };
    expect(readDeliverySearch(search)).toEqual({ ...search, about: `evt_${id}` });
    expect(readDeliverySearch({ endpoint: "we_<script>", about: "tok_x", status: "lost", page: 2 })).toEqual({});
  });
});

describe("filterOf()", () => {
  it("filters by an event, or by a payment's events, by the id's prefix", () => {
    expect(filterOf({ about: `evt_${id}` })).toMatchObject({ eventId: `evt_${id}`, sessionId: "" });
    expect(filterOf({ about: `ps_${id}` })).toMatchObject({ eventId: "", sessionId: `ps_${id}` });
  });

  it("names each state as the service does", () => {
    const wanted = deliveryStates.map((status) => filterOf({ status }).status);
    expect(wanted).toEqual([Status.PENDING, Status.SUCCEEDED, Status.EXHAUSTED]);
    expect(filterOf({}).status).toBe(Status.STATUS_UNSPECIFIED);
  });
});

describe("eventNames", () => {
  it("offers every type of event", () => {
    expect(eventNames.map(([type]) => type)).toEqual(eventTypes);
  });
});
