/** Tests payments whose gateway asks for the customer, from the challenge to the end. */
import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AuthorizeAnswer, AuthorizeRequest } from "../../gateways/connector.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { encodeId } from "../../platform/ids.ts";
import { takeReturn } from "../customer-actions.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import type { AuthenticationRule } from "../rows/entities.ts";
import { recoverSessionsOnce, resumeSession } from "../submit-payment.ts";
import { challengeAt, shopper, startAuthentication } from "./authentication.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";
import { turns } from "./restore.fixture.ts";

const fixture = await forFile(startAuthentication);
afterEach(() => fixture.base.setClockAhead(0));

const declineA = { act: "decline", code: "transaction_not_allowed" } as const;
const approve = { act: "approve" } as const;

describe("the rule of a merchant", () => {
  const all = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
  const setRule = (authentication: AuthenticationRule) => {
    const { core, owner, connectionIds } = fixture.base;
    const rule = { merchantId: owner.merchantId, connectionIds, failoverOn: all, authentication };
    return core.database.transaction((tx) => recordRoutingRule(tx, rule));
  };
  afterEach(async () => void (await setRule("AS_NEEDED")));

  it("never lets a gateway ask: a bank that insists declines, and the trail names the rule", async () => {
    const version = await setRule("NEVER");
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: [],
    });
    const { session: read, attempts } = await fixture.base.loadSession(session);
    expect(read.plan?.map(({ authentication }) => authentication)).toEqual([undefined, undefined]);
    expect(attempts[0]?.nextBecause).toBe(
      `The customer has to authenticate, and rule version ${version} asks for no authentication.`,
    );
  });

  it("always has gateways authenticate, also where the bank would not have asked", async () => {
    await setRule("ALWAYS");
    const session = await fixture.pay({ A: challengeAt.A(approve, { when: "if_asked" }) });
    expect(await fixture.story(session)).toMatchObject({
      attempts: ["SANDBOX_A AWAITING_CUSTOMER"],
      authentications: ["AWAITING_CUSTOMER"],
    });
    await fixture.answerAndReturn(session, "pass");
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
  });

  it("as needed leaves it to the gateway", async () => {
    await setRule("AS_NEEDED");
    const session = await fixture.pay({ A: challengeAt.A() });
    expect((await fixture.story(session)).authentications).toEqual(["AWAITING_CUSTOMER"]);
    await fixture.answerAndReturn(session, "pass");
  });

  it("is that of the version by which the session was planned", async () => {
    await setRule("AS_NEEDED");
    const session = await fixture.pay({ A: { act: "decline", code: "transaction_not_allowed" }, B: challengeAt.B() });
    await setRule("NEVER");
    await fixture.answerAndReturn(session, "pass");
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_B");
  });
});

