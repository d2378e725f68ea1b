import { describe, expect, it } from "vitest";
import { type FaultKind, Faults, requestFaults } from "./faults.ts";
import { Pauses } from "./pauses.ts";
import type { SandboxAnswer } from "./routes.ts";

/** Returns faults of one kind only, or at the given rates, with everything late released at once. */
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
  it("changes nothing until it is switched on", async () => {
    const { execute } = request();
    const faults = new Faults(new Pauses());
    expect(await faults.aroundRequest("a.capture", execute)).toEqual({ status: 200, body: { executed: 1 } });
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
    ["answer_cut", 1, { status: 200, spoilt: "cut" }],
    ["answer_garbled", 1, { status: 200, spoilt: expect.stringMatching(/^(page|half|nothing)$/) }],
  ] as const)("%s: executes %i times and shows its sender the rest", async (kind, times, answer) => {
    const { execute, executed } = request();
    const faults = faultsOf({ [kind]: 1 });
    const seen = await faults.aroundRequest("a.capture", execute);
    if (typeof answer === "string") expect(seen).toBe(answer);
    else expect(seen).toMatchObject(answer);
    expect(executed()).toBe(times);
    expect(faults.counts()).toEqual({ [kind]: 1 });
  });

  it("fails inside the key, executed or not, and changes nothing else", async () => {
    const { execute, executed } = request();
    const failed: SandboxAnswer = { status: 500, body: {} };
    const faults = faultsOf({ error_kept: 1 });
    const answers = [];
    for (let asked = 0; asked < 20; asked++) answers.push(await faults.insideKey("a.capture", { execute, failed }));
    expect(new Set(answers)).toEqual(new Set([failed]));
    expect(executed()).toBeGreaterThan(0);
    expect(executed()).toBeLessThan(20);
    expect(await faultsOf({}).insideKey("a.capture", { execute, failed })).toMatchObject({ status: 200 });
  });

  it("draws for each operation separately, whatever other operations are requested meanwhile", async () => {
    const drawn = async (others: number) => {
      const faults = faultsOf({ request_lost: 0.5 });
      const answers: SandboxAnswer[] = [];
      for (let asked = 0; asked < 20; asked++) {
        for (let other = 0; other < others; other++) await faults.aroundRequest("b.void", request().execute);
        answers.push(await faults.aroundRequest("a.capture", request().execute));
      }
      return answers;
    };
    expect(await drawn(3)).toEqual(await drawn(0));
  });

  it("holds back a lost notification until it is switched off", async () => {
    const pauses = new Pauses();
    const faults = new Faults(pauses);
    faults.switchTo({ seed: "s", rates: { notification_lost: 1 }, lateMsMax: 0 });
    let sent = 0;
    const sending = faults.aroundNotification(async () => void sent++);
    await pauses.arrival({ operation: "fault" });
    expect(sent).toBe(0);
    faults.switchTo();
    await sending;
    expect(sent).toBe(1);
  });

  it("sends a notification twice", async () => {
    let sent = 0;
    await faultsOf({ notification_twice: 1, notification_late: 1 }).aroundNotification(async () => void sent++);
    expect(sent).toBe(2);
  });

  it("draws the same faults from the same seed, others from another", async () => {
    const drawn = async (seed: string) => {
      const faults = faultsOf(Object.fromEntries(requestFaults.map((kind) => [kind, 0.1])), seed);
      const answers: SandboxAnswer[] = [];
      for (let asked = 0; asked < 60; asked++) answers.push(await faults.aroundRequest("a.capture", request().execute));
      return { answers, counts: faults.counts() };
    };
    expect(await drawn("one")).toEqual(await drawn("one"));
    expect(await drawn("one")).not.toEqual(await drawn("two"));
  });

  it("releases what is late when it is switched off", async () => {
    const faults = new Faults(new Pauses());
    faults.switchTo({ seed: "s", rates: { answered_late: 1 }, lateMsMax: 2 ** 31 });
    const answer = faults.aroundRequest("a.capture", request().execute);
    await Promise.resolve();
    await Promise.resolve();
    faults.switchTo();
    expect(await answer).toMatchObject({ status: 200 });
  });
});
