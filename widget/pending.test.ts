/** When a customer is told that a payment takes longer: only where one may be under way. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CheckoutStandIn, standInClientSecret, standInSession } from "../src/testing/checkout-stand-in.ts";
import { HandClock } from "../src/testing/clock.ts";
import { Checkout, type CheckoutResult } from "./checkout.ts";
import { connectSession } from "./session-api.ts";

const vaultOrigin = "https://vault.example";
const budgetMs = 45_000;

let service: CheckoutStandIn;
let closing: AbortController;
let hand: HandClock;
/** What happens at the service when a minute of the payment is over. */
let afterAMinute: () => void;
let told: (CheckoutResult | "pending told")[];

beforeEach(async () => {
  service = await CheckoutStandIn.start({ vaultOrigin });
  closing = new AbortController();
  hand = new HandClock();
  afterAMinute = () => undefined;
  told = [];
});

afterEach(async () => {
  closing.abort();
  await service.close();
});

/** Pays; every pause but that of the budget passes as soon as it begins, and the budget passes with them. */
function pay(): Promise<CheckoutResult> {
  const startedMs = hand.now().getTime();
  const access = { sessionId: standInSession, clientSecret: standInClientSecret, locale: "en", closed: closing.signal };
  const checkout = new Checkout({
    api: connectSession({ apiBase: service.origin, ...access }),
    tokenize: async () => ({ kind: "token", token: "tok_1" }),
    vaultOrigin,
    clock: {
      now: () => hand.now().getTime(),
      async wait(durationMs, signal) {
        if (durationMs === budgetMs) await hand.sleep(durationMs, signal).catch(() => undefined);
        else await hand.advance(durationMs);
        if (hand.now().getTime() >= startedMs + 60_000) afterAMinute();
      },
    },
    random: () => 0.5,
    closed: closing.signal,
    onState: () => undefined,
    onView: () => undefined,
    onPending: () => told.push("pending told"),
    onResult: (result) => told.push(result),
  });
  return checkout.submit();
}

const comeLater = () => {
  throw new ConnectError("busy", Code.Unavailable, { "Retry-After": "10" });
};
const unreachable = { kind: "failed", error: { code: "unreachable", message: expect.any(String) } };
const success = { kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true };

it("a session that the service never took up has failed when the budget is over, and nobody is told to wait", async () => {
  let submits = 0;
  service.onSubmit = () => {
    submits += 1;
    return comeLater();
  };
  expect(await pay()).toEqual(unreachable);
  expect(told).toEqual([unreachable]);
  // Once at first, and after each ten seconds and a half.
  expect(submits).toBe(6);
});

it("a session that expires while the service asks to come later is told as expired", async () => {
  let submits = 0;
  service.onSubmit = () => {
    submits += 1;
    if (submits === 3) service.expire();
    return comeLater();
  };
  expect(await pay()).toEqual({ kind: "expired" });
  expect(told).toEqual([{ kind: "expired" }]);
});

it("a payment of which nobody can say whether it arrived is told as pending, and then its outcome", async () => {
  service.onSubmit = () => {
    // It was paid, and a firewall answers in the service's place for longer than the budget.
    service.walled = { calls: 40, status: 403 };
    service.cut();
    return service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(told).toEqual(["pending told", success]);
  expect(service.submitted).toHaveLength(1);
});

it("a payment that the service takes up late is told as pending when the budget is over", async () => {
  let submits = 0;
  service.onSubmit = () => {
    submits += 1;
    return submits < 4 ? comeLater() : service.takeUp();
  };
  afterAMinute = () => void service.succeed();
  expect(await pay()).toEqual(success);
  expect(submits).toBe(4);
  expect(told).toEqual(["pending told", success]);
});
