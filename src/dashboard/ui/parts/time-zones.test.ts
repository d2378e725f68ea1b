import { expect, it } from "vitest";
import { usableZone } from "./time-zones.ts";

it.each([
  ["Europe/Berlin", "Europe/Berlin"],
  ["Europe/Kiev", "Europe/Kyiv"],
  ["UTC", "UTC"],
  ["Etc/Unknown", undefined],
  ["", undefined],
  [undefined, undefined],
])("uses the browser's zone %j as %j", (zone, used) => {
  expect(usableZone(zone)).toBe(used);
});
