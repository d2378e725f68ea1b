/** Answers that are not the service's own: they end no payment, and the next answer decides. */
import { Code } from "@connectrpc/connect";
import { beforeEach, expect, it } from "vitest";
import { refusalOf } from "../src/dev/testing/checkout-emulator.ts";
import type { CardAnswer } from "./answers.ts";
import { CheckoutFixture } from "./checkout.fixture.ts";
import type { Checkout } from "./checkout.ts";

const success = { kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true };

const fixture = new CheckoutFixture();
let nowMs: number;

beforeEach(() => {
  nowMs = 0;
});

const takeCard = async (): Promise<CardAnswer> => ({ kind: "token", token: "tok_1" });

function openCheckout(tokenize = takeCard): Checkout {
  // Pauses take no time: only the requests count here.
  const wait = async (durationMs: number) => {
    if (durationMs < 45_000) nowMs += durationMs;
    else await new Promise(() => undefined);
  };
  return fixture.open({ tokenize, clock: { now: () => nowMs, wait } });
}

it.each([401, 403, 404])("a firewall's %i at mount is retried", async (status) => {
  fixture.service.walled = { calls: 3, status };
  expect(await openCheckout().resume()).toMatchObject({ kind: "checkout" });
  expect(fixture.service.looks).toBe(1);
});

it.each([401, 403])("a firewall's %i after a lost submit leaves the payment to its true outcome", async (status) => {
  fixture.service.onSubmit = () => {
    fixture.service.succeed();
    fixture.service.walled = { calls: 4, status };
    fixture.service.cut();
    return fixture.service.checkout;
  };
  expect(await openCheckout().submit()).toEqual(success);
  expect(fixture.results).toEqual([success]);
});

it("a firewall's 403 in place of the submit's answer leaves it too", async () => {
  const checkout = openCheckout();
  await checkout.resume();
  fixture.service.walled = { calls: 3, status: 403 };
  fixture.service.onSubmit = () => fixture.service.succeed();
  expect(await checkout.submit()).toEqual(success);
});

it("the service's own refusal ends it", async () => {
  fixture.service.onSubmit = () => {
    throw refusalOf(Code.FailedPrecondition, "SESSION_EXPIRED");
  };
  expect(await openCheckout().submit()).toMatchObject({ kind: "failed", error: { code: "not_submittable" } });
});

it("a submit after the end answers at once without a request", async () => {
  const checkout = openCheckout(() => new Promise<never>(() => undefined));
  await checkout.resume();
  fixture.closing.abort();
  expect(await checkout.submit()).toEqual({ kind: "unmounted" });
});

it("a vault that refuses the card of a session paid in another window leads to that payment's outcome", async () => {
  const checkout = openCheckout(async () => {
    fixture.service.succeed();
    return { kind: "refused", error: { code: "session_ended", message: "ended" } };
  });
  expect(await checkout.submit()).toEqual(success);
});

it("a vault's refusal stands while the session is open", async () => {
  const error = { code: "vault_unavailable", message: "away" };
  const checkout = openCheckout(async () => ({ kind: "refused", error }));
  expect(await checkout.submit()).toEqual({ kind: "failed", error });
});
