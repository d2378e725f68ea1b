import { afterAll, describe, expect, it } from "vitest";
import { recordWallets, type WalletSetUp } from "../../accounts/merchant-wallets.ts";
import { recordRoutingRule } from "../../core/record/routing-rules.ts";
import type { RouteConditions, RoutingCases } from "../../core/rows/entities.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { bindingOf, type MerchantWallets, orderHashOf } from "../../platform/wallets.ts";
import { startEdgeFixture } from "../edge.fixture.ts";
import { offeredNames } from "./offered-wallets.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);

const { merchantId } = edge.core.owner;
const apple = { merchantIdentifier: "merchant.com.example", endsAt: "2099-01-01T00:00:00.000Z" };
const google = { merchantId: "BCR2DN4T263K6XYZ", publicKey: "BAAA" };
const both: MerchantWallets = { countryCode: "DE", apple, google };
const everyNetwork = ["visa", "mastercard", "amex", "discover", "jcb"];
const page = { origin: "https://shop.example" };

async function setUp(wallets: MerchantWallets, more: WalletSetUp = {}): Promise<void> {
  await edge.core.core.database.transaction((tx) => recordWallets(tx, merchantId, { wallets, setUp: more }));
}

async function open(fields: object = {}) {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1", ...fields };
  return (await edge.call("POST", "/payment-sessions", { body: JSON.stringify(order) })).json;
}

async function rpc(opened: { sessionId: string; clientSecret: string }, name: string, fields = {}, headers = {}) {
  const { sessionId, clientSecret } = opened;
  const answer = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ sessionId, ...fields }),
  });
  return { status: answer.status, json: await answer.json() };
}

const offeredTo = async (opened: { sessionId: string; clientSecret: string }) =>
  (await rpc(opened, "GetCheckout", {}, page)).json.checkout.wallets;

describe("a session of a merchant with wallets", () => {
  it("names them to the form, and gives the page what their sheets are opened with", async () => {
    await setUp(both);
    const opened = await open();
    expect(opened.vault.wallets).toBe("apple_pay google_pay");
    const hash = orderHashOf(encodeId("mer", merchantId), "order-1");
    const binding = bindingOf({ hash, amountMinor: 4_900, currency: "EUR" }).toString("base64");
    const shared = {
      networks: expect.arrayContaining(["visa"]),
      countryCode: "DE",
      amount: "49.00",
      currency: "EUR",
      binding,
    };
    expect(await offeredTo(opened)).toEqual([
      { type: "apple_pay", ...shared },
      {
        type: "google_pay",
        ...shared,
        google: {
          merchantId: "12345678901234567890",
          publicKey: "BAAA",
          authMethods: ["CRYPTOGRAM_3DS", "PAN_ONLY"],
          environment: "TEST",
        },
      },
    ]);
  });

  it.each([
    ["none is set up", {}, {}, undefined, undefined],
    ["the country is missing", { apple, google }, {}, undefined, undefined],
    [
      "Apple's certificate has ended",
      { ...both, apple: { ...apple, endsAt: "2020-01-01T00:00:00.000Z" } },
      {},
      "google_pay",
      ["google_pay"],
    ],
    ["the card is to be stored", both, { customerRef: "ada", saveCard: {} }, undefined, undefined],
    ["the currency has no decimals", both, { currency: "JPY" }, "apple_pay google_pay", ["google_pay"]],
    ["the currency has three decimals", both, { currency: "KWD" }, "apple_pay google_pay", undefined],
  ])("offers none, or one, where %s", async (_, wallets, fields, named, offered) => {
    await setUp(wallets);
    const opened = await open(fields);
    expect(opened.vault.wallets).toBe(named);
    const listed: { type: string }[] | undefined = await offeredTo(opened);
    expect(listed?.map(({ type }) => type)).toEqual(offered);
  });
});

describe("live", () => {
  const known: MerchantWallets = {
    ...both,
    apple: { ...apple, identityEndsAt: apple.endsAt },
    domains: { [page.origin]: "2026-01-01T00:00:00.000Z" },
  };

  it.each<[string, MerchantWallets, string | null, string[]]>([
    ["both on an origin that has passed the check", known, page.origin, ["apple_pay", "google_pay"]],
    ["Google Pay alone on another origin", known, "https://other.example", ["google_pay"]],
    ["Google Pay alone to a caller that is no page", known, null, ["google_pay"]],
    ["Google Pay alone without an identity", { ...known, apple }, page.origin, ["google_pay"]],
  ])("offers %s", (_, wallets, origin, offered) => {
    expect(offeredNames(edge.core.core, wallets, { isTest: false, origin })).toEqual(offered);
  });
});

