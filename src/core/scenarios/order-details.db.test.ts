/** Tests which of an order's details a gateway gets with which call. */
import { beforeAll, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AuthorizeRequest, Connector, Hold } from "../../gateways/connector.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { createSession } from "../create-session.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { replaced } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule([]));

it("the authorization has the customer's name and address, the capture the descriptor, and nothing the metadata", async () => {
  const { core, owner } = fixture;
  const given: (AuthorizeRequest | Hold)[] = [];
  const seeing = {
    ...core,
    bind: async (...attempt: Parameters<typeof core.bind>) => {
      const bound = await core.bind(...attempt);
      const authorize: Connector["authorize"] = (call, request) => {
        given.push(request);
        return bound!.connector.authorize(call, request);
      };
      const capture: Connector["capture"] = (call, hold) => {
        given.push(hold);
        return bound!.connector.capture(call, hold);
      };
      return bound && { ...bound, connector: replaced(bound.connector, { authorize, capture }) };
    },
  };
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
