import { describe, expect, it } from "vitest";
import { jsonDestinations } from "../../platform/json-destinations.ts";
import { addressOf, destinations, findDestination, takesNetworkTokens } from "../../vault/destinations.ts";
import {
  findProxyDestination,
  type ProxyAddressRequest,
  type ProxyDestination,
  proxyAddressOf,
} from "./destinations.ts";

describe("findProxyDestination()", () => {
  it("knows exactly the rows of our own vault for gateways that take only JSON and whole values", () => {
    const takesMore = destinations.filter(
      ({ contentType, fields }) =>
        contentType !== "application/json" ||
        Object.values(fields).some((text) => !/^\{\{[\w.]+\}\}$/.test(text) || text === "{{card.expYear2}}"),
    );
    const left = new Set(takesMore.map(({ connector }) => connector));
    // No other vault decrypts what a wallet gives.
    const whole = destinations.filter((row) => !left.has(row.connector) && !takesNetworkTokens(row));
    const comparable = whole.map(({ connector, operation, hosts, path, fields }) => ({
      connector,
      operation,
      hosts,
      path,
      fields,
    }));
    expect(jsonDestinations).toEqual(comparable);
  });

  // A host, a path or a field that is added to the table can send cards elsewhere, from both vaults.
  it("knows these addresses and fields", () => {
    const live = "^[0-9a-f]{16}-[a-z0-9]{1,32}-checkout-live\\.adyenpayments\\.com$";
    const test = "^checkout-test\\.adyen\\.com$";
    const parts = ["number", "expiryMonth", "expiryYear", "cvc", "holderName", "brand"];
    const texts: Record<string, string> = {
      number: "{{card.number}}",
      expiryMonth: "{{card.expMonth}}",
      expiryYear: "{{card.expYear}}",
      cvc: "{{card.cvc}}",
      holderName: "{{card.holder}}",
      brand: "{{card.adyenBrand}}",
    };
    const method = (without: string) =>
      Object.fromEntries(
        parts.filter((part) => part !== without).map((part) => [`/paymentMethod/${part}`, texts[part]]),
      );
    const number = { "/cardNumber": "{{card.number}}" };
    const known = jsonDestinations.map(({ connector, operation, hosts, path, fields }) => {
      const names =
        hosts === "sandbox"
          ? hosts
          : Object.fromEntries(Object.entries(hosts).map(([name, host]) => [name, host.source]));
      return [connector, operation, names, path, fields];
    });
    expect(known).toEqual([
      ["SANDBOX_B", "authorize", "sandbox", "/b/payments", method("brand")],
      ["ADYEN", "payment", { test }, "/v72/payments", method("")],
      ["ADYEN", "live_payment", { live }, "/checkout/v72/payments", method("")],
      ["ADYEN_3DS", "card_details", { test }, "/v72/cardDetails", number],
      ["ADYEN_3DS", "live_card_details", { live }, "/checkout/v72/cardDetails", number],
      ["ADYEN_3DS", "payment", { test }, "/v72/payments", method("cvc")],
      ["ADYEN_3DS", "live_payment", { live }, "/checkout/v72/payments", method("cvc")],
    ]);
  });

  it("knows no operation that takes forms", () => {
    expect(findProxyDestination({ connector: "SANDBOX_A", operation: "authorize" })).toBeUndefined();
  });
});

describe("proxyAddressOf()", () => {
  const real: ProxyDestination = {
    connector: "STRIPE",
    operation: "authorize",
    hosts: { live: /^api\.stripe\.com$/ },
    path: "/payments/{id}/authorize",
    fields: {},
  };
  const asked: ProxyAddressRequest = {
    environment: "live",
    origin: "https://api.stripe.com",
    pathVariables: { id: "pay_1-A" },
    emulatorHosts: [],
  };
  const test = { ...asked, environment: "test", origin: "http://127.0.0.1:9000" } as const;
  const sandbox = jsonDestinations[0]!;

  it("fills one segment of plain letters, and nothing else", () => {
    expect(proxyAddressOf(real, asked)).toBe("https://api.stripe.com/payments/pay_1-A/authorize");
    for (const id of ["", "a/b", "..", "{{card.number}}", "a?b"])
      expect(proxyAddressOf(real, { ...asked, pathVariables: { id } })).toBeUndefined();
    expect(proxyAddressOf(real, { ...asked, pathVariables: {} })).toBeUndefined();
  });

  it.each<[string, ProxyDestination, ProxyAddressRequest]>([
    ["plain HTTP in live", real, { ...asked, origin: "http://api.stripe.com" }],
    ["another host", real, { ...asked, origin: "https://api.stripe.com.example" }],
    ["another port", real, { ...asked, origin: "https://api.stripe.com:8443" }],
    ["an origin with a path", real, { ...asked, origin: "https://api.stripe.com/x" }],
    ["an origin with a user", real, { ...asked, origin: "https://a@api.stripe.com" }],
    ["no origin", real, { ...asked, origin: "api.stripe.com" }],
    ["the environment the row does not name", real, { ...asked, environment: "test" }],
    ["an emulator in live", real, { ...asked, origin: "http://10.0.0.1:9000", emulatorHosts: ["10.0.0.1:9000"] }],
    ["the sandbox in live", sandbox, { ...test, environment: "live" }],
    ["the sandbox on another machine", sandbox, { ...test, origin: "http://10.0.0.1:9000" }],
  ])("has no address for %s, like our own vault", (_, row, request) => {
    expect(proxyAddressOf(row, request)).toBeUndefined();
    const own = { ...findDestination(destinations, sandbox), ...row };
    // Our own vault has emulators in live too: it takes test cards alone then.
    const sandboxHosts = request.environment === "test" ? request.emulatorHosts : [];
    expect(() => addressOf(own, { ...request, sandboxHosts })).toThrow();
  });

  it("sends to the sandbox on this machine and to an emulator, in test", () => {
    expect(proxyAddressOf(sandbox, test)).toBe("http://127.0.0.1:9000/b/payments");
    const emulator = { ...test, origin: "http://10.0.0.1:9000", emulatorHosts: ["10.0.0.1:9000"] };
    expect(proxyAddressOf(sandbox, emulator)).toBe("http://10.0.0.1:9000/b/payments");
  });
});
