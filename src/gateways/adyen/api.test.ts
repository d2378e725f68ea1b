import { describe, expect, it } from "vitest";
import { addressOf, destinations, findDestination } from "../../vault/destinations.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import { adyenTestOrigin, liveOrigin, pathIn } from "./api.ts";
import { credentialFields } from "./credentials.ts";

const common = { apiKey: "AQEyhmfxK4vIbBNBw0m/n3Q5==-i1i{=<;wFH*jLc94NQe", merchantAccount: "YourCompanyECOM" };
const hmacKey = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
const live = { ...common, hmacKey, liveUrlPrefix: "1797a841fbb37ca7-YourCompany" };
describe("liveOrigin() and pathIn()", () => {
  it("name the addresses to which the vault sends Adyen's cards, and no others", () => {
    const origin = liveOrigin(live.liveUrlPrefix);
    expect(origin).toBe("https://1797a841fbb37ca7-yourcompany-checkout-live.adyenpayments.com");
    const row = (operation: string) => findDestination(destinations, { connector: "ADYEN", operation });
    const addressIn = (environment: "test" | "live", operation: string, to: string) =>
      addressOf(row(operation), { environment, origin: to, pathVariables: {}, sandboxHosts: [] });
    expect(addressIn("live", "live_payment", origin)).toBe(origin + pathIn("live", "/payments"));
    expect(addressIn("test", "payment", adyenTestOrigin)).toBe(adyenTestOrigin + pathIn("test", "/payments"));
    expect(() => addressIn("test", "live_payment", origin)).toThrow();
    expect(() => addressIn("live", "payment", adyenTestOrigin)).toThrow();
    for (const other of [`${origin}.example`, origin.replace("checkout-live", "x"), adyenTestOrigin]) {
      expect(() => addressIn("live", "live_payment", other)).toThrow();
    }
  });
});

describe("credentialFields()", () => {
  const problems = (environment: "test" | "live", entered: Record<string, string>) =>
    findCredentialProblems(credentialFields(environment), entered).map(({ param, code }) => [param, code]);

  it("requires a live prefix in live and refuses one in test", () => {
    expect(problems("test", { ...common, hmacKey })).toEqual([]);
    expect(problems("live", live)).toEqual([]);
    expect(problems("test", live)).toEqual([["credentials.liveUrlPrefix", "unknown_field"]]);
    expect(problems("live", { ...common, hmacKey })).toEqual([["credentials.liveUrlPrefix", "missing_field"]]);
  });

  it.each([
    ["apiKey", "short"],
    ["apiKey", "with a space inside of the key"],
    ["merchantAccount", "{{card.number}}"],
    ["hmacKey", hmacKey.slice(1)],
    ["hmacKey", `${hmacKey.slice(1)}g`],
    ["liveUrlPrefix", "evil.example/#"],
    ["liveUrlPrefix", "1797a841fbb37ca7-a.evil.example"],
  ])("refuses as %s a value of the wrong shape: %s", (name, value) => {
    expect(problems("live", { ...live, [name]: value })).toEqual([[`credentials.${name}`, "invalid_field"]]);
  });
});
