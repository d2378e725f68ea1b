import { describe, expect, it } from "vitest";
import type { GatewayOutcome, NotProcessedCause } from "../../gateways/connector.ts";
import { breakerCalls, breakerConnectionsMax, breakerOpenMs, breakerWindowMs } from "../../limits.ts";
import { CircuitBreaker, classifyHealth, type Health } from "./circuit-breaker.ts";

const notProcessed = (cause: NotProcessedCause): GatewayOutcome => ({ type: "notProcessed", cause, reason: "" });
const unknown = (kind: "TIMEOUT" | "GATEWAY_ERROR", lostAtVault?: true): GatewayOutcome => ({
  type: "unknown",
  kind,
  reason: "",
  lostAtVault,
});
const openAnswer = { type: "unknown", kind: "GATEWAY_ERROR", reason: "" } as const;
const declined: GatewayOutcome = {
  type: "declined",
  kind: "FRAUD",
  stop: "fraud",
  declineCode: "fraud_suspected",
  gatewayCode: "20",
};

const real = { failsOnRequest: false };
const sandbox = { failsOnRequest: true };

describe("classifyHealth()", () => {
  it.each<[string, GatewayOutcome, Health, Health]>([
    ["a hold", { type: "held", gatewayReference: "r" }, "answered", "answered"],
    ["a decline of any kind", declined, "answered", "answered"],
    ["a timeout", unknown("TIMEOUT"), "failed", "nothing"],
    ["a gateway error", unknown("GATEWAY_ERROR"), "failed", "nothing"],
    ["a timeout of the vault", unknown("TIMEOUT", true), "nothing", "nothing"],
    ["an answer that leaves the result open", { ...openAnswer, isAnswered: true }, "nothing", "nothing"],
    ["a vault that failed during a call", unknown("GATEWAY_ERROR", true), "nothing", "nothing"],
    ["a refused connection", notProcessed("connection_refused"), "failed", "failed"],
    ["too many calls", notProcessed("rate_limited"), "failed", "failed"],
    ["refused credentials", notProcessed("credentials_refused"), "nothing", "nothing"],
    ["a refused request", notProcessed("request_refused"), "nothing", "nothing"],
    ["a card that is gone", notProcessed("token_unusable"), "nothing", "nothing"],
    ["a vault that is down", notProcessed("vault_unavailable"), "nothing", "nothing"],
    ["a stop before sending", notProcessed("stopped"), "nothing", "nothing"],
  ])("classifies %s for a real gateway and for a sandbox gateway", (_, outcome, ofReal, ofSandbox) => {
    expect([classifyHealth(outcome, real), classifyHealth(outcome, sandbox)]).toEqual([ofReal, ofSandbox]);
  });
});

const start = Date.parse("2026-01-01T00:00:00Z");
const at = (ms: number) => new Date(start + ms);

function withFailures(moments: readonly number[], breaker = new CircuitBreaker()): CircuitBreaker {
  for (const moment of moments) breaker.record("c", "failed", at(moment));
  return breaker;
}

const five = Array.from({ length: breakerCalls }, (_, index) => index);
const last = five.at(-1)!;

describe("CircuitBreaker", () => {
  it("leaves a connection out after five failures in a row, not fewer", () => {
    expect(withFailures(five.slice(1)).isFailing("c", at(last))).toBe(false);
    expect(withFailures(five).isFailing("c", at(last))).toBe(true);
  });

  it("leaves it out for 30 s after the last failure", () => {
    const breaker = withFailures(five);
    expect(breaker.isFailing("c", at(last + breakerOpenMs - 1))).toBe(true);
    expect(breaker.isFailing("c", at(last + breakerOpenMs))).toBe(false);
  });

  it("needs one more failure after the pause, while the others lie within the minute", () => {
    const after = last + breakerOpenMs;
    expect(withFailures([...five, after]).isFailing("c", at(after))).toBe(true);
  });

  it("does not count failures that lie more than a minute apart", () => {
    expect(withFailures([0, 1, 2, 3, breakerWindowMs]).isFailing("c", at(breakerWindowMs))).toBe(true);
    expect(withFailures([0, 1, 2, 3, breakerWindowMs + 1]).isFailing("c", at(breakerWindowMs + 1))).toBe(false);
  });

  it("considers the last five failures, however many came before", () => {
    const later = five.map((moment) => moment + breakerWindowMs);
    expect(withFailures([...five, ...later]).isFailing("c", at(last + breakerWindowMs))).toBe(true);
  });

  it("forgets every failure when one call is answered, and none when a call is inconclusive", () => {
    const breaker = withFailures(five.slice(1));
    breaker.record("c", "nothing", at(last));
    expect(withFailures([last], breaker).isFailing("c", at(last))).toBe(true);
    breaker.record("c", "answered", at(last));
    expect(withFailures([last], breaker).isFailing("c", at(last))).toBe(false);
  });

  it("keeps connections apart", () => {
    expect(withFailures(five).isFailing("d", at(last))).toBe(false);
  });

  it("names the gateway of each connection while it is left out", () => {
    const breaker = withFailures(five);
    for (const moment of five) breaker.record("d", "failed", at(moment), "ADYEN");
    breaker.record("e", "failed", at(last), "STRIPE");
    expect(breaker.failingGateways(at(last))).toEqual(["", "ADYEN"]);
    expect(breaker.failingGateways(at(last + breakerOpenMs))).toEqual([]);
    breaker.record("d", "answered", at(last));
    expect(breaker.failingGateways(at(last))).toEqual([""]);
  });

  it("remembers a bounded number of connections: those that failed last", () => {
    const breaker = withFailures(five);
    for (let other = 1; other < breakerConnectionsMax; other++) breaker.record(`other ${other}`, "failed", at(last));
    expect(breaker.isFailing("c", at(last))).toBe(true);
    breaker.record("one too many", "failed", at(last));
    expect(breaker.isFailing("c", at(last))).toBe(false);
  });
});
