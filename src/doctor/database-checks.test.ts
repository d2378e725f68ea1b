import { expect, it } from "vitest";
import { examineDurability } from "./database-checks.ts";

it.each([
  ["on", "on", "on", ["OK"]],
  ["off", "off", "on", ["WARNING"]],
  ["on", "on", "off", ["PROBLEM"]],
  ["off", "on", "off", ["PROBLEM", "WARNING"]],
])(
  "examineDurability(): fsync %s, full_page_writes %s, synchronous_commit %s",
  (fsync, fullPageWrites, late, states) => {
    const findings = examineDurability("database test", { fsync, fullPageWrites, synchronousCommit: late });
    expect(findings.map(({ state }) => state)).toEqual(states);
  },
);
