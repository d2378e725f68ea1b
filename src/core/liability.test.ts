import { expect, it } from "vitest";
import { liabilityOf } from "./authentications.ts";

// The issuer is liable after a full authentication alone. An attempt (01 at Mastercard, 06 at Visa) may shift it or not,
// by the network, the region and the card.
it.each([
  [undefined, undefined],
  ["05", "ISSUER"],
  ["02", "ISSUER"],
  ["06", "UNKNOWN"],
  ["01", "UNKNOWN"],
  ["07", "MERCHANT"],
  ["00", "MERCHANT"],
  ["04", "UNKNOWN"],
  ["", "UNKNOWN"],
] as const)("an ECI of %s says about the liability: %s", (eci, liability) => {
  expect(liabilityOf(eci)).toBe(liability);
});
