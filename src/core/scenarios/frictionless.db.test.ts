/** Tests authentications that a gateway runs without the customer, and what a gateway's time is. */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import { encodeId } from "../../platform/ids.ts";
import { returnTokenOf, takeReturn } from "../customer-actions.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { resumeSession } from "../submit-payment.ts";
import { challengeAt, startAuthentication } from "./authentication.fixture.ts";
import { replaced, withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startAuthentication);

const approve: CardBehaviour = { act: "approve" };
const load = (session: PaymentSession) => fixture.base.loadSession(session);

describe("an authentication without the customer", () => {
  it.each([
    ["Y", "AUTHENTICATED", "05", "ISSUER"],
    ["A", "ATTEMPTED", "06", "UNKNOWN"],
    ["U", "UNAVAILABLE", "07", "MERCHANT"],
    ["N", "UNAVAILABLE", "07", "MERCHANT"],
  ] as const)("that ends %s is recorded with the hold, as %s", async (frictionless, status, eci, liability) => {
    const session = await fixture.pay({ A: { act: "approve", frictionless } });
    const { session: paid, attempts, authentications } = await load(session);
    expect(paid).toMatchObject({ status: "SUCCEEDED", authentications: 1, awaitingSince: null });
    expect(authentications).toEqual([
      expect.objectContaining({
        flow: "FRICTIONLESS",
        status,
        eci,
        liability,
        transStatus: frictionless,
        version: "2.2.0",
        sequence: 1,
        attemptId: attempts[0]!.id,
        shownCount: 0,
        answeredAt: null,
        cancelAskedAt: null,
        dsTransactionId: expect.stringMatching(/^[\w-]{36}$/),
        because: "SANDBOX_A authenticated without the customer.",
      }),
    ]);
    const [{ completedAt, startedAt }] = [authentications[0]!];
    expect(completedAt).toEqual(startedAt);
  });

  it("is recorded as the gateway says who is liable, whatever the ECI", async () => {
    const session = await fixture.pay({
      A: { act: "decline", code: "transaction_not_allowed" },
      B: { act: "approve", frictionless: "A" },
    });
    expect((await load(session)).authentications).toMatchObject([{ eci: "06", liability: "ISSUER" }]);
  });

  it("is recorded with a decline too, before another gateway is used", async () => {
    const session = await fixture.pay({
      A: { act: "decline", code: "transaction_not_allowed", frictionless: "Y" },
      B: approve,
    });
    const { session: paid, attempts, authentications } = await load(session);
    expect(paid).toMatchObject({ status: "SUCCEEDED", authentications: 1 });
    expect(authentications).toMatchObject([
      { flow: "FRICTIONLESS", status: "AUTHENTICATED", attemptId: attempts[0]!.id },
    ]);
  });

  it("may be missing from a repeat that is declined, and the next gateway is used at once", async () => {
    const { core } = fixture.base;
    const declined = {
      type: "declined",
      kind: "SOFT_DECLINE",
      stop: "none",
      declineCode: "insufficient_funds",
      gatewayCode: "51",
    } as const;
    let calls = 0;
    const silent = withAnswers(core, (own) => ({
      authorize: async (call, request) =>
        own.gateway === "SANDBOX_A" && ++calls === 2 ? { outcome: declined } : own.authorize(call, request),
    }));
    const session = await fixture.pay(
      { A: challengeAt.A(approve, { when: "if_asked" }), B: approve },
      { core: silent },
    );
    expect(await fixture.story(session)).toMatchObject({
      end: "SUCCEEDED SANDBOX_B",
      attempts: ["SANDBOX_A DECLINED", "SANDBOX_A DECLINED again", "SANDBOX_B CAPTURED"],
    });
  });

  it("ends the payment where the bank refuses it, and no other gateway is used", async () => {
    const refused = { act: "decline", code: "authentication_failed", frictionless: "N" } as const;
    const session = await fixture.pay({ A: refused, B: approve });
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: ["FAILED"],
    });
  });

  it("counts as no challenge: its gateway and another may still ask", async () => {
    const softDeclined = challengeAt.A({ act: "decline", code: "transaction_not_allowed" }, { when: "if_asked" });
    const { core } = fixture.base;
    // The first answer reports a result although the bank then wants the customer.
    const reporting = withAnswers(core, (own) => ({
      authorize: async (call, request) => ({
        ...(await own.authorize(call, request)),
        authenticated: { transStatus: "Y" },
      }),
    }));
    const session = await fixture.pay({ A: softDeclined, B: challengeAt.B() }, { core: reporting });
    await fixture.answerAndReturn(session, "pass");
    await fixture.answerAndReturn(session, "pass");
    await expect.poll(async () => (await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_B");
    const { authentications } = await load(session);
    expect(authentications.map(({ flow }) => flow)).toEqual(["FRICTIONLESS", "REDIRECT", "REDIRECT"]);
  });

  it("is not recorded where the answer leaves open what happened, or reports none", async () => {
    const lost = await fixture.pay({ A: { act: "approve_then_fail", status: 500 }, B: approve });
    expect((await load(lost)).session.authentications).toBe(0);
    const plain = await fixture.pay({ A: approve });
    expect((await load(plain)).authentications).toEqual([]);
    const unasked = await fixture.pay({ A: { act: "approve", frictionless: "Y" } }, { canShow: false });
    expect((await load(unasked)).authentications).toEqual([]);
  });
});

