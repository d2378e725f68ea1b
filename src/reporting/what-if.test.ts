import { describe, expect, it } from "vitest";
import type { FailoverSwitch } from "../core/rows/entities.ts";
import { addCounts, compareReplay, type PastAnswer, type PastPayment, replayPayment } from "./what-if.ts";

const held: PastAnswer = { type: "held" };
const declined: PastAnswer = { type: "failed", kind: "HARD_DECLINE" };
const fraud: PastAnswer = { type: "failed", kind: "FRAUD", stop: "fraud" };
const timeout: PastAnswer = { type: "failed", kind: "TIMEOUT" };

/** Builds a payment from its gateways and their answers: `past("a", declined, "b", held)`. */
function past(...story: (string | PastAnswer)[]): PastPayment {
  const attempts = story.flatMap((name, index) =>
    index % 2 === 0
      ? [{ connectionId: String(name), gateway: String(name), answer: story[index + 1] as PastAnswer }]
      : [],
  );
  return { attempts, succeeded: attempts.at(-1)?.answer?.type === "held" };
}

const planOf = (ids: string) =>
  [...ids].map((id, index) => ({ priority: index + 1, gateway: id, connectionId: id, credentialVersion: 1 }));

const all: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];
function replay(payment: PastPayment, ids: string, failoverOn = all) {
  const replayed = replayPayment(payment, { plan: planOf(ids) }, { version: 2, failoverOn });
  const asked = replayed.asked.map(({ gateway }) => gateway).join("");
  return { ...replayed, asked, counts: compareReplay(payment, replayed) };
}

describe("replayPayment()", () => {
  it.each<[string, PastPayment, string, readonly FailoverSwitch[], string, string]>([
    ["the same way", past("a", declined, "b", held), "ab", all, "ab", "succeeds"],
    ["straight to the one that held", past("a", declined, "b", held), "ba", all, "b", "succeeds"],
    ["to an end, where the switch is off", past("a", declined, "b", held), "ab", ["TIMEOUT"], "a", "fails"],
    ["no further than fraud, whatever the switches", past("a", fraud), "ab", all, "a", "fails"],
    ["to a gateway that was not tried", past("a", held), "ba", all, "b", "cannotKnow"],
    ["past the old end to a gateway that was not tried", past("a", timeout), "ab", all, "ab", "cannotKnow"],
    ["no further than an inconclusive answer", past("a", undefined, "b", held), "ab", all, "a", "cannotKnow"],
    ["nowhere", past("a", held), "", all, "", "fails"],
  ])("goes %s", (_what, payment, ids, failoverOn, asked, end) => {
    expect(replay(payment, ids, failoverOn)).toMatchObject({ asked, end });
  });

  it("returns the reason for its end", () => {
    expect(replay(past("a", held), "ba").because).toBe("b was not called then, so its answer is unknown.");
    expect(replay(past("a", declined), "a").because).toBe(
      "The plan of rule version 2 has no gateway left after a hard decline at a.",
    );
  });
});

describe("replayPayment() by a rule that retries at the same gateway", () => {
  const asksAgain: PastAnswer = { type: "failed", kind: "SOFT_DECLINE", allowsAgain: true };
  const retries = (payment: PastPayment, retriesSameGateway = true) => {
    const rule = { version: 2, failoverOn: all, retriesSameGateway };
    const replayed = replayPayment(payment, { plan: planOf("ab") }, rule);
    return [replayed.asked.map(({ gateway }) => gateway).join(""), replayed.end];
  };
  const again = (answer: PastAnswer) => ({ connectionId: "a", gateway: "a", answer, isRetry: true });
  const first = past("a", asksAgain, "b", held);

  it("knows the second answer only if the gateway was asked twice", () => {
    expect(retries(first)).toEqual(["aa", "cannotKnow"]);
    expect(retries(first, false)).toEqual(["ab", "succeeds"]);
    const twice = { ...first, attempts: [first.attempts[0]!, again(held)] };
    expect(retries(twice)).toEqual(["aa", "succeeds"]);
    expect(retries(twice, false)).toEqual(["ab", "cannotKnow"]);
    const failedTwice = { ...first, attempts: [first.attempts[0]!, again(declined), first.attempts[1]!] };
    expect(retries(failedTwice)).toEqual(["aab", "succeeds"]);
  });
});