describe("a gateway that asks for the customer", () => {
  it("gets the payment when the customer passes", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    const { session: waiting, authentications } = await fixture.base.loadSession(session);
    expect(waiting).toMatchObject({ status: "CREATED", phase: "PROCESSING", authentications: 1 });
    expect(waiting.awaitingSince).toBeInstanceOf(Date);
    expect(authentications).toMatchObject([{ status: "AWAITING_CUSTOMER", holdsOnlyWhenAsked: true }]);
    expect(await fixture.atGateways(session)).toEqual([]);
    await fixture.answerAndReturn(session, "pass");
    expect(await fixture.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: ["SANDBOX_A CAPTURED"],
      authentications: ["AUTHENTICATED"],
    });
    expect((await fixture.base.loadSession(session)).authentications).toMatchObject([
      { version: "2.2.0", transStatus: "Y", eci: "05", liability: "ISSUER", shownCount: 1 },
    ]);
    expect(await fixture.base.capturedAtGateways(session)).toBe(1);
  });

  it.each([
    ["fails", "fail", "FAILED"],
    ["cancels at the bank", "cancel", "FAILED"],
  ] as const)("ends the payment when the customer %s, and no other gateway is used", async (_, answer, status) => {
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    await fixture.answerAndReturn(session, answer);
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: [status],
    });
    expect(await fixture.base.eventTypes(session)).toEqual(["payment_session.declined"]);
  });

  it("ends the payment when the customer cancels, and completes nothing even if the bank has said yes", async () => {
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    const back = await fixture.answer(await fixture.show(session), "pass");
    await fixture.cancel(session);
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: ["CANCELLED"],
    });
    await fixture.comeBack(back);
    expect(await fixture.atGateways(session)).toEqual([]);
  });

  it("ends the payment when the customer leaves, ten minutes later", async () => {
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    await fixture.show(session);
    await fixture.base.setClockAhead(9);
    await fixture.recover();
    expect((await fixture.story(session)).end).toBe("CREATED");
    await fixture.base.setClockAhead(10.2);
    await fixture.recover();
    await fixture.recover();
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: ["ABANDONED"],
    });
    expect(await fixture.base.eventTypes(session)).toEqual(["payment_session.declined"]);
  });

  it.each([
    ["the payment is held", approve, "SUCCEEDED SANDBOX_A"],
    ["the bank declines it", { act: "decline", code: "insufficient_funds" }, "DECLINED insufficient_funds"],
  ] as const)("records no authentication that it says nothing about, where %s", async (_, passed, end) => {
    const silent = withAnswers(fixture.base.core, ({ authentication: own }) => ({
      authentication: own && {
        ...own,
        complete: async (...asked) => ({ ...(await own.complete(...asked)), authenticated: undefined }),
      },
    }));
    const session = await fixture.pay(
      { A: challengeAt.A(passed), B: { act: "decline", code: "12" } },
      { core: silent },
    );
    const back = await fixture.answer(await fixture.show(session), "pass");
    const sessionId = await takeReturn(silent, back.pathname.split("/").at(-1)!, back.searchParams);
    await resumeSession(silent, sessionId!);
    await fixture.settled(silent);
    expect((await fixture.story(session)).end).toBe(end);
    expect((await fixture.base.loadSession(session)).authentications).toMatchObject([
      { status: "UNAVAILABLE", transStatus: null, eci: null, liability: "UNKNOWN" },
    ]);
  });

  it("gets the payment when the return is lost, once it is asked", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    await fixture.answer(await fixture.show(session), "pass");
    await fixture.recover();
    expect((await fixture.story(session)).end).toBe("CREATED");
    await fixture.base.setClockAhead(0.6);
    await fixture.recover();
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
  });

  it("is asked again at once when the customer returns while it is being asked", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    const url = await fixture.show(session);
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const askAction = async () => {
      asked.resolve();
      await answered.promise;
      return { type: "waiting" } as const;
    };
    const slow = withAnswers(fixture.base.core, (own) => ({ authentication: { ...own.authentication!, askAction } }));
    await fixture.base.setClockAhead(0.6);
    await recoverSessionsOnce(slow);
    await asked.promise;
    const back = await fixture.answer(url, "pass");
    await takeReturn(fixture.base.core, back.pathname.split("/").at(-1)!, back.searchParams);
    answered.resolve();
    await fixture.settled(slow);
    const { attempts, readAt } = await fixture.base.loadSession(session);
    expect(attempts[0]!.nextRetryAt!.getTime() - readAt.getTime()).toBeLessThanOrEqual(2_000);
    await fixture.base.setClockAhead(0.7);
    await fixture.recover();
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
  });

  it("is completed once more when its answer is lost, and holds once", async () => {
    const session = await fixture.pay({ A: challengeAt.A(approve, { losesCompletion: true }) });
    const back = await fixture.answer(await fixture.show(session), "pass");
    const returning = fixture.comeBack(back);
    await fixture.base.sandbox.paused({ operation: "a.silence" });
    await fixture.base.sandbox.release({ operation: "a.silence" });
    await returning;
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
    const [attempt] = (await fixture.base.loadSession(session)).attempts;
    expect(await fixture.base.sandbox.requests(encodeId("att", attempt!.id))).toMatchObject({ "a.complete": 1 });
    expect(await fixture.atGateways(session)).toEqual(["A captured"]);
  });

  it("fails over when it declines after the challenge, and the next gateway may ask as well", async () => {
    const session = await fixture.pay({ A: challengeAt.A(declineA), B: challengeAt.B() });
    await fixture.answerAndReturn(session, "pass");
    expect((await fixture.story(session)).attempts).toEqual(["SANDBOX_A DECLINED", "SANDBOX_B AWAITING_CUSTOMER"]);
    await fixture.answerAndReturn(session, "pass");
    expect(await fixture.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: ["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"],
      authentications: ["AUTHENTICATED", "AUTHENTICATED"],
    });
  });
});

