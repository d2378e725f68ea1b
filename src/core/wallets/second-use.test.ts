import { describe, expect, it } from "vitest";
import type { FailoverDecision, Failure } from "../decide/failover.ts";
import type { Attempt, CryptogramResend } from "../rows/entities.ts";
import { beforeSecondUse, decideForCryptogram } from "./second-use.ts";

const to = { priority: 2, gateway: "SANDBOX_B", connectionId: "b", credentialVersion: 1 };
const next: FailoverDecision = { action: "failover", to, because: "It fails over." };
const again: FailoverDecision = { action: "retry", to, because: "It asks again.", round: 2 };
const rule = { version: 7, failoverOn: [] };

const failures = {
  notSent: { kind: "GATEWAY_ERROR" },
  silent: { kind: "TIMEOUT", mayHaveActed: true },
  broken: { kind: "GATEWAY_ERROR", mayHaveActed: true },
  declined: { kind: "HARD_DECLINE" },
  held: { kind: "GATEWAY_ERROR", captureRefused: true },
} as const satisfies Record<string, Omit<Failure, "gateway">>;

const decide = (cryptogramResend: CryptogramResend, failure: keyof typeof failures, decided: FailoverDecision = next) =>
  decideForCryptogram({ cryptogramResend }, { gateway: "SANDBOX_A", ...failures[failure] }, rule, decided);

// The table of docs/safety.md.
describe("decideForCryptogram()", () => {
  it.each<[keyof typeof failures, string, string, string]>([
    ["notSent", "failover", "failover", "failover"],
    ["silent", "stop", "failover", "failover"],
    ["broken", "stop", "failover", "failover"],
    ["declined", "stop", "stop", "failover"],
    ["held", "stop", "stop", "stop"],
  ])("after %s does %s under NOT_SENT, %s under UNANSWERED, %s under DECLINED", (failure, ...actions) => {
    const decided = (["NOT_SENT", "UNANSWERED", "DECLINED"] as const).map((resend) => decide(resend, failure).action);
    expect(decided).toEqual(actions);
  });

  it("retries a declined one at the same gateway only under DECLINED", () => {
    const decided = (["NOT_SENT", "UNANSWERED", "DECLINED"] as const).map(
      (resend) => decide(resend, "declined", again).action,
    );
    expect(decided).toEqual(["stop", "stop", "retry"]);
  });

  it("names the cryptogram, the rule and its version", () => {
    expect(decide("UNANSWERED", "declined").because).toBe(
      "After a hard decline at SANDBOX_A the wallet’s cryptogram counts as used, and rule version 7 sends it to no other gateway.",
    );
    expect(decide("NOT_SENT", "silent").because).toContain("and rule version 7 sends it to no other gateway.");
    expect(decide("UNANSWERED", "silent").because).toBe(
      "It fails over. First SANDBOX_A is looked up: a cryptogram is used once.",
    );
  });

  it("lets a stop stop", () => {
    const stop: FailoverDecision = { action: "stop", because: "why" };
    expect(decideForCryptogram({ cryptogramResend: "DECLINED" }, { gateway: "A", kind: "FRAUD" }, rule, stop)).toBe(
      stop,
    );
  });
});

describe("beforeSecondUse()", () => {
  const attempt = (status: Attempt["status"], fields: Partial<Attempt> = {}) =>
    ({ status, nextAction: "failover", lookedUpAt: null, ...fields }) as Attempt;
  const lookedUp = { lookedUpAt: new Date(0) };
  const silent = attempt("UNKNOWN");

  it.each<[string, CryptogramResend, Attempt[], object]>([
    ["asks a silent gateway first", "UNANSWERED", [silent], { lookUp: silent }],
    ["goes on once it was looked up", "UNANSWERED", [attempt("UNKNOWN", lookedUp)], { lookUp: undefined }],
    ["goes on after what was not sent", "NOT_SENT", [attempt("FAILED")], { lookUp: undefined }],
    ["refuses after silence", "NOT_SENT", [attempt("UNKNOWN", lookedUp)], { isRefused: true }],
    [
      "refuses after a decline that a look-up has found",
      "UNANSWERED",
      [attempt("DECLINED", lookedUp)],
      { isRefused: true },
    ],
    ["refuses by an earlier decline", "UNANSWERED", [attempt("DECLINED"), attempt("FAILED")], { isRefused: true }],
    ["goes on after a decline", "DECLINED", [attempt("DECLINED")], { lookUp: undefined }],
    ["refuses after a hold", "DECLINED", [attempt("VOIDED")], { isRefused: true }],
    [
      "asks nothing where nothing follows",
      "UNANSWERED",
      [attempt("UNKNOWN", { nextAction: "stop" })],
      { lookUp: undefined },
    ],
  ])("%s", (_, cryptogramResend, attempts, expected) => {
    expect(beforeSecondUse({ cryptogramResend }, attempts)).toEqual(expected);
  });
});
