import { describe, expect, it } from "vitest";
import { type FaultKind, Faults, requestFaults } from "./faults.ts";
import { Pauses } from "./pauses.ts";
import type { SandboxAnswer } from "./routes.ts";

/** Faults of one kind only, or as often as given, with everything late released at once. */
function faultsOf(rates: Partial<Record<FaultKind, number>>, seed = "s") {
  const faults = new Faults(new Pauses());
  faults.switchTo({ seed, rates, lateMsMax: 1 });
  return faults;
}

function request() {
  let executed = 0;
  return {
    execute: async (): Promise<SandboxAnswer> => ({ status: 200, body: { executed: ++executed } }),
    executed: () => executed,
  };
}

describe("Faults", () => {
  it("leaves everything alone until it is switched on", async () => {
    const { execute } = request();
    const faults = new Faults(new Pauses());
    expect(await faults.aroundRequest(execute)).toEqual({ status: 200, body: { executed: 1 } });
    expect(faults.counts()).toEqual({});
  });

  it.each([
    ["request_lost", 0, "hang_up"],
    ["executed_late", 1, { status: 200 }],
    ["executed_too_late", 1, { status: 200 }],
    ["executed_twice", 2, { status: 200 }],
    ["answer_lost", 1, "hang_up"],
    ["answered_late", 1, { status: 200 }],
    ["error_after", 1, { status: 500 }],
  ] as const)("%s: executes %i times and shows its sender what is left", async (kind, times, answer) => {
    const { execute, executed } = request();
    const faults = faultsOf({ [kind]: 1 });
    const seen = await faults.aroundRequest(execute);
    if (typeof answer === "string") expect(seen).toBe(answer);
    else expect(seen).toMatchObject(answer);
    expect(executed()).toBe(times);
    expect(faults.counts()).toEqual({ [kind]: 1 });
  });

  it("sends a notice twice", async () => {
    let sent = 0;
    await faultsOf({ notice_twice: 1, notice_late: 1 }).aroundNotice(async () => void sent++);
    expect(sent).toBe(2);
  });

  it("draws the same faults from the same seed, others from another", async () => {
    const drawn = async (seed: string) => {
      const faults = faultsOf(Object.fromEntries(requestFaults.map((kind) => [kind, 0.1])), seed);
      const answers: SandboxAnswer[] = [];
      for (let asked = 0; asked < 60; asked++) answers.push(await faults.aroundRequest(request().execute));
      return { answers, counts: faults.counts() };
    };
    expect(await drawn("one")).toEqual(await drawn("one"));
    expect(await drawn("one")).not.toEqual(await drawn("two"));
  });

  it("lets what is late go on when it is switched off", async () => {
    const faults = new Faults(new Pauses());
    faults.switchTo({ seed: "s", rates: { answered_late: 1 }, lateMsMax: 2 ** 31 });
    const answer = faults.aroundRequest(request().execute);
    await Promise.resolve();
    await Promise.resolve();
    faults.switchTo();
    expect(await answer).toMatchObject({ status: 200 });
  });
});
