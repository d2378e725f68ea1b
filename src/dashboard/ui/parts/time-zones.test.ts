import { expect, it } from "vitest";
import { isZone } from "./time-zones.ts";

it.each([
  ["Europe/Berlin", true],
  ["UTC", true],
  ["Etc/Unknown", false],
  ["", false],
])("tells whether times can be told in the zone %j: %j", (zone, isKnown) => {
  expect(isZone(zone)).toBe(isKnown);
});