describe("a rule with cases", () => {
  const { merchantId, connectionIds } = { ...edge.core.owner, connectionIds: edge.core.connectionIds };
  const setCases = (list: RoutingCases["list"], authentication: "AS_NEEDED" | "NEVER" = "NEVER") =>
    edge.core.core.database.transaction((tx) =>
      recordRoutingRule(tx, {
        merchantId,
        connectionIds,
        failoverOn: [],
        authentication,
        cases: { list, cardRanges: [] },
      }),
    );
  const named = (
    name: string,
    conditions: RouteConditions,
    connectionIds: RoutingCases["list"][number]["connectionIds"],
  ) => ({
    name,
    conditions,
    connectionIds,
  });
  afterAll(() => edge.core.setRule([]));

  it.each([
    ["the case of its currency", { currencies: ["EUR"] }, undefined],
    ["no case of another currency", { currencies: ["USD"] }, everyNetwork],
    ["no case of another amount", { amountFromMinor: 5_000 }, everyNetwork],
    ["the case of a card's brand", { cardBrands: ["visa"] }, everyNetwork.slice(1)],
  ])("offers by %s only what a gateway there takes", async (_, conditions, networks) => {
    await setUp(both);
    // The connection of a case that no longer exists takes nothing.
    await setCases([named("none", conditions, [systemRuntime.uuid() as never])]);
    await expect.poll(async () => (await offeredTo(await open()))?.[0]?.networks, { timeout: 5_000 }).toEqual(networks);
  });
});

describe("StartWalletSession", () => {
  const validationUrl = "https://apple-pay-gateway.apple.com/paymentservices/startSession";
  const start = async (opened: Awaited<ReturnType<typeof open>>, url = validationUrl, headers: object = page) =>
    (await rpc(opened, "StartWalletSession", { validationUrl: url }, headers)).json;

  it.each([
    ["a page that is none", both, validationUrl, {}, "failed_precondition"],
    ["a merchant without Apple Pay", { countryCode: "DE", google }, validationUrl, page, "failed_precondition"],
    ["an address that is not Apple's", both, "https://evil.example/", page, "invalid_argument"],
    ["the sandbox's address where there is no sandbox", both, "http://127.0.0.1:1/", page, "invalid_argument"],
    ["a merchant without an identity", both, validationUrl, page, "failed_precondition"],
  ])("refuses %s", async (_, wallets, url, headers, code) => {
    await setUp(wallets);
    expect(await start(await open(), url, headers)).toMatchObject({ code });
  });

  it("offers none to a caller that is no page, which plans no payment by a wallet", async () => {
    await setUp(both);
    const { status, json } = await rpc(await open(), "GetCheckout");
    expect([status, json.checkout.wallets]).toEqual([200, undefined]);
  });

  it("is called ten times for a session", async () => {
    await setUp(both);
    const opened = await open();
    for (let call = 1; call <= 10; call++) {
      expect(await start(opened)).toMatchObject({ code: "failed_precondition" });
    }
    expect(await start(opened)).toMatchObject({ code: "resource_exhausted" });
    expect(await start(await open())).toMatchObject({ code: "failed_precondition" });
  });
});

describe("the domain file", () => {
  const read = (query: string) =>
    fetch(`http://127.0.0.1:${edge.port}/.well-known/apple-developer-merchantid-domain-association${query}`);

  it("is served as the merchant has stored it", async () => {
    await setUp(both, { domainFile: "7b2270737\n" });
    const served = await read(`?merchant=${encodeId("mer", merchantId)}&environment=test`);
    expect([served.status, await served.text()]).toEqual([200, "7b2270737\n"]);
  });

  it.each(["", "?merchant=mer_1", `?merchant=${encodeId("mer", merchantId)}`])("is nobody's at %j", async (query) => {
    expect((await read(query)).status).toBe(404);
  });
});
