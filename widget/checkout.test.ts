import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, describe, expect, it } from "vitest";
import { PaymentSession_ExpiredBecause } from "../gen/payments/v1/payment_session_pb.ts";
import { emulatorClientSecret, refusalOf } from "../src/dev/testing/checkout-emulator.ts";
import { HandClock } from "../src/dev/testing/clock.ts";
import type { CardAnswer } from "./answers.ts";
import { CheckoutFixture } from "./checkout.fixture.ts";
import { type Checkout, type Clock, pollDelayMs } from "./checkout.ts";

/** A clock moved by the test, which can wait until a pause begins. */
class HeldClock implements Clock {
  readonly #hand = new HandClock();
  #begun: number[] = [];
  #woken: () => void = () => undefined;

  now(): number {
    return this.#hand.now().getTime();
  }

  async wait(durationMs: number, signal: AbortSignal): Promise<void> {
    this.#begun.push(durationMs);
    this.#woken();
    await this.#hand.sleep(durationMs, signal).catch(() => undefined);
  }

  /** Lets a pause of this length begin: every answer before it has been handled. */
  async begun(durationMs: number): Promise<void> {
    while (!this.#begun.includes(durationMs)) {
      await new Promise<void>((resolve) => {
        this.#woken = resolve;
      });
    }
  }

  /** Lets a pause of this length begin, then passes it. */
  async pass(durationMs: number): Promise<void> {
    await this.begun(durationMs);
    this.#begun.splice(this.#begun.indexOf(durationMs), 1);
    await this.#hand.advance(durationMs);
  }
}

const fixture = new CheckoutFixture();
let clock: HeldClock;
let states: string[];
let tokenized: number;

beforeEach(() => {
  clock = new HeldClock();
  states = [];
  tokenized = 0;
});

const takeCard = async (): Promise<CardAnswer> => ({ kind: "token", token: `tok_${++tokenized}` });
const openCheckout = (tokenize = takeCard, clientSecret?: string): Checkout =>
  fixture.open({ tokenize, clock, onState: (state) => states.push(state) }, clientSecret);

const success = { kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true };

