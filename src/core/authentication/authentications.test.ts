/** Tests which party is recorded as liable for fraud. */
import { describe, expect, it } from "vitest";
import { liabilityOf, liabilityOfEnd } from "./authentications.ts";

// The indicators of Visa (05 to 07) and Mastercard (00 to 02).
const byEci = [
  ["05", "ISSUER"],
  ["02", "ISSUER"],
  ["07", "MERCHANT"],
  ["00", "MERCHANT"],
  ["06", "UNKNOWN"],
  ["01", "UNKNOWN"],
] as const;

describe("liabilityOf()", () => {
  it.each(byEci)("takes ECI %s as %s", (eci, party) => {
    expect(liabilityOf(eci)).toBe(party);
  });

  it("says nothing without an ECI, and nothing certain about any other", () => {
    expect(liabilityOf(undefined)).toBeUndefined();
    for (const eci of ["03", "04", "08", "09", ""]) expect(liabilityOf(eci)).toBe("UNKNOWN");
  });
});

describe("liabilityOfEnd()", () => {
  it.each(byEci)("takes a proof with ECI %s as %s", (eci, party) => {
    expect(liabilityOfEnd("AUTHENTICATED", eci)).toBe(party);
    expect(liabilityOfEnd("ATTEMPTED", eci)).toBe(party);
  });

  it("leaves a payment with an exemption to the merchant, whatever the ECI", () => {
    for (const [eci] of byEci) expect(liabilityOfEnd("EXEMPTED", eci)).toBe("MERCHANT");
    expect(liabilityOfEnd("EXEMPTED", undefined)).toBe("MERCHANT");
  });

  it("shifts nothing without an authentication", () => {
    for (const status of ["UNAVAILABLE", "FAILED", "REJECTED", "CANCELLED", "ABANDONED"] as const) {
      expect(liabilityOfEnd(status, "05")).toBeUndefined();
    }
  });
});
