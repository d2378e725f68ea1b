import { describe, expect, it } from "vitest";
import { credentialFields } from "./adyen/credentials.ts";
import { findCredentialProblems } from "./check-credentials.ts";
import { secretKeyField } from "./stripe/verify.ts";

const detailOf = (secretKey: string, environment: "test" | "live" = "test") =>
  findCredentialProblems([secretKeyField(environment)], { secretKey }).map(({ code, detail }) => `${code}: ${detail}`);

describe("findCredentialProblems()", () => {
  it("states the length of a value that is too short", () => {
    expect(detailOf("sk_test_short")).toEqual([
      expect.stringMatching(/^invalid_field: Stripe dashboard.* sk_test_ .* at least 10 letters and digits/),
    ]);
    expect(detailOf("sk_test_longenough")).toEqual([]);
  });

  it.each([
    ["a live key in test", "sk_live_51H8abcdefgh", "test", "This is a live key. Enter a key of test mode."],
    ["a test key in live", "rk_test_51H8abcdefgh", "live", "This is a test key. Enter a key of live mode."],
    ["a publishable key", "pk_test_51H8abcdefgh", "test", "This is a publishable key, which cannot make payments."],
  ] as const)("says of %s what it is, and does not repeat the value", (_, key, environment, expected) => {
    const [detail] = detailOf(key, environment);
    expect(detail).toContain(`invalid_field: ${expected} Stripe dashboard, `);
    expect(detail).not.toContain(key);
  });

  it("misses no value that is optional, and checks it where it is given", () => {
    const given = { apiKey: "a".repeat(20), merchantAccount: "Shop", hmacKey: "AB".repeat(32) };
    const problemsOf = (more: object) => findCredentialProblems(credentialFields("test"), { ...given, ...more });
    expect([problemsOf({}), problemsOf({ reportUser: "", reportPassword: "" })]).toEqual([[], []]);
    expect(problemsOf({ reportUser: "report@Company.Shop", reportPassword: "secret" })).toEqual([]);
    expect(problemsOf({ reportUser: "with:colon" })).toMatchObject([
      { param: "credentials.reportUser", code: "invalid_field" },
    ]);
  });

  it("names what is missing and every unknown credential", () => {
    const problems = findCredentialProblems([secretKeyField("test")], { secretkey: "sk_test_longenough" });
    expect(problems.map(({ param, code }) => [param, code])).toEqual([
      ["credentials.secretKey", "missing_field"],
      ["credentials.secretkey", "unknown_field"],
    ]);
  });
});
