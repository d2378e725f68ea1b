import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  CheckoutEmulator,
  emulatorClientSecret,
  emulatorSession,
  refusalOf,
} from "../src/dev/testing/checkout-emulator.ts";
import { Checkout } from "./checkout.ts";
import { browserClock } from "./clock.ts";
import { connectSession } from "./session-api.ts";

const vaultOrigin = "https://vault.example";

let service: CheckoutEmulator;
let closing: AbortController;
let tokenized: number;
beforeEach(async () => {
  service = await CheckoutEmulator.start({ vaultOrigin });
  closing = new AbortController();
  tokenized = 0;
});
afterEach(async () => {
  closing.abort();
  await service.close();
});

function openCheckout(): Checkout {
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
    tokenize: async () => ({ kind: "token", token: `tok_${++tokenized}` }),
    vaultOrigin,
    clock: browserClock,
    random: Math.random,
    closed: closing.signal,
    onState: () => {},
    onView: () => {},
    onAction: () => {},
    onPending: () => {},
    onResult: () => {},
  });
}

it.each([
  [Code.NotFound, "TOKEN_NOT_FOUND"],
  [Code.FailedPrecondition, "TOKEN_EXPIRED"],
  [Code.FailedPrecondition, "TOKEN_USED"],
])("pays with another token when the first is refused with %i %s", async (code, reason) => {
  service.onSubmit = (token) => {
    if (token === "tok_1") throw refusalOf(code, reason);
    return service.succeed();
  };
  expect(await openCheckout().submit()).toMatchObject({ kind: "succeeded" });
  expect(service.submitted).toEqual(["tok_1", "tok_2"]);
});

it("tries a second token and no third, and lets the customer try again", async () => {
  const checkout = openCheckout();
  service.onSubmit = () => {
    throw refusalOf(Code.NotFound, "TOKEN_NOT_FOUND");
  };
  expect(await checkout.submit()).toEqual({
    kind: "failed",
    error: { code: "token_refused", message: expect.any(String) },
  });
  expect([service.submitted, checkout.state]).toEqual([["tok_1", "tok_2"], "idle"]);
  service.onSubmit = () => service.succeed();
  expect(await checkout.submit()).toMatchObject({ kind: "succeeded" });
});

it("requests no other token for a session that does not accept the submission", async () => {
  service.onSubmit = () => {
    throw refusalOf(Code.FailedPrecondition, "SESSION_EXPIRED");
  };
  expect(await openCheckout().submit()).toMatchObject({ kind: "failed", error: { code: "not_submittable" } });
  expect(tokenized).toBe(1);
});
