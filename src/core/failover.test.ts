import { describe, expect, it } from "vitest";
import { failureKinds, type PlannedConnection, type Stop } from "./entities.ts";
import { decideNext, type FailoverRule } from "./failover.ts";

const next: PlannedConnection = { priority: 2, gateway: "SANDBOX_B", connectionId: "c2", credentialVersion: 1 };
const rule: FailoverRule = { version: 3, failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
const left = { plan: [next], withinBudget: true };
const stops: Stop[] = ["fraud", "scheme_rule", "same_card_fails", "authentication_required", "unclassified"];

describe("decideNext()", () => {
  it.each(failureKinds.filter((kind) => kind !== "FRAUD"))("fails over on %s by default", (kind) => {
    expect(decideNext({ gateway: "SANDBOX_A", kind }, rule, left)).toMatchObject({ action: "failover", to: next });
  });

  it("never moves on after a fraud decline, whether or not its row says stop", () => {
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

  it("stops at the end of the plan and at the end of the budget, and says which", () => {
    const timeout = { gateway: "SANDBOX_A", kind: "TIMEOUT" } as const;
    expect(decideNext(timeout, rule, { plan: [], withinBudget: true }).because).toContain("no gateway left");
    expect(decideNext(timeout, rule, { plan: [next], withinBudget: false })).toMatchObject({
      action: "stop",
      because: expect.stringContaining("time for this payment was over"),
    });
  });
});
