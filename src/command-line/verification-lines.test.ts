import { describe, expect, it } from "vitest";
import { rotationLines, verificationLines } from "./verification-lines.ts";

// As the service writes JSON: what is false is left out.
const passed = { check: "credentials", passed: true, required: true, detail: "The key works." };
const failed = { check: "raw_cards", required: true, detail: "The account may not." };
const lesser = { check: "currencies", detail: "None are known." };

const lastOf = (lines: readonly string[]) => lines.at(-1);

describe("verificationLines()", () => {
  it("tells of each check", () => {
    expect(verificationLines({ verified: true, inUse: true, checks: [passed, failed, lesser] })).toEqual([
      "passed  credentials: The key works.",
      "FAILED  raw_cards: The account may not.",
      "failed, not required  currencies: None are known.",
      "Verified: it can be routed to.",
    ]);
  });

  it("says that credentials in use stay so, and what can be done about it", () => {
    expect(lastOf(verificationLines({ inUse: true, checks: [passed, failed] }))).toBe(
      "A check failed; the credentials stay in use. Pause the connection to leave it out.",
    );
    expect(lastOf(verificationLines({ checks: [failed] }))).toBe("Not verified: its credentials are not in use.");
  });

  it("says that newer credentials are in use where nothing else was wrong", () => {
    expect(lastOf(verificationLines({ checks: [passed, lesser] }))).toContain("newer credentials are in use already");
  });
});

describe("rotationLines()", () => {
  it("says what became of the new credentials, and why", () => {
    expect(lastOf(rotationLines({ verified: true, checks: [passed] }))).toMatch(/^In use from now on/);
    expect(lastOf(rotationLines({ checks: [passed, failed] }))).toMatch(/^Not in use and not kept/);
    expect(lastOf(rotationLines({ checks: [passed] }))).toBe("Not kept: newer credentials are in use already.");
  });
});
