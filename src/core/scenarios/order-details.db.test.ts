/** Tests which of an order's details a gateway gets with which call. */
import { beforeAll, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AuthorizeRequest, Hold } from "../../gateways/connector.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { createSession } from "../create-session.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule([]));

it("the authorization has the customer's name and address, the capture the descriptor, and nothing the metadata", async () => {
  const { core, owner } = fixture;
  const given: (AuthorizeRequest | Hold)[] = [];
  const seeing = withAnswers(core, (own) => ({
    authorize: (call, request) => {
      given.push(request);
      return own.authorize(call, request);
    },
    capture: (call, hold) => {
      given.push(hold);
      return own.capture(call, hold);
    },
  }));
  const details = {
    customerName: "Ada Lovelace",
    billingAddress: { line1: "Hauptstraße 1", city: "Berlin", postalCode: "10115", country: "DE" },
    statementDescriptor: "Acme Books",
  };
  const order = { amountMinor: 4900, currency: "EUR", orderRef: systemRuntime.uuid(), metadata: { cart: "c-881" } };
  const { session } = await createSession(core, owner, { ...order, ...details });
  expect(await fixture.submit(session, cards.approved, "tok_1", seeing)).toMatchObject({ status: "SUCCEEDED" });
  expect(given).toMatchObject([details, { statementDescriptor: "Acme Books" }]);
  expect(JSON.stringify(given)).not.toContain("c-881");
  expect(JSON.stringify(given[1])).not.toContain("Lovelace");
});
