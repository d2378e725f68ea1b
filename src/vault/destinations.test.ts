import { describe, expect, it } from "vitest";
import { addressOf, type Destination, destinations, findDestination, takesNetworkTokens } from "./destinations.ts";
import { planFill } from "./fill-body.ts";

const sandbox = findDestination(destinations, { connector: "SANDBOX_A", operation: "authorize" });
const real: Destination = {
  connector: "STRIPE",
  operation: "confirm",
  hosts: { live: /^api\.stripe\.com$/ },
  path: "/v1/payment_intents/{id}/confirm",
  contentType: "application/x-www-form-urlencoded",
  fields: {},
};
const asked = {
  environment: "live",
  origin: "https://api.stripe.com",
  pathVariables: { id: "pi_1" },
  sandboxHosts: [],
} as const;
const refused = expect.objectContaining({ code: "invalid_field" });

describe("findDestination()", () => {
  it("finds no operation outside the table", () => {
    expect(() => findDestination(destinations, { connector: "SANDBOX_A", operation: "refund" })).toThrow(refused);
    expect(() => findDestination(destinations, { connector: "__proto__", operation: "authorize" })).toThrow(refused);
  });

  it("names only placeholders that can be filled", () => {
    const message = { messageId: "m1", messageExpiration: "1700000000000" };
    const wallet = {
      name: "google_pay",
      credential: "NETWORK_TOKEN",
      cryptogram: "AAAA",
      eci: "5",
      ...message,
    } as const;
    const card = { number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "123", holder: "Ada", wallet };
    for (const row of destinations) {
      for (const [place, template] of Object.entries(row.fields)) {
        const body =
          row.contentType === "application/json"
            ? JSON.stringify(
                place
                  .split("/")
                  .slice(1)
                  .reduceRight<unknown>((inner, name) => ({ [name]: inner }), template),
              )
            : new URLSearchParams({ [place]: template }).toString();
        expect(planFill(row, Buffer.from(body))(card)).not.toContain("{{");
      }
    }
  });
});

describe("the fields of every destination", () => {
  const parts = destinations.flatMap((row) =>
    Object.entries(row.fields).map(
      ([place, template]) => [`${row.connector} ${row.operation}`, place, template] as const,
    ),
  );

  it.each(parts)("of %s: %s is named for its content, %s", (_, place, template) => {
    const name =
      place
        .split(/[/[\]]/)
        .filter(Boolean)
        .at(-1) ?? "";
    // A number or CVC in a field of another name could be shown, so each such field is a whole placeholder and its name
    // says so.
    expect(template).toMatch(/^(\{\{card\.\w+\}\}[-/]?)+$|^(\{\{token\.\w+\}\}[-/]?)+$/);
    if (template.includes("card.number"))
      expect([name, template]).toEqual([
        ["acctNumber", "cardNumber"].includes(name) ? name : "number",
        "{{card.number}}",
      ]);
    else if (template.includes("token.number")) expect([name, template]).toEqual(["number", "{{token.number}}"]);
    else if (template.includes("token.cryptogram"))
      expect(["cryptogram", "tokenAuthenticationVerificationValue"]).toContain(name);
    else if (template.includes("token.eci")) expect(name).toMatch(/^eci/);
    else if (template.includes("token.message")) expect(name).toMatch(/^message_/);
    else if (template.includes("card.cvc"))
      expect([name, template]).toEqual([name === "security_code" ? name : "cvc", "{{card.cvc}}"]);
    else if (/card\.(holder|emvHolder)/.test(template)) expect(name).toMatch(/name|holder/i);
    else if (template.includes("card.postalCode")) expect(name).toMatch(/postal_?code/i);
    else if (template.includes("card.adyenBrand")) expect(name).toBe("brand");
    else expect(name).toMatch(/exp/i);
    expect(place).not.toMatch(/metadata|description|reference|comment/i);
  });
});

describe("takesNetworkTokens()", () => {
  it("tells rows of devices' numbers from rows of cards, and no row takes both", () => {
    const ofTokens = destinations
      .filter(takesNetworkTokens)
      .map(({ connector, operation }) => `${connector} ${operation}`);
    expect(ofTokens.sort()).toEqual([
      ...["ADYEN live_network_token", "ADYEN network_token", "PAYPAL apple_pay", "PAYPAL google_pay"],
      ...["SANDBOX_A network_token", "SANDBOX_B network_token"],
    ]);
    for (const row of destinations) {
      const placeholders = Object.values(row.fields).join(" ");
      expect(placeholders.includes("{{card.") && placeholders.includes("{{token.")).toBe(false);
    }
  });
});

describe("addressOf()", () => {
  it("fills the path of the row", () => {
    expect(addressOf(real, asked)).toBe("https://api.stripe.com/v1/payment_intents/pi_1/confirm");
  });

  it.each([
    ["plain HTTP in live", { origin: "http://api.stripe.com" }],
    ["another host", { origin: "https://api.stripe.com.example" }],
    ["another port", { origin: "https://api.stripe.com:8443" }],
    ["an origin with a path", { origin: "https://api.stripe.com/x" }],
    ["an origin with a user", { origin: "https://a@api.stripe.com" }],
    ["the environment the row does not name", { environment: "test" as const }],
    ["a gateway's own host in live that has emulators", { sandboxHosts: ["10.0.0.1:9000"] }],
    ["another host than live's emulators", { origin: "http://10.0.0.2:9000", sandboxHosts: ["10.0.0.1:9000"] }],
    ["a path variable that leaves its segment", { pathVariables: { id: "../../v1/charges" } }],
    ["a path variable that holds a placeholder", { pathVariables: { id: "{{card.number}}" } }],
    ["a missing path variable", { pathVariables: {} }],
  ])("refuses %s", (_, change) => {
    expect(() => addressOf(real, { ...asked, ...change })).toThrow(refused);
  });

  it("sends a live gateway's requests to an emulator that replaces it, and a sandbox gateway's never", () => {
    const emulated = { ...asked, origin: "http://10.0.0.1:9000", sandboxHosts: ["10.0.0.1:9000"] };
    expect(addressOf(real, emulated)).toBe("http://10.0.0.1:9000/v1/payment_intents/pi_1/confirm");
    expect(() => addressOf(sandbox, emulated)).toThrow(refused);
  });

  it("sends sandbox requests to loopback or a listed host, and only in test", () => {
    const test = { ...asked, environment: "test" } as const;
    expect(addressOf(sandbox, { ...test, origin: "http://127.0.0.1:9000" })).toBe(
      "http://127.0.0.1:9000/a/v1/authorizations",
    );
    expect(() => addressOf(sandbox, { ...test, origin: "http://10.0.0.1:9000" })).toThrow(refused);
    expect(addressOf(sandbox, { ...test, origin: "http://10.0.0.1:9000", sandboxHosts: ["10.0.0.1:9000"] })).toContain(
      "10.0.0.1",
    );
    expect(() => addressOf(sandbox, { ...asked, origin: "http://127.0.0.1:9000" })).toThrow(refused);
  });
});
