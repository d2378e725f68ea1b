import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { runChaos } from "./chaos-run.ts";
import { writeReport } from "./report.ts";

describe("half a minute of chaos", () => {
  it.each(["sandbox", "all"] as const)(
    "ends every session, captures its money once and notifies its merchant, at gateways: %s",
    { timeout: 900_000 },
    async (gateways) => {
      const options = { minutes: 0.5, seed: randomInt(2 ** 31 - 1), rate: 4, gateways };
      const verdict = await runChaos(options, { signal: new AbortController().signal, show: () => {} });
      console.info(verdict && writeReport(verdict));
      expect(verdict?.violations).toEqual([]);
      expect(verdict?.tally.sum("kill ")).toBeGreaterThan(0);
      expect(verdict?.records.sessions.some(({ status }) => status === "SUCCEEDED")).toBe(true);
    },
  );
});
