/** Tests customers who open the return address of their payment themselves, with what they like. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerAtBank } from "../../dev/testing/bank-customer.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { forgedTexts, refusedReturns } from "../../dev/testing/gateways/forged-returns.conformance.ts";
import { readCompletion as readAdyen } from "../../gateways/adyen/answers.ts";
import type { CompletionAnswer, GatewayAuthenticator } from "../../gateways/connector.ts";
import { readCompletion as readSandbox } from "../../gateways/sandbox/b/answers.ts";
import { notAnswered } from "../../gateways/unanswered.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { challengeAt, startAuthentication } from "./authentication.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startAuthentication);
const adyen: string = await fixture.connectAdyen();
afterEach(() => fixture.base.setClockAhead(0));

const approve = { act: "approve" } as const;
// Adyen's own card of 3-D Secure, which its emulator authorizes by /payments/details alone.
const challenged = "4212345678901237";

/** Returns the core with another way to complete payments at a gateway. */
function completing(gateway: string, complete: GatewayAuthenticator["complete"]): Core {
  const { core } = fixture.base;
  return withAnswers(core, { authentication: { ...core.connectorOf(gateway)!.authentication!, complete } });
}

describe.each(["ADYEN", "SANDBOX_B"] as const)("a customer at %s who makes up a return", (gateway) => {
  beforeAll(async () => {
    const [a, b] = fixture.base.connectionIds;
    const first = gateway === "ADYEN" ? adyen : b!;
    await fixture.base.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], [first, a!]);
  });

  const pay = async (): Promise<PaymentSession> => {
    if (gateway === "SANDBOX_B") return fixture.pay({ A: approve, B: challengeAt.B() });
    return fixture.payWith(challenged);
  };
  const pass = async (session: PaymentSession) => (await answerAtBank(await fixture.show(session), "pass"))!;
  const completions = async () =>
    (await fixture.base.sandbox.requests())[gateway === "ADYEN" ? "adyen.complete" : "b.complete"] ?? 0;
  const waiting = {
    end: "CREATED",
    attempts: [`${gateway} AWAITING_CUSTOMER`],
    authentications: ["AWAITING_CUSTOMER"],
  };

  it.each(Object.entries(forgedTexts))(
    "is still asked after %s, and ends as one who did not authenticate",
    async (_, text) => {
      const session = await pay();
      await fixture.forgeReturn(session, text);
      expect(await fixture.story(session)).toEqual(waiting);
      await fixture.base.setClockAhead(11);
      await fixture.recover();
      await fixture.recover();
      const story = await fixture.story(session);
      expect(story).toMatchObject({ end: "DECLINED authentication_failed", authentications: ["ABANDONED"] });
      expect(story.attempts.join()).toBe(`${gateway} VOIDING`);
      expect(await fixture.atGateways(session)).not.toContain("A captured");
    },
  );

  it("pays with the customer's own answer afterwards, and shows the action until then", async () => {
    const session = await pay();
    await fixture.forgeReturn(session, "made-up");
    // Returns that follow each other are taken up a second apart.
    await fixture.base.setClockAhead(1);
    await fixture.comeBack(await pass(session));
    expect(await fixture.story(session)).toEqual({
      end: `SUCCEEDED ${gateway}`,
      attempts: [`${gateway} CAPTURED`],
      authentications: ["AUTHENTICATED"],
    });
  });

  it("is asked no further once two returns were none", async () => {
    const session = await pay();
    const before = await completions();
    for (const minutes of [1, 2, 3]) {
      await fixture.forgeReturn(session, `made-up-${minutes}`);
      await fixture.base.setClockAhead(minutes);
      await fixture.recover();
    }
    expect((await completions()) - before).toBe(2);
    expect(await fixture.story(session)).toEqual(waiting);
  });

  it.each(Object.entries(refusedReturns))("is still asked after %s", async (_, { status, headers, body }) => {
    const session = await pay();
    const read = gateway === "ADYEN" ? readAdyen : readSandbox;
    const reply = { type: "answer", status, headers, body: Buffer.from(body) } as const;
    const core = completing(gateway, async (_call, attempt) => ({ outcome: read(reply, attempt) }));
    await fixture.forgeReturn(session, "../../etc/passwd", core);
    expect(await fixture.story(session)).toEqual(waiting);
    expect((await fixture.base.loadSession(session)).attempts).toMatchObject([{ refusal: null }]);
    await fixture.base.setClockAhead(1);
    await fixture.comeBack(await pass(session));
    expect((await fixture.story(session)).end).toBe(`SUCCEEDED ${gateway}`);
  });

  it("has a key for each return, also with the same text, and keeps it for a repeat", async () => {
    const keysWith = async (outcome: CompletionAnswer["outcome"]) => {
      const session = await pay();
      const keys: string[] = [];
      const core = completing(gateway, async ({ idempotencyKey }) => {
        keys.push(idempotencyKey);
        return { outcome };
      });
      for (const minutes of [0, 1]) {
        await fixture.base.setClockAhead(minutes);
        await fixture.forgeReturn(session, "early", core);
      }
      return keys;
    };
    const [first, second, ...more] = await keysWith(notAnswered);
    expect(more).toEqual([]);
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
    const lost = await keysWith({ type: "unknown", kind: "TIMEOUT", reason: "no answer" });
    expect(lost).toEqual([lost[0], lost[0]]);
  });

  it("gains nothing by the return of another payment", async () => {
    const [session, other] = [await pay(), await pay()];
    const theirs = await pass(other);
    await fixture.forgeReturn(session, theirs.searchParams.get("redirectResult")!);
    expect(await fixture.story(session)).toEqual(waiting);
    await fixture.comeBack(theirs);
    expect((await fixture.story(other)).end).toBe(`SUCCEEDED ${gateway}`);
  });
});

describe("a customer who gives up after a completing request was sent", () => {
  it("leaves a hold open that the request may have made, and it is voided", async () => {
    const [a] = fixture.base.connectionIds;
    await fixture.base.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], [a!]);
    const session = await fixture.pay({ A: challengeAt.A() });
    const address = (await answerAtBank(await fixture.show(session), "pass"))!;
    await fixture.comeBack(
      address,
      completing("SANDBOX_A", async () => ({ outcome: notAnswered })),
    );
    const asked = { status: "AWAITING_CUSTOMER", completionsSent: 1, holdsOnlyWhenAsked: true };
    expect((await fixture.base.loadSession(session)).authentications).toMatchObject([asked]);
    await fixture.cancel(session);
    const story = await fixture.story(session);
    expect(story).toMatchObject({ end: "DECLINED authentication_failed", authentications: ["CANCELLED"] });
    expect(story.attempts).toEqual(["SANDBOX_A VOIDED"]);
  });
});
