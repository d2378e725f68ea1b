import { describe, expect, it } from "vitest";
import type { RuleContent } from "../core/record/routing-rules.ts";
import { describeRuleChanges } from "./rule-changes.ts";

const rule = (ids: string, failoverOn: RuleContent["failoverOn"] = ["TIMEOUT"]): RuleContent => ({
  connectionIds: [...ids],
  failoverOn,
});
const changes = (before: RuleContent | undefined, after: RuleContent) =>
  describeRuleChanges(before, after, (id) => id.toUpperCase());

describe("describeRuleChanges()", () => {
  it.each<[string, RuleContent | undefined, RuleContent, string[]]>([
    ["nothing", rule("ab"), rule("ab"), []],
    [
      "a first rule",
      undefined,
      rule("a"),
      ["A is added with priority 1.", "After timeouts, the next gateway is tried."],
    ],
    ["a new one at the end", rule("a"), rule("ab"), ["B is added with priority 2."]],
    ["one that left, which moves no other", rule("abc"), rule("bc"), ["A is removed."]],
    ["an exchange", rule("abc"), rule("cba"), ["C moves from priority 3 to 1.", "A moves from priority 1 to 3."]],
    ["no priority twice", rule("abc"), rule("cb"), ["A is removed.", "C moves from priority 3 to 1."]],
    [
      "switches",
      rule("a", ["TIMEOUT"]),
      rule("a", ["HARD_DECLINE"]),
      ["After declines, the next gateway is tried.", "Timeouts end the payment."],
    ],
  ])("describes %s", (_what, before, after, expected) => {
    expect(changes(before, after)).toEqual(expected);
  });

  it("describes the policies of authentication", () => {
    const policy = { exemptions: ["LOW_VALUE"], stopsIfUnavailable: true, forbidsSecondChallenge: false } as const;
    const other = { exemptions: ["RISK_ANALYSIS"], stopsIfUnavailable: false, forbidsSecondChallenge: true } as const;
    expect(changes(rule("a"), { ...rule("a"), policy })).toEqual([
      "Gateways ask for the exemption for low value.",
      "Payments stop where the provider cannot authenticate first.",
    ]);
    expect(changes({ ...rule("a"), policy }, { ...rule("a"), policy: other })).toEqual([
      "No gateway asks for the exemption for low value.",
      "Gateways ask for the exemption for risk analysis.",
      "Payments go on where the provider cannot authenticate first.",
      "A customer is asked once in a payment at most.",
    ]);
    expect(changes({ ...rule("a"), policy: other }, { ...rule("a"), policy: null })).toEqual([
      "No gateway asks for the exemption for risk analysis.",
      "A customer may be asked a second time, by another gateway.",
    ]);
    const paying = { ...policy, withoutBrowser: "PAY" } as const;
    expect(changes({ ...rule("a"), policy }, { ...rule("a"), policy: paying })).toEqual([
      "A payment that has to be authenticated is made without where the page sends no data of its browser.",
    ]);
    expect(changes({ ...rule("a"), policy: paying }, { ...rule("a"), policy })).toEqual([
      "A payment that has to be authenticated is declined where the page sends no data of its browser.",
    ]);
    const declining = { ...policy, withoutBrowser: "DECLINE" } as const;
    expect(changes({ ...rule("a"), policy }, { ...rule("a"), policy: declining })).toEqual([]);
  });

  it.each<[RuleContent["authentication"], RuleContent["authentication"], string[]]>([
    [undefined, "AS_NEEDED", []],
    ["NEVER", "NEVER", []],
    ["AS_NEEDED", "ALWAYS", ["Gateways have to authenticate the customer of every payment."]],
    ["ALWAYS", "NEVER", ["No gateway may ask for customer authentication."]],
    ["NEVER", "AS_NEEDED", ["Gateways ask for customer authentication as needed."]],
  ])("describes authentication that was %s and is %s", (before, after, expected) => {
    expect(changes({ ...rule("a"), authentication: before }, { ...rule("a"), authentication: after })).toEqual(
      expected,
    );
  });
});