describe("replayPayment() of a wallet's cryptogram", () => {
  const silent: PastAnswer = { type: "failed", kind: "TIMEOUT", mayHaveActed: true };
  const unsent: PastAnswer = { type: "failed", kind: "GATEWAY_ERROR" };
  const plan = planOf("ab");
  const endsUnder = (answer: PastAnswer, credential: "NETWORK_TOKEN" | "PAN" = "NETWORK_TOKEN") =>
    ([undefined, "NOT_SENT", "UNANSWERED", "DECLINED"] as const).map((cryptogramResend) => {
      const payment = { ...past("a", answer, "b", held), wallet: { credential } };
      return replayPayment(payment, { plan }, { version: 2, failoverOn: all, cryptogramResend }).end;
    });

  it.each<[string, PastAnswer, string[]]>([
    ["what was not sent", unsent, ["succeeds", "succeeds", "succeeds", "succeeds"]],
    ["silence", silent, ["succeeds", "fails", "succeeds", "succeeds"]],
    ["a decline", declined, ["fails", "fails", "fails", "succeeds"]],
  ])("goes on after %s as the rule says", (_, answer, ends) => {
    expect(endsUnder(answer)).toEqual(ends);
  });

  it("is of no concern to a wallet's card", () => {
    expect(endsUnder(declined, "PAN")).toEqual(["succeeds", "succeeds", "succeeds", "succeeds"]);
  });
});

describe("replayPayment() of customer authentication", () => {
  type Wish = "as_needed" | "always" | undefined;
  const required: PastAnswer = { type: "failed", kind: "SOFT_DECLINE", stop: "authentication_required" };
  const end = (answer: PastAnswer, then: Wish, now: Wish, customerAsked = false) => {
    const attempts = [{ connectionId: "a", gateway: "a", answer, authentication: then }];
    const step = { priority: 1, gateway: "a", connectionId: "a", credentialVersion: 1, authentication: now };
    const payment = { succeeded: answer === held, attempts, customerAsked };
    return replayPayment(payment, { plan: [step] }, { version: 2, failoverOn: all }).end;
  };

  it("knows what the same wish led to, unless the customer was asked", () => {
    for (const wish of ["as_needed", "always", undefined] as const) {
      expect(end(held, wish, wish)).toBe("succeeds");
      expect(end(declined, wish, wish)).toBe("fails");
      expect(end(held, wish, wish, true)).toBe("cannotKnow");
    }
  });

  it("knows that a gateway which did not need the customer needs no permission", () => {
    expect(end(held, "as_needed", undefined)).toBe("succeeds");
    expect(end(required, undefined, undefined)).toBe("fails");
    expect(end(required, "as_needed", undefined)).toBe("fails");
  });

  it("does not know what another wish would have led to", () => {
    expect(end(held, "as_needed", "always")).toBe("cannotKnow");
    expect(end(held, "always", "as_needed")).toBe("cannotKnow");
    expect(end(held, "always", undefined)).toBe("cannotKnow");
    expect(end(held, undefined, "as_needed")).toBe("cannotKnow");
    expect(end(required, "as_needed", "as_needed")).toBe("cannotKnow");
  });
});

describe("compareReplay()", () => {
  const nothing = { same: 0, otherFirst: 0, fewerAttempts: 0, moreAttempts: 0, cannotKnow: 0, lost: 0, notRoutable: 0 };

  it.each<[string, PastPayment, string, readonly FailoverSwitch[], object]>([
    ["the same", past("a", held), "a", all, { same: 1, succeededThen: 1, succeeds: 1 }],
    [
      "a payment that needs one gateway less",
      past("a", declined, "b", held),
      "ba",
      all,
      { otherFirst: 1, fewerAttempts: 1, succeededThen: 1, succeeds: 1 },
    ],
    ["a payment that is lost", past("a", declined, "b", held), "ab", [], { fewerAttempts: 1, lost: 1, succeeds: 0 }],
    [
      "one more gateway, whose answer is unknown",
      past("a", timeout),
      "ab",
      all,
      { moreAttempts: 1, cannotKnow: 1, succeeds: 0 },
    ],
    [
      "another first gateway, whose answer is unknown",
      past("a", held),
      "ba",
      all,
      { otherFirst: 1, cannotKnow: 1, succeededThen: 1, succeeds: 0 },
    ],
    ["no gateway to try", past("a", held), "", all, { lost: 1, notRoutable: 1, fewerAttempts: 1 }],
  ])("counts %s", (_what, payment, ids, failoverOn, expected) => {
    expect(replay(payment, ids, failoverOn).counts).toMatchObject({ payments: 1, ...nothing, ...expected });
  });

  it("returns counts that add up", () => {
    const counts = [past("a", held), past("a", declined)].map((payment) => replay(payment, "a").counts);
    expect(addCounts(counts)).toMatchObject({ payments: 2, same: 2, succeededThen: 1, succeeds: 1 });
    expect(addCounts([])).toMatchObject({ payments: 0 });
  });
});
