/** Pending payments: a customer sees that a payment takes longer only if one may be processing. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, it } from "vitest";
import { NextActionSchema } from "../gen/payments/v1/checkout_pb.ts";
import { refusalOf } from "../src/dev/testing/checkout-emulator.ts";
import { HandClock } from "../src/dev/testing/clock.ts";
import { CheckoutFixture } from "./checkout.fixture.ts";
import type { CheckoutResult } from "./checkout.ts";

const budgetMs = 45_000;

const fixture = new CheckoutFixture();
let hand: HandClock;
/** Runs at the service whenever the payment goes on and a minute of it is over. */
let afterAMinute: (sinceMs: number) => void;

beforeEach(() => {
  hand = new HandClock();
  afterAMinute = () => undefined;
});

/** Pays; every pause but that of the budget passes as soon as it begins, and the budget passes with them. */
function pay(): Promise<CheckoutResult> {
  const startedMs = hand.now().getTime();
  const checkout = fixture.open({
    clock: {
      now: () => hand.now().getTime(),
      async wait(durationMs, signal) {
        if (durationMs === budgetMs) await hand.sleep(durationMs, signal).catch(() => undefined);
        else await hand.advance(durationMs);
        const sinceMs = hand.now().getTime() - startedMs;
        if (sinceMs >= 60_000) afterAMinute(sinceMs);
      },
    },
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
  fixture.service.onSubmit = () => {
    submits += 1;
    return comeLater();
  };
  expect(await pay()).toEqual(unreachable);
  expect(fixture.results).toEqual([unreachable]);
  // Once at first, and after each ten and a half seconds.
  expect(submits).toBe(6);
});

it("a session that expires while the service asks to retry later is reported as expired", async () => {
  let submits = 0;
  fixture.service.onSubmit = () => {
    submits += 1;
    if (submits === 3) fixture.service.expire();
    return comeLater();
  };
  expect(await pay()).toEqual({ kind: "expired" });
  expect(fixture.results).toEqual([{ kind: "expired" }]);
});

it("a payment that may or may not have arrived is reported as pending, and then its outcome", async () => {
  fixture.service.onSubmit = () => {
    // It was paid, and a firewall answers in the service's place for longer than the budget.
    fixture.service.walled = { calls: 40, status: 403 };
    fixture.service.cut();
    return fixture.service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(fixture.results).toEqual(["onPending", success]);
  expect(fixture.service.submitted).toHaveLength(1);
});

it("a payment that the service receives late is reported as pending when the budget is over", async () => {
  let submits = 0;
  fixture.service.onSubmit = () => {
    submits += 1;
    return submits < 4 ? comeLater() : fixture.service.takeUp();
  };
  afterAMinute = () => void fixture.service.succeed();
  expect(await pay()).toEqual(success);
  expect(submits).toBe(4);
  expect(fixture.results).toEqual(["onPending", success]);
});

it("a rate-limited submission has failed when the budget is over, even if no status can be read", async () => {
  fixture.service.onSubmit = () => {
    const refusal = refusalOf(Code.ResourceExhausted, "RATE_LIMITED");
    refusal.metadata.set("Retry-After", "10");
    fixture.service.walled = { calls: 1, status: 403 };
    throw refusal;
  };
  expect(await pay()).toEqual(unreachable);
  expect(fixture.results).toEqual([unreachable]);
});

/** Takes a payment up, and asks its customer. */
function askCustomer() {
  fixture.service.checkout.nextAction = create(NextActionSchema, { authenticationId: "atn_1", expiresInSeconds: 600 });
  return fixture.service.takeUp();
}

it("a payment that waits for its customer is not pending", async () => {
  fixture.service.onSubmit = askCustomer;
  afterAMinute = (sinceMs) => {
    if (sinceMs < 180_000) return;
    fixture.service.checkout.nextAction = undefined;
    fixture.service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(fixture.results).toEqual([success]);
});

it("a payment is pending when its budget is over after the customer's time", async () => {
  fixture.service.onSubmit = askCustomer;
  afterAMinute = (sinceMs) => {
    fixture.service.checkout.nextAction = undefined;
    if (sinceMs >= 180_000) fixture.service.succeed();
  };
  expect(await pay()).toEqual(success);
  expect(fixture.results).toEqual(["onPending", success]);
});
