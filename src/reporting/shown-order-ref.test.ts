import { expect, it } from "vitest";
import { shownEventBody, shownOrderRef } from "./shown-order-ref.ts";

it.each([
  ["4242424242424242", "************4242"],
  ["4242 4242 4242 4242", "**** **** **** 4242"],
  ["3782-822463-10005", "****-******-*0005"],
  [" 4242424242424242 ", "************4242"],
  ["4242424242424241", "4242424242424241"],
  ["order 4242424242424242", "order 4242424242424242"],
  ["42424242", "42424242"],
  ["tea_1", "tea_1"],
])("shows the order reference %j as %j", (orderRef, shown) => {
  expect(shownOrderRef(orderRef)).toBe(shown);
});

it("masks the order reference of an event's body, and changes nothing else in it", () => {
  const body = (orderRef: string) => `{"data":{"orderRef":"${orderRef}","amountMinor":4242424242424242}}`;
  expect(shownEventBody(body("4242424242424242"))).toBe(body("************4242"));
  expect(shownEventBody(body("order-1"))).toBe(body("order-1"));
});
