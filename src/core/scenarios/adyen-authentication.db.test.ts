/** Tests the payment flow with ADYEN_3DS, at Adyen's emulator, as the provider of both sandbox gateways. */
import { describe, expect, it } from "vitest";
import { answerAtBank } from "../../dev/testing/bank-customer.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { startProvided } from "./authentication.fixture.ts";

const soft = "SANDBOX_A DECLINED";
const again = "SANDBOX_A CAPTURED again";
const challenged = "4000002760003184";

describe("a payment with ADYEN_3DS", async () => {
  const flow = await forFile(() => startProvided({ provider: "ADYEN_3DS" }));

  const answer = async (session: PaymentSession, given: "pass" | "fail" | "cancel") =>
    (await answerAtBank(await flow.show(session), given))!;

  it("gets a soft-declined card authenticated without its customer", async () => {
    const session = await flow.payWith("4000000000003055");
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: [soft, again],
      authentications: ["AUTHENTICATED"],
    });
    expect((await flow.base.loadSession(session)).authentications[0]).toMatchObject({
      provider: "ADYEN_3DS",
      flow: "FRICTIONLESS",
      eci: "05",
      liability: "ISSUER",
    });
  });

  it("asks the customer once, and takes the same proof to the next gateway", async () => {
    const session = await flow.payWith("4000008400001629");
    await flow.comeBack(await answer(session, "pass"));
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: [soft, "SANDBOX_A DECLINED again", "SANDBOX_B CAPTURED"],
      authentications: ["AUTHENTICATED"],
    });
    expect((await flow.base.loadSession(session)).authentications[0]).toMatchObject({ flow: "CHALLENGE" });
    const kept = "SELECT FROM authentication WHERE num_nonnulls(keep_sealed, returned_sealed, proof_sealed) > 0";
    expect(await flow.base.asOwner.query({ name: "kept", text: kept }, [])).toEqual([]);
  });

  it.each([
    ["fail", "FAILED"],
    ["cancel", "CANCELLED"],
  ] as const)("ends where the customer's answer is to %s, and asks no further gateway", async (given, status) => {
    const session = await flow.payWith(challenged);
    await flow.comeBack(await answer(session, given));
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: [soft],
      authentications: [status],
    });
  });

  it.each([
    ["4000000000007007", "FAILED"],
    ["4000000000007015", "REJECTED"],
  ])("ends with the bank's refusal: %s", async (card, status) => {
    const session = await flow.payWith(card);
    expect(await flow.story(session)).toMatchObject({
      end: "DECLINED authentication_failed",
      authentications: [status],
    });
  });

  it("declines where the directory is down and the gateway asks again", async () => {
    const session = await flow.payWith("4000008400001280");
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: [soft, "SANDBOX_A DECLINED again"],
      authentications: ["UNAVAILABLE"],
    });
  });

  it("lets the gateway authenticate itself where no directory knows the card", async () => {
    const session = await flow.payWith("4000000000007106");
    expect(await flow.story(session)).toMatchObject({ authentications: ["UNAVAILABLE", "AWAITING_CUSTOMER"] });
  });

  it("waits where the return brings another payment's result or none, and ends by the deadline", async () => {
    const [session, other] = [await flow.payWith(challenged), await flow.payWith(challenged)];
    const theirs = await answer(other, "pass");
    const mine = await answer(session, "pass");
    const before = (await flow.base.sandbox.requests())["adyen.complete"] ?? 0;
    const empty = new URL(mine);
    empty.search = "";
    await flow.comeBack(empty);
    mine.search = theirs.search;
    await flow.comeBack(mine);
    await flow.comeBack(theirs);
    expect(await flow.story(other)).toMatchObject({ end: "SUCCEEDED SANDBOX_A" });
    await flow.base.after(1, () => flow.recover());
    expect((await flow.base.sandbox.requests())["adyen.complete"]).toBe(before + 2);
    expect(await flow.story(session)).toMatchObject({ end: "CREATED", authentications: ["AWAITING_CUSTOMER"] });
    await flow.base.after(11, () => flow.recover());
    expect(await flow.story(session)).toMatchObject({
      end: "DECLINED authentication_failed",
      authentications: ["ABANDONED"],
    });
  });
});
