import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { runChaos } from "./chaos-run.ts";
import { writeReport } from "./report.ts";

describe("half a minute of chaos", () => {
  it.each([
    ["sandbox", 1],
    ["all", 1],
    ["sandbox", 2],
  ] as const)(
    "ends every session, captures its money once and notifies its merchant, at gateways %s in %i cell(s)",
    { timeout: 900_000 },
    async (gateways, cells) => {
      const options = { minutes: 0.5, seed: randomInt(2 ** 31 - 1), rate: 4, gateways, cells };
      const verdict = await runChaos(options, { signal: new AbortController().signal, show: () => {} });
      console.info(verdict && writeReport(verdict));
      expect(verdict?.violations).toEqual([]);
      expect(verdict?.tally.sum("kill ")).toBeGreaterThan(0);
      expect(verdict?.records.sessions.some(({ status }) => status === "SUCCEEDED")).toBe(true);
    },
  );
});
