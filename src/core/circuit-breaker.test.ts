import { describe, expect, it } from "vitest";
import type { GatewayOutcome, NotProcessedCause } from "../gateways/connector.ts";
import { breakerCalls, breakerConnectionsMax, breakerOpenMs, breakerWindowMs } from "../limits.ts";
import { CircuitBreaker, classifyHealth, type Health } from "./circuit-breaker.ts";

const notProcessed = (cause: NotProcessedCause): GatewayOutcome => ({ type: "notProcessed", cause, reason: "" });
const unknown = (kind: "TIMEOUT" | "GATEWAY_ERROR", lostAtVault?: true): GatewayOutcome => ({
  type: "unknown",
  kind,
  reason: "",
  lostAtVault,
});
const declined: GatewayOutcome = {
  type: "declined",
  kind: "FRAUD",
  stop: "fraud",
  declineCode: "fraud_suspected",
  gatewayCode: "20",
};

const real = { failsOnRequest: false };
const pretend = { failsOnRequest: true };

describe("classifyHealth()", () => {
  it.each<[string, GatewayOutcome, Health, Health]>([
    ["a hold", { type: "held", gatewayReference: "r" }, "answered", "answered"],
    ["a decline of any kind", declined, "answered", "answered"],
    ["a timeout", unknown("TIMEOUT"), "failed", "nothing"],
    ["a gateway error", unknown("GATEWAY_ERROR"), "failed", "nothing"],
    ["a timeout of the vault", unknown("TIMEOUT", true), "nothing", "nothing"],
    ["a vault that broke in mid-call", unknown("GATEWAY_ERROR", true), "nothing", "nothing"],
    ["a refused connection", notProcessed("connection_refused"), "failed", "failed"],
    ["too many calls", notProcessed("rate_limited"), "failed", "failed"],
    ["refused credentials", notProcessed("credentials_refused"), "nothing", "nothing"],
    ["a refused request", notProcessed("request_refused"), "nothing", "nothing"],
    ["a card that is gone", notProcessed("token_unusable"), "nothing", "nothing"],
    ["a vault that is down", notProcessed("vault_unavailable"), "nothing", "nothing"],
    ["a stop before sending", notProcessed("stopped"), "nothing", "nothing"],
  ])("takes %s for what it says of a real and of a pretend gateway", (_, outcome, ofReal, ofPretend) => {
    expect([classifyHealth(outcome, real), classifyHealth(outcome, pretend)]).toEqual([ofReal, ofPretend]);
  });
});

const start = Date.parse("2026-01-01T00:00:00Z");
const at = (ms: number) => new Date(start + ms);

function told(moments: readonly number[], breaker = new CircuitBreaker()): CircuitBreaker {
  for (const moment of moments) breaker.tell("c", "failed", at(moment));
  return breaker;
}

const five = Array.from({ length: breakerCalls }, (_, index) => index);
const last = five.at(-1)!;

describe("CircuitBreaker", () => {
  it("leaves a connection out after five failures in a row, and after no fewer", () => {
    expect(told(five.slice(1)).isFailing("c", at(last))).toBe(false);
    expect(told(five).isFailing("c", at(last))).toBe(true);
  });

  it("leaves it out for 30 s after the last failure", () => {
    const breaker = told(five);
    expect(breaker.isFailing("c", at(last + breakerOpenMs - 1))).toBe(true);
    expect(breaker.isFailing("c", at(last + breakerOpenMs))).toBe(false);
  });

  it("needs one more failure after the pause, while the others lie within the minute", () => {
    const after = last + breakerOpenMs;
    expect(told([...five, after]).isFailing("c", at(after))).toBe(true);
  });

  it("does not count failures that lie more than a minute apart", () => {
    expect(told([0, 1, 2, 3, breakerWindowMs]).isFailing("c", at(breakerWindowMs))).toBe(true);
    expect(told([0, 1, 2, 3, breakerWindowMs + 1]).isFailing("c", at(breakerWindowMs + 1))).toBe(false);
  });

  it("looks at the last five failures, however many came before", () => {
    const later = five.map((moment) => moment + breakerWindowMs);
    expect(told([...five, ...later]).isFailing("c", at(last + breakerWindowMs))).toBe(true);
  });

  it("forgets every failure when one call is answered, and none when a call says nothing", () => {
    const breaker = told(five.slice(1));
    breaker.tell("c", "nothing", at(last));
    expect(told([last], breaker).isFailing("c", at(last))).toBe(true);
    breaker.tell("c", "answered", at(last));
    expect(told([last], breaker).isFailing("c", at(last))).toBe(false);
  });

  it("knows one connection from another", () => {
    expect(told(five).isFailing("d", at(last))).toBe(false);
  });

  it("names the gateway of each connection that is left out, for as long as it is", () => {
    const breaker = told(five);
    for (const moment of five) breaker.tell("d", "failed", at(moment), "ADYEN");
    breaker.tell("e", "failed", at(last), "STRIPE");
    expect(breaker.failingGateways(at(last))).toEqual(["", "ADYEN"]);
    expect(breaker.failingGateways(at(last + breakerOpenMs))).toEqual([]);
    breaker.tell("d", "answered", at(last));
    expect(breaker.failingGateways(at(last))).toEqual([""]);
  });

  it("remembers a bounded number of connections, those that failed last", () => {
    const breaker = told(five);
    for (let other = 1; other < breakerConnectionsMax; other++) breaker.tell(`other ${other}`, "failed", at(last));
    expect(breaker.isFailing("c", at(last))).toBe(true);
    breaker.tell("one too many", "failed", at(last));
    expect(breaker.isFailing("c", at(last))).toBe(false);
  });
});
