import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PaymentSession_ExpiredBecause } from "../gen/payments/v1/payment_session_pb.ts";
import {
  CheckoutEmulator,
  emulatorClientSecret,
  emulatorSession,
  refusalOf,
} from "../src/dev/testing/checkout-emulator.ts";
import { HandClock } from "../src/dev/testing/clock.ts";
import type { CardAnswer } from "./answers.ts";
import { Checkout, type CheckoutResult, type Clock, pollDelayMs } from "./checkout.ts";
import { connectSession } from "./session-api.ts";

const vaultOrigin = "https://vault.example";

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

let service: CheckoutEmulator;
let closing: AbortController;
let clock: HeldClock;
let results: (CheckoutResult | "onPending")[];
let states: string[];
let tokenized: number;

beforeEach(async () => {
  service = await CheckoutEmulator.start({ vaultOrigin });
  closing = new AbortController();
  clock = new HeldClock();
  results = [];
  states = [];
  tokenized = 0;
});

afterEach(async () => {
  closing.abort();
  await service.close();
});

const takeCard = async (): Promise<CardAnswer> => ({ kind: "token", token: `tok_${++tokenized}` });

function openCheckout(tokenize = takeCard, clientSecret = emulatorClientSecret): Checkout {
  const access = { sessionId: emulatorSession, clientSecret, locale: "en", closed: closing.signal };
  return new Checkout({
    api: connectSession({
      apiBase: service.origin,
      place: { clientWidth: 320 },
      vault: { publishableKey: "pk" },
      ...access,
    }),
    tokenize,
    vaultOrigin,
    clock,
    // The middle of the jitter: pauses are exactly 1000, 1500, 2250, 3375 and then 5000 ms.
    random: () => 0.5,
    closed: closing.signal,
    onState: (state) => states.push(state),
    onView: () => undefined,
    onAction: () => {},
    onPending: () => results.push("onPending"),
    onResult: (result) => results.push(result),
  });
}

const success = { kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true };

