/** Answers that are not the service's own: they end no payment, and the next answer decides. */
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  CheckoutEmulator,
  emulatorClientSecret,
  emulatorSession,
  refusalOf,
} from "../src/dev/testing/checkout-emulator.ts";
import type { CardAnswer, CheckoutView } from "./answers.ts";
import { Checkout, type CheckoutResult } from "./checkout.ts";
import { connectSession } from "./session-api.ts";

const vaultOrigin = "https://vault.example";
const success = { kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true };

let service: CheckoutEmulator;
let closing: AbortController;
let results: CheckoutResult[];
let nowMs: number;

beforeEach(async () => {
  service = await CheckoutEmulator.start({ vaultOrigin });
  closing = new AbortController();
  results = [];
  nowMs = 0;
});

afterEach(async () => {
  closing.abort();
  await service.close();
});

const takeCard = async (): Promise<CardAnswer> => ({ kind: "token", token: "tok_1" });

function openCheckout(tokenize = takeCard): Checkout {
  const access = {
    sessionId: emulatorSession,
    clientSecret: emulatorClientSecret,
    locale: "en",
    closed: closing.signal,
  };
  return new Checkout({
    api: connectSession({
      apiBase: service.origin,
      place: { clientWidth: 320 },
      vault: { publishableKey: "pk" },
      ...access,
    }),
    tokenize,
    vaultOrigin,
    // Pauses take no time: only the requests count here.
    clock: {
      now: () => nowMs,
      wait: async (durationMs) => {
        if (durationMs < 45_000) nowMs += durationMs;
        else await new Promise(() => undefined);
      },
    },
    random: () => 0.5,
    closed: closing.signal,
    onState: () => undefined,
    onView: (_view: CheckoutView) => undefined,
    onAction: () => {},
    onPending: () => undefined,
    onResult: (result) => results.push(result),
  });
}

it.each([401, 403, 404])("a firewall's %i at mount is retried", async (status) => {
  service.walled = { calls: 3, status };
  expect(await openCheckout().resume()).toMatchObject({ kind: "checkout" });
  expect(service.looks).toBe(1);
});

it.each([401, 403])("a firewall's %i after a lost submit leaves the payment to its true outcome", async (status) => {
  service.onSubmit = () => {
    service.succeed();
    service.walled = { calls: 4, status };
    service.cut();
    return service.checkout;
  };
  expect(await openCheckout().submit()).toEqual(success);
  expect(results).toEqual([success]);
});

it("a firewall's 403 in place of the submit's answer leaves it too", async () => {
  const checkout = openCheckout();
  await checkout.resume();
  service.walled = { calls: 3, status: 403 };
  service.onSubmit = () => service.succeed();
  expect(await checkout.submit()).toEqual(success);
});

it("the service's own refusal ends it", async () => {
  service.onSubmit = () => {
    throw refusalOf(Code.FailedPrecondition, "SESSION_EXPIRED");
  };
  expect(await openCheckout().submit()).toMatchObject({ kind: "failed", error: { code: "not_submittable" } });
});

it("a submit after the end answers at once without a request", async () => {
  const checkout = openCheckout(() => new Promise<never>(() => undefined));
  await checkout.resume();
  closing.abort();
  expect(await checkout.submit()).toEqual({ kind: "unmounted" });
});

it("a vault that refuses the card of a session paid in another window leads to that payment's outcome", async () => {
  const checkout = openCheckout(async () => {
    service.succeed();
    return { kind: "refused", error: { code: "session_ended", message: "ended" } };
  });
  expect(await checkout.submit()).toEqual(success);
});

it("a vault's refusal stands while the session is open", async () => {
  const error = { code: "vault_unavailable", message: "away" };
  const checkout = openCheckout(async () => ({ kind: "refused", error }));
  expect(await checkout.submit()).toEqual({ kind: "failed", error });
});
