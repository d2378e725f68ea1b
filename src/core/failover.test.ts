import { describe, expect, it } from "vitest";
import { type FailoverSwitch, failureKinds, type PlannedConnection, type Stop } from "./entities.ts";
import { decideNext, type FailoverRule, type Failure } from "./failover.ts";

const next: PlannedConnection = { priority: 2, gateway: "SANDBOX_B", connectionId: "c2", credentialVersion: 1 };
const rule: FailoverRule = { version: 3, failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
const left = { plan: [next], withinBudget: true };
const stops: Stop[] = ["fraud", "scheme_rule", "same_card_fails", "authentication_required", "unclassified"];

describe("decideNext()", () => {
  it.each(failureKinds.filter((kind) => kind !== "FRAUD"))("fails over on %s by default", (kind) => {
    expect(decideNext({ gateway: "SANDBOX_A", kind }, rule, left)).toMatchObject({ action: "failover", to: next });
  });

  it("never fails over after a fraud decline, with or without a stop in its row", () => {
    const answers = [undefined, "fraud" as const].map((stop) =>
      decideNext({ gateway: "SANDBOX_A", kind: "FRAUD", stop }, rule, left),
    );
    expect(answers.map(({ action }) => action)).toEqual(["stop", "stop"]);
  });

  it.each(stops)("stops on %s whatever the rule says", (stop) => {
    const answer = decideNext({ gateway: "SANDBOX_A", kind: "HARD_DECLINE", stop }, rule, left);
    expect(answer).toMatchObject({ action: "stop", because: expect.stringContaining("rule version 3") });
  });

  it.each([
    ["HARD_DECLINE", "HARD_DECLINE"],
    ["SOFT_DECLINE", "HARD_DECLINE"],
    ["TIMEOUT", "TIMEOUT"],
    ["GATEWAY_ERROR", "GATEWAY_ERROR"],
  ] as const)("lets %s follow the switch %s alone", (kind, own) => {
    const decided = (failoverOn: FailoverRule["failoverOn"]) =>
      decideNext({ gateway: "SANDBOX_A", kind }, { version: 1, failoverOn }, left).action;
    expect(decided([own])).toBe("failover");
    expect(decided(rule.failoverOn.filter((other) => other !== own))).toBe("stop");
  });

  it("fails over on exactly the kinds that are switched on, and never after fraud, a stop or a missing card", () => {
    const switches: FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];
    const settings = Array.from({ length: 8 }, (_, bits) => switches.filter((_, index) => bits & (1 << index)));
    const moved: string[] = [];
    for (const failoverOn of settings) {
      for (const kind of failureKinds) {
        for (const stop of [undefined, ...stops]) {
          for (const noCard of [undefined, "vault_unavailable", "token_unusable"] as const) {
            const answer = decideNext({ gateway: "SANDBOX_A", kind, stop, noCard }, { version: 12, failoverOn }, left);
            expect(answer.because).toMatch(/rule version 12\b/i);
            if (answer.action === "failover") moved.push(`${kind} ${stop} ${noCard} by ${failoverOn}`);
          }
        }
      }
    }
    const expected = settings.flatMap((failoverOn) =>
      [
        ...(failoverOn.includes("HARD_DECLINE") ? ["HARD_DECLINE", "SOFT_DECLINE"] : []),
        ...failoverOn.filter((kind) => kind !== "HARD_DECLINE"),
      ].map((kind) => `${kind} undefined undefined by ${failoverOn}`),
    );
    expect(moved).toEqual(expected);
  });

  it.each<[NonNullable<Failure["noCard"]>, RegExp]>([
    ["vault_unavailable", /^The card vault could not be used/],
    ["token_unusable", /^The card vault no longer keeps this card/],
  ])("does not name the gateway as the cause of %s", (noCard, because) => {
    const answer = decideNext({ gateway: "SANDBOX_A", kind: "GATEWAY_ERROR", noCard }, rule, left);
    expect(answer).toMatchObject({ action: "stop", because: expect.stringMatching(because) });
    expect(answer.because).not.toContain("SANDBOX_A");
  });

  it("names a refused capture as the failure", () => {
    const refused = { gateway: "SANDBOX_A", kind: "GATEWAY_ERROR", captureRefused: true } as const;
    const { because } = decideNext(refused, rule, left);
    expect(because).toContain("after a permanently refused capture at SANDBOX_A");
  });

  it("stops at the end of the plan and at the end of the time budget, and names which", () => {
    const timeout = { gateway: "SANDBOX_A", kind: "TIMEOUT" } as const;
    expect(decideNext(timeout, rule, { plan: [], withinBudget: true }).because).toContain("no gateway left");
    expect(decideNext(timeout, rule, { plan: [next], withinBudget: false })).toMatchObject({
      action: "stop",
      because: expect.stringContaining("time for this payment ran out"),
    });
  });
});