describe("Checkout.submit()", () => {
  it("goes from the card to the outcome of the submit", async () => {
    service.onSubmit = () => service.succeed();
    expect(await openCheckout().submit()).toEqual(success);
    expect(states).toEqual(["tokenizing", "submitting", "done"]);
    expect(results).toEqual([success]);
  });

  it("polls a payment that outlives its submit, 1 s at first and 5 s at most", async () => {
    const result = openCheckout().submit();
    for (const pause of [1000, 1500, 2250, 3375]) await clock.pass(pause);
    await clock.begun(5000);
    service.succeed();
    await clock.pass(5000);
    expect(await result).toEqual(success);
    expect(states).toEqual(["tokenizing", "submitting", "waiting", "done"]);
  });

  it("returns the same promise to twenty clicks and after the outcome", async () => {
    const checkout = openCheckout();
    service.onSubmit = () => service.decline("card_declined");
    const clicks = Array.from({ length: 20 }, () => checkout.submit());
    expect(new Set(clicks).size).toBe(1);
    await clicks[0];
    expect(checkout.submit()).toBe(clicks[0]);
    expect(service.submitted).toEqual(["tok_1"]);
    expect(results).toEqual([{ kind: "declined", declineCode: "card_declined" }]);
  });

  it.each([
    ["DEGRADED", () => service.degrade(), { kind: "declined", declineCode: "processing_unavailable" }],
    ["EXPIRED", () => service.expire(), { kind: "expired" }],
    ["EXPIRED, cancelled", () => service.expire(PaymentSession_ExpiredBecause.CANCELLED), { kind: "expired" }],
    ["EXPIRED, replaced", () => service.expire(PaymentSession_ExpiredBecause.REPLACED), { kind: "replaced" }],
  ])("ends in the result of %s", async (_status, settle, result) => {
    service.onSubmit = settle;
    expect(await openCheckout().submit()).toEqual(result);
  });

  it("asks for the status after a lost answer, and finds the submitted payment", async () => {
    service.onSubmit = () => {
      service.takeUp();
      service.cut();
      return service.checkout;
    };
    const result = openCheckout().submit();
    await clock.begun(1000);
    service.succeed();
    await clock.pass(1000);
    expect(await result).toEqual(success);
    expect(service.submitted).toEqual(["tok_1"]);
  });

  it("submits the same token again when the lost submit never arrived", async () => {
    service.onSubmit = () => {
      service.onSubmit = () => service.succeed();
      throw new ConnectError("restarting", Code.Unavailable);
    };
    const result = openCheckout().submit();
    await clock.pass(1000);
    expect(await result).toEqual(success);
    expect(service.submitted).toEqual(["tok_1", "tok_1"]);
  });

  it("waits as long as the service asks when there are too many requests, and then continues", async () => {
    service.limited = { calls: 1, retryAfter: "3" };
    service.onSubmit = () => service.succeed();
    const result = openCheckout(async () => {
      service.limited = { calls: 3, retryAfter: "7" };
      return takeCard();
    }).submit();
    await clock.pass(3500);
    await clock.pass(7500);
    await clock.pass(7500);
    expect(await result).toEqual(success);
    expect(service.submitted).toEqual(["tok_1"]);
    expect(service.looks).toBe(2);
  });

  it("polls a running payment no sooner than the service asks", async () => {
    const result = openCheckout().submit();
    await clock.begun(1000);
    service.limited = { calls: 1, retryAfter: "9" };
    await clock.pass(1000);
    await clock.begun(9500);
    service.succeed();
    await clock.pass(9500);
    expect(await result).toEqual(success);
  });

  it("keeps trying as long as the service says when to retry", async () => {
    service.limited = { calls: 5, retryAfter: "10" };
    service.onSubmit = () => service.succeed();
    const result = openCheckout().submit();
    for (let refusal = 0; refusal < 5; refusal++) await clock.pass(10_500);
    expect(await result).toEqual(success);
  });

  it("waits no longer than a minute, whatever a proxy asks for", async () => {
    service.limited = { calls: 1, retryAfter: "86400" };
    service.onSubmit = () => service.succeed();
    const result = openCheckout().submit();
    await clock.pass(60_500);
    expect(await result).toEqual(success);
  });

  it("follows the payment that another tab has submitted", async () => {
    service.onSubmit = () => {
      service.succeed();
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
    service.onSubmit = () => service.succeed();
    expect(await checkout.submit()).toEqual(success);
  });

  it("sends no card to another vault than the session's", async () => {
    service.checkout.vaultOrigin = "https://other.example";
    expect(await openCheckout().submit()).toMatchObject({ kind: "failed", error: { code: "vault_origin_mismatch" } });
    expect(tokenized).toBe(0);
  });

  it("fails without a payment when the publishable key is refused, before or after the form was opened", async () => {
    service.publishableKey = "another";
    const refused = { kind: "failed", error: { code: "invalid_key" } };
    expect(await openCheckout().submit()).toMatchObject(refused);
    service.publishableKey = "pk";
    const checkout = openCheckout();
    await checkout.resume();
    service.publishableKey = "another";
    expect(await checkout.submit()).toMatchObject(refused);
    expect(service.submitted).toEqual([]);
  });

  it("fails without a payment when the client secret is refused", async () => {
    const result = await openCheckout(takeCard, `${emulatorClientSecret}x`).submit();
    expect(result).toMatchObject({ kind: "failed", error: { code: "invalid_client_secret" } });
    expect(tokenized).toBe(0);
  });

  it("reports a pending payment once after the budget, and its outcome later", async () => {
    const result = openCheckout().submit();
    for (const pause of [1000, 1500, 2250, 3375]) await clock.pass(pause);
    while (results.length === 0) await clock.pass(5000);
    await clock.begun(5000);
    service.succeed();
    await clock.pass(5000);
    await result;
    expect(results).toEqual(["onPending", success]);
  });

  it("stops polling ten minutes after the budget, and polls again when the customer submits again", async () => {
    const checkout = openCheckout();
    const result = checkout.submit();
    for (const pause of [1000, 1500, 2250, 3375]) await clock.pass(pause);
    const start = clock.now();
    while (clock.now() - start < 636_000) await clock.pass(5000);
    expect(await result).toEqual({ kind: "pending" });
    service.succeed();
    expect(await checkout.submit()).toEqual(success);
    expect(service.submitted).toEqual(["tok_1"]);
  });
});

describe("Checkout.resume()", () => {
  it("leaves an open session to the customer", async () => {
    const checkout = openCheckout();
    await checkout.resume();
    expect(checkout.state).toBe("idle");
    expect(results).toEqual([]);
  });

  it("follows what was submitted before a reload", async () => {
    service.takeUp();
    const checkout = openCheckout();
    await checkout.resume();
    expect(checkout.state).toBe("waiting");
    service.succeed();
    const result = checkout.submit();
    await clock.pass(1000);
    expect(await result).toEqual(success);
    expect(tokenized).toBe(0);
  });

  it("reports the outcome of a session that has ended", async () => {
    service.decline("insufficient_funds");
    const checkout = openCheckout();
    await checkout.resume();
    await checkout.submit();
    expect(results).toEqual([{ kind: "declined", declineCode: "insufficient_funds" }]);
  });

  it("shares its status request with an early click", async () => {
    service.onSubmit = () => service.succeed();
    const checkout = openCheckout();
    await Promise.all([checkout.resume(), checkout.submit()]);
    expect(service.looks).toBe(1);
    expect(results).toEqual([success]);
  });
});

describe("closing", () => {
  it("ends a running submit without a callback", async () => {
    const checkout = openCheckout();
    const result = checkout.submit();
    service.onSubmit = () => {
      closing.abort();
      return service.takeUp();
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
