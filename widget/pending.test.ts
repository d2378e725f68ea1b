/** Pending payments: a customer sees that a payment takes longer only if one may be processing. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "vitest";
import { NextActionSchema } from "../gen/payments/v1/checkout_pb.ts";
import {
  CheckoutEmulator,
  emulatorClientSecret,
  emulatorSession,
  refusalOf,
} from "../src/dev/testing/checkout-emulator.ts";
import { HandClock } from "../src/dev/testing/clock.ts";
import { Checkout, type CheckoutResult } from "./checkout.ts";
import { connectSession } from "./session-api.ts";

const vaultOrigin = "https://vault.example";
const budgetMs = 45_000;

let service: CheckoutEmulator;
let closing: AbortController;
let hand: HandClock;
/** Runs at the service whenever the payment goes on and a minute of it is over. */
let afterAMinute: (sinceMs: number) => void;
let results: (CheckoutResult | "onPending")[];

beforeEach(async () => {
  service = await CheckoutEmulator.start({ vaultOrigin });
  closing = new AbortController();
  hand = new HandClock();
  afterAMinute = () => undefined;
  results = [];
});

afterEach(async () => {
  closing.abort();
  await service.close();
});

/** Pays; every pause but that of the budget passes as soon as it begins, and the budget passes with them. */
function pay(): Promise<CheckoutResult> {
  const startedMs = hand.now().getTime();
  const access = {
    sessionId: emulatorSession,
    clientSecret: emulatorClientSecret,
    locale: "en",
    closed: closing.signal,
  };
  const checkout = new Checkout({
    api: connectSession({
      apiBase: service.origin,
      place: { clientWidth: 320 },
      vault: { publishableKey: "pk" },
      ...access,
    }),
    tokenize: async () => ({ kind: "token", token: "tok_1" }),
    vaultOrigin,
    clock: {
      now: () => hand.now().getTime(),
      async wait(durationMs, signal) {
        if (durationMs === budgetMs) await hand.sleep(durationMs, signal).catch(() => undefined);
        else await hand.advance(durationMs);
        const sinceMs = hand.now().getTime() - startedMs;
        if (sinceMs >= 60_000) afterAMinute(sinceMs);
      },
    },
    random: () => 0.5,
    closed: closing.signal,
    onState: () => undefined,
    onView: () => undefined,
    onAction: () => {},
    onPending: () => results.push("onPending"),
    onResult: (result) => results.push(result),
  });
  return checkout.submit();
}

const comeLater = () => {
  throw new ConnectError("busy", Code.Unavailable, { "Retry-After": "10" });
};
const unreachable = { kind: "failed", error: { code: "unreachable", message: expect.any(String) } };
const success = { kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true };

it("a session that the service never received has failed when the budget is over, and is never pending", async () => {
  let submits = 0;
  service.onSubmit = () => {
    submits += 1;
    return comeLater();
  };
  expect(await pay()).toEqual(unreachable);
  expect(results).toEqual([unreachable]);
  // Once at first, and after each ten and a half seconds.
  expect(submits).toBe(6);
});

it("a session that expires while the service asks to retry later is reported as expired", async () => {
  let submits = 0;
  service.onSubmit = () => {
    submits += 1;
    if (submits === 3) service.expire();
    return comeLater();
  };
  expect(await pay()).toEqual({ kind: "expired" });
  expect(results).toEqual([{ kind: "expired" }]);
});

it("a payment that may or may not have arrived is reported as pending, and then its outcome", async () => {
  service.onSubmit = () => {
    // It was paid, and a firewall answers in the service's place for longer than the budget.
    service.walled = { calls: 40, status: 403 };
    service.cut();
    return service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(results).toEqual(["onPending", success]);
  expect(service.submitted).toHaveLength(1);
});

it("a payment that the service receives late is reported as pending when the budget is over", async () => {
  let submits = 0;
  service.onSubmit = () => {
    submits += 1;
    return submits < 4 ? comeLater() : service.takeUp();
  };
  afterAMinute = () => void service.succeed();
  expect(await pay()).toEqual(success);
  expect(submits).toBe(4);
  expect(results).toEqual(["onPending", success]);
});

it("a rate-limited submission has failed when the budget is over, even if no status can be read", async () => {
  service.onSubmit = () => {
    const refusal = refusalOf(Code.ResourceExhausted, "RATE_LIMITED");
    refusal.metadata.set("Retry-After", "10");
    service.walled = { calls: 1, status: 403 };
    throw refusal;
  };
  expect(await pay()).toEqual(unreachable);
  expect(results).toEqual([unreachable]);
});

/** Takes a payment up, and asks its customer. */
function askCustomer() {
  service.checkout.nextAction = create(NextActionSchema, { authenticationId: "atn_1", expiresInSeconds: 600 });
  return service.takeUp();
}

it("a payment that waits for its customer is not pending", async () => {
  service.onSubmit = askCustomer;
  afterAMinute = (sinceMs) => {
    if (sinceMs < 180_000) return;
    service.checkout.nextAction = undefined;
    service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(results).toEqual([success]);
});

it("a payment is pending when its budget is over after the customer's time", async () => {
  service.onSubmit = askCustomer;
  afterAMinute = (sinceMs) => {
    service.checkout.nextAction = undefined;
    if (sinceMs >= 180_000) service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(results).toEqual(["onPending", success]);
});
