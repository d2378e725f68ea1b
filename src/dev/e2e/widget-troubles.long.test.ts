/** Two hundred payments each with a failing connection, a reloaded page and a killed service. */
import { describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { openGround, playTrouble, problemOf, type Trouble } from "./trouble-runs.ts";

const paymentsInAll = 200;
// As many pages as a small machine can hold open; in the end all of them wait for the same event.
const atOnce = 10;
const timeoutMs = 45 * 60_000;

const [demo, browser] = await Promise.all([forFile(startTestDemo), forFile(launchBrowser)]);
const ground = await forFile(() => openGround(demo, browser));

describe("the widget", () => {
  it.each<Trouble>(["offline", "reload", "restart"])(
    "reports the true outcome once after %s, and nothing is captured twice",
    { timeout: timeoutMs },
    async (trouble) => {
      const problems: string[] = [];
      const statuses: Record<string, number> = {};
      for (let done = 0; done < paymentsInAll; done += atOnce) {
        const runs = await playTrouble(ground, trouble, atOnce);
        problems.push(...runs.flatMap((run) => problemOf(run) ?? []));
        for (const { status = "" } of runs) statuses[status] = (statuses[status] ?? 0) + 1;
      }
      console.info(`${trouble}: ${JSON.stringify(statuses)}`);
      expect(problems).toEqual([]);
    },
  );
});
