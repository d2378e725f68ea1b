import { describe, expect, it } from "vitest";
import { findCredentialProblems } from "./check-credentials.ts";
import { secretKeyField } from "./stripe/verify.ts";

const detailOf = (secretKey: string, environment: "test" | "live" = "test") =>
  findCredentialProblems([secretKeyField(environment)], { secretKey }).map(({ code, detail }) => `${code}: ${detail}`);

describe("findCredentialProblems()", () => {
  it("names the length to a value that is too short", () => {
    expect(detailOf("sk_test_short")).toEqual([
      expect.stringMatching(/^invalid_field: Stripe dashboard.* sk_test_ .* at least 10 letters and digits/),
    ]);
    expect(detailOf("sk_test_longenough")).toEqual([]);
  });

  it.each([
    ["a live key in test", "sk_live_51H8abcdefgh", "test", "This is a live key, which does not belong in test."],
    ["a test key in live", "rk_test_51H8abcdefgh", "live", "This is a test key, which does not belong in live."],
    ["a publishable key", "pk_test_51H8abcdefgh", "test", "This is a publishable key, which cannot take payments."],
  ] as const)("says of %s what it is, and does not repeat it", (_, key, environment, told) => {
    const [detail] = detailOf(key, environment);
    expect(detail).toContain(`invalid_field: ${told} Stripe dashboard, `);
    expect(detail).not.toContain(key);
  });

  it("names what is missing and what no credential is called", () => {
    const problems = findCredentialProblems([secretKeyField("test")], { secretkey: "sk_test_longenough" });
    expect(problems.map(({ param, code }) => [param, code])).toEqual([
      ["credentials.secretKey", "missing_field"],
      ["credentials.secretkey", "unknown_field"],
    ]);
  });
});