describe("a gateway that comes after a challenge", () => {
  it("gets the browser as it was submitted, also from another process", async () => {
    const { core } = fixture.base;
    const given: AuthorizeRequest[] = [];
    const seeing = withAnswers(core, (own) => ({
      authorize: (call, request) => {
        given.push(request);
        return own.authorize(call, request);
      },
    }));
    const session = await fixture.pay({ A: challengeAt.A(declineA), B: challengeAt.B() });
    const back = await fixture.answer(await fixture.show(session), "pass");
    await takeReturn(core, back.pathname.split("/").at(-1)!, back.searchParams);
    await fixture.recover(seeing);
    const { browser, ...call } = shopper;
    expect(given).toEqual([expect.objectContaining({ ...call, authentication: expect.objectContaining({ browser }) })]);
  });

  it("is not asked when the one before it reports a decline that forbids it, while the customer is at the bank", async () => {
    const fraud = { act: "decline", code: "20" } as const;
    const failover = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
    await fixture.base.setRule(failover, fixture.base.connectionIds.toReversed());
    const session = await fixture.pay({ A: approve, B: challengeAt.B(fraud) });
    await fixture.base.setRule(failover);
    await fixture.answer(await fixture.show(session), "pass");
    await expect
      .poll(async () => {
        await fixture.recover();
        return fixture.story(session);
      })
      .toMatchObject({ end: "DECLINED fraud_suspected", attempts: ["SANDBOX_B DECLINED"] });
  });
});

describe("a gateway that declines for want of authentication", () => {
  const softDeclined = challengeAt.A(approve, { when: "if_asked" });

  it("gets the payment once more, with authentication", async () => {
    const session = await fixture.pay({ A: softDeclined, B: approve });
    expect((await fixture.story(session)).attempts).toEqual([
      "SANDBOX_A DECLINED",
      "SANDBOX_A AWAITING_CUSTOMER again",
    ]);
    await fixture.answerAndReturn(session, "pass");
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
    expect(await fixture.base.loadSession(session)).toMatchObject({
      session: { failover: false },
      attempts: [{ nextAction: "authenticate", declineCode: "authentication_required" }, { round: 1 }],
    });
  });

  it("is followed by the next gateway when it then declines for another reason", async () => {
    const session = await fixture.pay({ A: challengeAt.A(declineA, { when: "if_asked" }), B: approve });
    await fixture.answerAndReturn(session, "pass");
    expect(await fixture.story(session)).toMatchObject({
      end: "SUCCEEDED SANDBOX_B",
      attempts: ["SANDBOX_A DECLINED", "SANDBOX_A DECLINED again", "SANDBOX_B CAPTURED"],
    });
  });

  it("ends the payment when it asks again although the customer has authenticated", async () => {
    const again = { act: "decline", code: "authentication_required" } as const;
    const session = await fixture.pay({ A: challengeAt.A(again, { when: "if_asked" }), B: approve });
    await fixture.answerAndReturn(session, "pass");
    expect((await fixture.story(session)).end).toBe("DECLINED authentication_required");
  });

  it("ends the payment where the page cannot show an action", async () => {
    const session = await fixture.pay({ A: softDeclined, B: approve }, { canShow: false });
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: [],
    });
  });
});

describe("a gateway that may hold by itself", () => {
  it("is captured when its notification reports the hold", async () => {
    const session = await fixture.pay({ A: declineA, B: challengeAt.B() });
    await fixture.answer(await fixture.show(session), "pass");
    await expect
      .poll(async () => {
        await fixture.recover();
        return (await fixture.story(session)).end;
      })
      .toBe("SUCCEEDED SANDBOX_B");
    expect(await fixture.base.capturedAtGateways(session)).toBe(1);
  });

  it("is voided when the customer finishes after we gave up", async () => {
    const session = await fixture.pay({ A: declineA, B: challengeAt.B() });
    const url = await fixture.show(session);
    await fixture.cancel(session);
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED", "SANDBOX_B VOIDING"],
      authentications: ["CANCELLED"],
    });
    await fixture.answer(url, "pass");
    expect(await fixture.atGateways(session)).toContain("B held");
    await fixture.base.setClockAhead(6);
    await expect
      .poll(async () => {
        await fixture.recover();
        return fixture.atGateways(session);
      })
      .toContain("B voided");
    await expect
      .poll(async () => {
        await fixture.recover();
        return (await fixture.story(session)).attempts.at(-1);
      })
      .toBe("SANDBOX_B VOIDED");
    expect((await fixture.story(session)).end).toBe("DECLINED authentication_failed");
  });
});

