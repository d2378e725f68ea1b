import { describe, expect, it } from "vitest";
import { rotationLines, verificationLines } from "./verification-lines.ts";

// As the service writes JSON: a false value is omitted.
const passed = { check: "credentials", passed: true, required: true, detail: "The key works." };
const failed = { check: "raw_cards", required: true, detail: "The account may not." };
const lesser = { check: "currencies", detail: "None are known." };

const lastOf = (lines: readonly string[]) => lines.at(-1);

describe("verificationLines()", () => {
  it("reports each check", () => {
    expect(verificationLines({ verified: true, inUse: true, checks: [passed, failed, lesser] })).toEqual([
      "passed  credentials: The key works.",
      "FAILED  raw_cards: The account may not.",
      "failed, not required  currencies: None are known.",
      "Verified: payments can be routed to it.",
    ]);
  });

  it("says that credentials in use stay in use, and how to continue", () => {
    expect(lastOf(verificationLines({ inUse: true, checks: [passed, failed] }))).toBe(
      "A check failed; the credentials stay in use. To stop using the connection, pause it.",
    );
    expect(lastOf(verificationLines({ checks: [failed] }))).toBe("Not verified: its credentials are not in use.");
  });

  it("says that newer credentials are in use if everything else was in order", () => {
    expect(lastOf(verificationLines({ checks: [passed, lesser] }))).toContain("newer credentials are in use already");
  });
});

describe("rotationLines()", () => {
  it("reports the outcome for the new credentials, and the reason", () => {
    expect(lastOf(rotationLines({ verified: true, checks: [passed] }))).toMatch(/^In use from now on/);
    expect(lastOf(rotationLines({ checks: [passed, failed] }))).toMatch(/^Not in use and not kept/);
    expect(lastOf(rotationLines({ checks: [passed] }))).toBe("Not kept: newer credentials are in use already.");
  });
});
