import { Code } from "@connectrpc/connect";
import { beforeEach, expect, it } from "vitest";
import { refusalOf } from "../src/dev/testing/checkout-emulator.ts";
import { CheckoutFixture } from "./checkout.fixture.ts";
import { browserClock } from "./clock.ts";

const fixture = new CheckoutFixture();
let tokenized: number;
beforeEach(() => {
  tokenized = 0;
});

const openCheckout = () =>
  fixture.open({
    tokenize: async () => ({ kind: "token", token: `tok_${++tokenized}` }),
    clock: browserClock,
    random: Math.random,
  });

it.each([
  [Code.NotFound, "TOKEN_NOT_FOUND"],
  [Code.FailedPrecondition, "TOKEN_EXPIRED"],
  [Code.FailedPrecondition, "TOKEN_USED"],
])("pays with another token when the first is refused with %i %s", async (code, reason) => {
  fixture.service.onSubmit = (token) => {
    if (token === "tok_1") throw refusalOf(code, reason);
    return fixture.service.succeed();
  };
  expect(await openCheckout().submit()).toMatchObject({ kind: "succeeded" });
  expect(fixture.service.submitted).toEqual(["tok_1", "tok_2"]);
});

it("tries a second token and no third, and lets the customer try again", async () => {
  const checkout = openCheckout();
  fixture.service.onSubmit = () => {
    throw refusalOf(Code.NotFound, "TOKEN_NOT_FOUND");
  };
  expect(await checkout.submit()).toEqual({
    kind: "failed",
    error: { code: "token_refused", message: expect.any(String) },
  });
  expect([fixture.service.submitted, checkout.state]).toEqual([["tok_1", "tok_2"], "idle"]);
  fixture.service.onSubmit = () => fixture.service.succeed();
  expect(await checkout.submit()).toMatchObject({ kind: "succeeded" });
});

it("requests no other token for a session that does not accept the submission", async () => {
  fixture.service.onSubmit = () => {
    throw refusalOf(Code.FailedPrecondition, "SESSION_EXPIRED");
  };
  expect(await openCheckout().submit()).toMatchObject({ kind: "failed", error: { code: "not_submittable" } });
  expect(tokenized).toBe(1);
});