describe("the test cards", () => {
  it.each([
    ["4000000000007106", 1, "SUCCEEDED SANDBOX_A"],
    ["4000000000007114", 1, "SUCCEEDED SANDBOX_B"],
    ["4000000000007130", 2, "SUCCEEDED SANDBOX_B"],
    ["4000000000007155", 1, "SUCCEEDED SANDBOX_A"],
    ["4000000000007163", 1, "SUCCEEDED SANDBOX_A"],
  ])("%s asks %i times", async (card, challenges, end) => {
    const session = await fixture.payWith(card);
    for (let asked = 0; asked < challenges; asked++) await fixture.answerAndReturn(session, "pass");
    await expect.poll(async () => (await fixture.story(session)).end).toBe(end);
    expect((await fixture.story(session)).authentications).toHaveLength(challenges);
    expect(await fixture.base.capturedAtGateways(session)).toBe(1);
  });

  it("completes a payment once when return, notification and look meet", async () => {
    const session = await fixture.payWith("4000000000007155");
    const back = await fixture.answer(await fixture.show(session), "pass");
    const token = back.pathname.split("/").at(-1)!;
    await Promise.all([1, 2, 3].map(() => takeReturn(fixture.base.core, token, back.searchParams)));
    await Promise.all([fixture.recover(), resumeSession(fixture.base.core, session.id), fixture.recover()]);
    await fixture.settled();
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
    const [attempt] = (await fixture.base.loadSession(session)).attempts;
    expect(await fixture.base.sandbox.requests(encodeId("att", attempt!.id))).toMatchObject({ "a.complete": 1 });
  });
});

describe("a payment that is being completed", () => {
  /** Returns the same core, at whose gateways a completing request is sent and its process dies. */
  const dying = (complete: () => Promise<AuthorizeAnswer>) =>
    withAnswers(fixture.base.core, (own) => ({ authentication: { ...own.authentication!, complete } }));

  async function passed() {
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    const back = await fixture.answer(await fixture.show(session), "pass");
    await takeReturn(fixture.base.core, back.pathname.split("/").at(-1)!, back.searchParams);
    return session;
  }

  it("is completed once more by another process, and held once", async () => {
    const session = await passed();
    const sent = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<AuthorizeAnswer>();
    const core = dying(() => {
      sent.resolve();
      return gone.promise;
    });
    await recoverSessionsOnce(core);
    await sent.promise;
    await fixture.base.lapseLease(session);
    await fixture.recover();
    expect((await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_A");
    expect((await fixture.base.loadSession(session)).authentications).toMatchObject([{ completionsSent: 2 }]);
    expect(await fixture.atGateways(session)).toEqual(["A captured"]);
    gone.resolve({ outcome: { type: "held", gatewayReference: "late" } });
    await fixture.settled(core);
    expect(await fixture.base.capturedAtGateways(session)).toBe(1);
  });

  it("is as any unanswered attempt once two completing requests have no answer", async () => {
    const session = await passed();
    let sent = 0;
    const silence = { type: "unknown", kind: "TIMEOUT", reason: "no answer" } as const;
    const core = dying(async () => {
      sent++;
      return { outcome: silence };
    });
    await fixture.recover(core);
    expect(sent).toBe(2);
    expect(await fixture.story(session)).toMatchObject({
      end: "SUCCEEDED SANDBOX_B",
      attempts: [expect.stringMatching(/SANDBOX_A VOID/), "SANDBOX_B CAPTURED"],
      authentications: ["UNAVAILABLE"],
    });
  });
});

describe("a database that is restored while a customer is asked", () => {
  it("abandons the action, and voids what it may have led to", async () => {
    const session = await fixture.pay({ A: challengeAt.A(), B: approve });
    const url = await fixture.show(session);
    await declareRestore(fixture.base.asOwner, { backupTakenAt: undefined });
    const back = await fixture.answer(url, "pass");
    await fixture.comeBack(back);
    await turns(fixture.base, session);
    expect(await fixture.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A VOIDED"],
      authentications: ["ABANDONED"],
    });
    expect(await fixture.atGateways(session)).toEqual([]);
  });
});
