/** Tests what each gateway gets of an order's details, in its own fields, and that its specification admits it. */
import { describe, expect, it, onTestFinished } from "vitest";
import { type GatewayHarness, holdPayment, startGatewayHarness } from "../dev/testing/gateway-harness.ts";
import type { AuthorizeRequest, BillingAddress } from "./connector.ts";
import { subjects } from "./subjects.fixture.ts";

const { STRIPE: stripe, ADYEN: adyen, PAYPAL: paypal, SANDBOX_A: sandboxA, SANDBOX_B: sandboxB } = subjects;

const home: BillingAddress = {
  line1: "Hauptstraße 12a",
  line2: "2nd {{floor}}",
  city: "Berlin",
  postalCode: "10115",
  country: "DE",
};
const away: BillingAddress = {
  line1: "1600 Amphitheatre Pkwy",
  city: "Mountain View",
  postalCode: "94043-1351",
  region: "CA",
  country: "US",
};

async function start(subject: Parameters<typeof startGatewayHarness>[0]): Promise<GatewayHarness> {
  const harness = await startGatewayHarness(subject);
  // Fails where a request is not as the gateway's specification says.
  onTestFinished(() => harness.close());
  return harness;
}

async function cardRequest(harness: GatewayHarness, details: Partial<AuthorizeRequest>) {
  await holdPayment(harness, harness.newPayment(details));
  const isCard = (body: Buffer) => /4242424242424242/.test(body.toString());
  return harness.middle.requests.findLast(({ body }) => isCard(body))!.body.toString();
}

const formOf = async (...asked: Parameters<typeof cardRequest>) =>
  Object.fromEntries(new URLSearchParams(await cardRequest(...asked)));
const jsonOf = async (...asked: Parameters<typeof cardRequest>) => JSON.parse(await cardRequest(...asked));

describe.each([
  ["STRIPE", stripe, "billing_details[name]"],
  ["SANDBOX_A", sandboxA, "card[holder]"],
] as const)("%s", (_, subject, name) => {
  const address = (form: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(form).flatMap(([field, text]) => {
        const line = /^billing_details\[address\]\[(\w+)\]$/.exec(field)?.[1];
        return line ? [[line, text]] : [];
      }),
    );

  it("gets the address, and the customer's name where the card has none", async () => {
    const harness = await start(subject);
    const given = { customerName: "Grace Hopper", billingAddress: home };
    const form = await formOf(harness, given);
    expect(address(form)).toEqual({
      line1: "Hauptstraße 12a",
      line2: "2nd { {floor}}",
      city: "Berlin",
      postal_code: "10115",
      country: "DE",
    });
    expect(form[name]).toBe("Ada Lovelace");
    harness.forwarder.useHolder(undefined);
    expect((await formOf(harness, given))[name]).toBe("Grace Hopper");
    expect(address(await formOf(harness, { billingAddress: away }))).toMatchObject({
      state: "CA",
      postal_code: "94043-1351",
    });
    expect(await formOf(harness, {})).not.toHaveProperty([name]);
  });

  it("gets the postal code that the customer entered where the order has no address", async () => {
    const harness = await start(subject);
    harness.forwarder.useHolder("Ada Lovelace", "8010");
    expect(address(await formOf(harness, {}))).toEqual({ postal_code: "8010" });
    expect(address(await formOf(harness, { billingAddress: home }))).toMatchObject({ postal_code: "10115" });
    harness.forwarder.useHolder("Ada Lovelace");
    expect(address(await formOf(harness, {}))).toEqual({});
  });
});

describe("PAYPAL", () => {
  it("gets the address in the card, and the customer's name where the card has none", async () => {
    const harness = await start(paypal);
    harness.forwarder.useHolder(undefined, "8010");
    const { card } = (await jsonOf(harness, { customerName: "Grace Hopper", billingAddress: away })).payment_source;
    expect(card).toMatchObject({
      name: "Grace Hopper",
      billing_address: {
        address_line_1: "1600 Amphitheatre Pkwy",
        admin_area_2: "Mountain View",
        admin_area_1: "CA",
        postal_code: "94043-1351",
        country_code: "US",
      },
    });
    const other = (await jsonOf(harness, { billingAddress: home })).payment_source.card;
    expect(other.billing_address).toMatchObject({ address_line_2: "2nd { {floor}}", country_code: "DE" });
    expect((await jsonOf(harness, {})).payment_source.card).not.toHaveProperty("billing_address");
  });
});

describe("ADYEN", () => {
  it("gets the address with the house number apart, and the customer's name where the card has none", async () => {
    const harness = await start(adyen);
    harness.forwarder.useHolder(undefined);
    const json = await jsonOf(harness, { customerName: "Grace Hopper", billingAddress: home });
    expect(json.paymentMethod.holderName).toBe("Grace Hopper");
    expect(json.billingAddress).toEqual({
      street: "Hauptstraße",
      houseNumberOrName: "12a",
      city: "Berlin",
      postalCode: "10115",
      country: "DE",
    });
    expect((await jsonOf(harness, { billingAddress: away })).billingAddress).toEqual({
      street: "Amphitheatre Pkwy",
      houseNumberOrName: "1600",
      city: "Mountain View",
      postalCode: "94043",
      stateOrProvince: "CA",
      country: "US",
    });
  });

  it.each<[string, Partial<BillingAddress>, object | undefined]>([
    [
      "a house with a name",
      { line1: "Rose Cottage", line2: "Lower Lane" },
      { street: "Rose Cottage", houseNumberOrName: "Lower Lane" },
    ],
    ["a post office box", { line1: "Postfach 1" }, { street: "Postfach", houseNumberOrName: "1" }],
    ["a line without a number", { line1: "Rose Cottage", line2: undefined }, { houseNumberOrName: "N/A" }],
    ["a region that is no code", { region: "Brandenburg" }, { city: "Berlin" }],
    ["a state that is no code, where one is needed", { country: "US", region: "California" }, undefined],
    ["no province, where one is needed", { country: "CA" }, undefined],
    ["a ZIP code that is none", { country: "US", region: "CA", postalCode: "10-15" }, undefined],
    ["a postal code that is too long", { postalCode: "12345678901" }, undefined],
  ])("gets %s as it takes it, or no address", async (_, change, expected) => {
    const harness = await start(adyen);
    const { billingAddress } = await jsonOf(harness, { billingAddress: { ...home, ...change } });
    if (expected === undefined) expect(billingAddress).toBeUndefined();
    else expect(billingAddress).toMatchObject(expected);
    expect(billingAddress?.stateOrProvince).toBeUndefined();
  });
});

describe("SANDBOX_B", () => {
  it("gets the address and the descriptor, and the customer's name where the card has none", async () => {
    const harness = await start(sandboxB);
    harness.forwarder.useHolder(undefined);
    const given = { customerName: "Grace Hopper", billingAddress: home, statementDescriptor: "Acme Books" };
    expect(await jsonOf(harness, given)).toMatchObject({
      shopperStatement: "Acme Books",
      billingAddress: { ...home, line2: "2nd { {floor}}" },
      paymentMethod: { holderName: "Grace Hopper" },
    });
    expect(await jsonOf(harness, {})).not.toHaveProperty("billingAddress");
  });
});