describe("Checkout.submit()", () => {
  it("goes from the card to the outcome of the submit", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    expect(await openCheckout().submit()).toEqual(success);
    expect(states).toEqual(["tokenizing", "submitting", "done"]);
    expect(fixture.results).toEqual([success]);
  });

  it("polls a payment that outlives its submit, 1 s at first and 5 s at most", async () => {
    const result = openCheckout().submit();
    for (const pause of [1000, 1500, 2250, 3375]) await clock.pass(pause);
    await clock.begun(5000);
    fixture.service.succeed();
    await clock.pass(5000);
    expect(await result).toEqual(success);
    expect(states).toEqual(["tokenizing", "submitting", "waiting", "done"]);
  });

  it("returns the same promise to twenty clicks and after the outcome", async () => {
    const checkout = openCheckout();
    fixture.service.onSubmit = () => fixture.service.decline("card_declined");
    const clicks = Array.from({ length: 20 }, () => checkout.submit());
    expect(new Set(clicks).size).toBe(1);
    await clicks[0];
    expect(checkout.submit()).toBe(clicks[0]);
    expect(fixture.service.submitted).toEqual(["tok_1"]);
    expect(fixture.results).toEqual([{ kind: "declined", declineCode: "card_declined" }]);
  });

  it.each([
    ["DEGRADED", () => fixture.service.degrade(), { kind: "declined", declineCode: "processing_unavailable" }],
    ["EXPIRED", () => fixture.service.expire(), { kind: "expired" }],
    ["EXPIRED, cancelled", () => fixture.service.expire(PaymentSession_ExpiredBecause.CANCELLED), { kind: "expired" }],
    ["EXPIRED, replaced", () => fixture.service.expire(PaymentSession_ExpiredBecause.REPLACED), { kind: "replaced" }],
  ])("ends in the result of %s", async (_status, settle, result) => {
    fixture.service.onSubmit = settle;
    expect(await openCheckout().submit()).toEqual(result);
  });

  it("asks for the status after a lost answer, and finds the submitted payment", async () => {
    fixture.service.onSubmit = () => {
      fixture.service.takeUp();
      fixture.service.cut();
      return fixture.service.checkout;
    };
    const result = openCheckout().submit();
    await clock.begun(1000);
    fixture.service.succeed();
    await clock.pass(1000);
    expect(await result).toEqual(success);
    expect(fixture.service.submitted).toEqual(["tok_1"]);
  });

  it("submits the same token again when the lost submit never arrived", async () => {
    fixture.service.onSubmit = () => {
      fixture.service.onSubmit = () => fixture.service.succeed();
      throw new ConnectError("restarting", Code.Unavailable);
    };
    const result = openCheckout().submit();
    await clock.pass(1000);
    expect(await result).toEqual(success);
    expect(fixture.service.submitted).toEqual(["tok_1", "tok_1"]);
  });

  it("waits as long as the service asks when there are too many requests, and then continues", async () => {
    fixture.service.limited = { calls: 1, retryAfter: "3" };
    fixture.service.onSubmit = () => fixture.service.succeed();
    const result = openCheckout(async () => {
      fixture.service.limited = { calls: 3, retryAfter: "7" };
      return takeCard();
    }).submit();
    await clock.pass(3500);
    await clock.pass(7500);
    await clock.pass(7500);
    expect(await result).toEqual(success);
    expect(fixture.service.submitted).toEqual(["tok_1"]);
    expect(fixture.service.looks).toBe(2);
  });

  it("polls a running payment no sooner than the service asks", async () => {
    const result = openCheckout().submit();
    await clock.begun(1000);
    fixture.service.limited = { calls: 1, retryAfter: "9" };
    await clock.pass(1000);
    await clock.begun(9500);
    fixture.service.succeed();
    await clock.pass(9500);
    expect(await result).toEqual(success);
  });

  it("keeps trying as long as the service says when to retry", async () => {
    fixture.service.limited = { calls: 5, retryAfter: "10" };
    fixture.service.onSubmit = () => fixture.service.succeed();
    const result = openCheckout().submit();
    for (let refusal = 0; refusal < 5; refusal++) await clock.pass(10_500);
    expect(await result).toEqual(success);
  });

  it("waits no longer than a minute, whatever a proxy asks for", async () => {
    fixture.service.limited = { calls: 1, retryAfter: "86400" };
    fixture.service.onSubmit = () => fixture.service.succeed();
    const result = openCheckout().submit();
    await clock.pass(60_500);
    expect(await result).toEqual(success);
  });

  it("follows the payment that another tab has submitted", async () => {
    fixture.service.onSubmit = () => {
      fixture.service.succeed();
      throw refusalOf(Code.FailedPrecondition, "ALREADY_SUBMITTED");
    };
    expect(await openCheckout().submit()).toEqual(success);
  });

  it("accepts a new card after one that the vault refused", async () => {
    const error = { code: "invalid_card", message: "incomplete" };
    const answers: CardAnswer[] = [{ kind: "refused", error }];
    const checkout = openCheckout(async () => answers.pop() ?? takeCard());
    expect(await checkout.submit()).toEqual({ kind: "failed", error });
    expect(checkout.state).toBe("idle");
    fixture.service.onSubmit = () => fixture.service.succeed();
    expect(await checkout.submit()).toEqual(success);
  });

  it("sends no card to another vault than the session's", async () => {
    fixture.service.checkout.vaultOrigin = "https://other.example";
    expect(await openCheckout().submit()).toMatchObject({ kind: "failed", error: { code: "vault_origin_mismatch" } });
    expect(tokenized).toBe(0);
  });

  it("fails without a payment when the publishable key is refused, before or after the form was opened", async () => {
    fixture.service.publishableKey = "another";
    const refused = { kind: "failed", error: { code: "invalid_key" } };
    expect(await openCheckout().submit()).toMatchObject(refused);
    fixture.service.publishableKey = "pk";
    const checkout = openCheckout();
    await checkout.resume();
    fixture.service.publishableKey = "another";
    expect(await checkout.submit()).toMatchObject(refused);
    expect(fixture.service.submitted).toEqual([]);
  });

  it("fails without a payment when the client secret is refused", async () => {
    const result = await openCheckout(takeCard, `${emulatorClientSecret}x`).submit();
    expect(result).toMatchObject({ kind: "failed", error: { code: "invalid_client_secret" } });
    expect(tokenized).toBe(0);
  });

  it("reports a pending payment once after the budget, and its outcome later", async () => {
    const result = openCheckout().submit();
    for (const pause of [1000, 1500, 2250, 3375]) await clock.pass(pause);
    while (fixture.results.length === 0) await clock.pass(5000);
    await clock.begun(5000);
    fixture.service.succeed();
    await clock.pass(5000);
    await result;
    expect(fixture.results).toEqual(["onPending", success]);
  });

  it("stops polling ten minutes after the budget, and polls again when the customer submits again", async () => {
    const checkout = openCheckout();
    const result = checkout.submit();
    for (const pause of [1000, 1500, 2250, 3375]) await clock.pass(pause);
    const start = clock.now();
    while (clock.now() - start < 636_000) await clock.pass(5000);
    expect(await result).toEqual({ kind: "pending" });
    fixture.service.succeed();
    expect(await checkout.submit()).toEqual(success);
    expect(fixture.service.submitted).toEqual(["tok_1"]);
  });
});

describe("Checkout.resume()", () => {
  it("leaves an open session to the customer", async () => {
    const checkout = openCheckout();
    await checkout.resume();
    expect(checkout.state).toBe("idle");
    expect(fixture.results).toEqual([]);
  });

  it("follows what was submitted before a reload", async () => {
    fixture.service.takeUp();
    const checkout = openCheckout();
    await checkout.resume();
    expect(checkout.state).toBe("waiting");
    fixture.service.succeed();
    const result = checkout.submit();
    await clock.pass(1000);
    expect(await result).toEqual(success);
    expect(tokenized).toBe(0);
  });

  it("reports the outcome of a session that has ended", async () => {
    fixture.service.decline("insufficient_funds");
    const checkout = openCheckout();
    await checkout.resume();
    await checkout.submit();
    expect(fixture.results).toEqual([{ kind: "declined", declineCode: "insufficient_funds" }]);
  });

  it("shares its status request with an early click", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    const checkout = openCheckout();
    await Promise.all([checkout.resume(), checkout.submit()]);
    expect(fixture.service.looks).toBe(1);
    expect(fixture.results).toEqual([success]);
  });
});

describe("closing", () => {
  it("ends a running submit without a callback", async () => {
    const checkout = openCheckout();
    const result = checkout.submit();
    fixture.service.onSubmit = () => {
      fixture.closing.abort();
      return fixture.service.takeUp();
    };
    expect(await result).toEqual({ kind: "unmounted" });
  });
});

describe("pollDelayMs()", () => {
  it("grows from 1 s to 5 s with a jitter of at most a fifth", () => {
    expect(pollDelayMs(0, () => 0)).toBe(800);
    expect(pollDelayMs(0, () => 1)).toBeCloseTo(1200);
    expect(pollDelayMs(50, () => 0.5)).toBe(5000);
  });
});