describe("a gateway's time", () => {
  it("ends with its first answer, whatever time the customer takes", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    const [asked] = (await load(session)).attempts;
    await fixture.answerAndReturn(session, "pass");
    const [captured] = (await load(session)).attempts;
    expect(captured).toMatchObject({ status: "CAPTURED", answeredAt: asked!.answeredAt });
  });
});

describe("a capture after a long challenge", () => {
  it("is repeated as soon as any other: the looks at the challenge do not count", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    for (const minutes of [1, 2, 3]) {
      await fixture.base.setClockAhead(minutes);
      await fixture.recover();
    }
    expect((await load(session)).attempts).toMatchObject([{ retries: 3 }]);
    await fixture.base.setClockAhead(3.1);
    await fixture.answerAndReturn(session, "pass");
    expect((await load(session)).attempts).toMatchObject([{ status: "CAPTURED", retries: 0 }]);
    await fixture.base.setClockAhead(0);
  });
});

describe("a customer who returns again and again", () => {
  it("has the gateway asked once a second at most, and is believed in the end", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    const { core, sandbox } = fixture.base;
    const url = await fixture.show(session);
    const [attempt] = (await load(session)).attempts;
    const token = returnTokenOf(core, attempt!);
    const begunAt = performance.now();
    for (let returned = 0; returned < 40; returned++) {
      await takeReturn(core, token, new URLSearchParams());
      await resumeSession(core, session.id);
      await fixture.settled();
    }
    const elapsedS = (performance.now() - begunAt) / 1_000;
    const { "a.read": reads = 0 } = await sandbox.requests(encodeId("att", attempt!.id));
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(1 + Math.ceil(elapsedS));
    await fixture.answer(url, "pass");
    await takeReturn(core, token, new URLSearchParams());
    await expect
      .poll(async () => {
        await fixture.recover();
        return (await fixture.story(session)).end;
      })
      .toBe("SUCCEEDED SANDBOX_A");
  });
});

describe("a customer who returns by the address for giving up", () => {
  it("ends the payment at once, and nothing is completed", async () => {
    const { core } = fixture.base;
    const cancelling = {
      ...core,
      connectorOf: (gateway: string) => {
        const connector = core.connectorOf(gateway)!;
        const isCancelled = (fields: URLSearchParams) => fields.get("cancelled") === "1";
        return replaced(connector, { authentication: { ...connector.authentication!, isCancelled } });
      },
    };
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    const back = await fixture.answer(await fixture.show(session), "pass");
    const token = back.pathname.split("/").at(-1)!;
    await takeReturn(cancelling, token, new URLSearchParams("cancelled=1"));
    await takeReturn(cancelling, token, back.searchParams);
    await fixture.recover();
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: ["CANCELLED"],
    });
    expect(await fixture.atGateways(session)).toEqual([]);
  });
});
