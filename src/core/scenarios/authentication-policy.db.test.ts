/** Tests the merchant's policies about authentication: exemptions, an unavailable provider, and a second challenge. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthenticationFixture, challengeAt, startProvided } from "./authentication.fixture.ts";

const soft = "SANDBOX_A DECLINED";
const exempted = { exemptions: ["LOW_VALUE"], stopsIfUnavailable: false, forbidsSecondChallenge: false } as const;
const asking = "The request asks for an exemption: low value.";

function fixture(rule: Parameters<typeof startProvided>[0]): () => AuthenticationFixture {
  let flow: AuthenticationFixture | undefined;
  beforeAll(async () => {
    flow = await startProvided(rule);
  });
  afterAll(() => flow?.close());
  return () => flow!;
}

describe.each(["AS_NEEDED", "ALWAYS"] as const)("an exemption, with authentication %s", (authentication) => {
  const flow = fixture({ authentication, policy: exempted, exemptsUpTo: 4_900 });

  it("is granted: the customer is not authenticated", async () => {
    const session = await flow().payWith("4000000000007072");
    expect(await flow().story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: ["SANDBOX_A CAPTURED"],
      authentications: [],
    });
    expect((await flow().base.loadSession(session)).attempts[0]?.because).toContain(asking);
  });

  it("is refused: the customer is challenged, and the same gateway gets the proof without asking again", async () => {
    const session = await flow().payWith("4000000000007080");
    await flow().showProvided(session);
    expect(await flow().story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: [soft, "SANDBOX_A CAPTURED again"],
      authentications: ["AUTHENTICATED"],
    });
    const { attempts, authentications } = await flow().base.loadSession(session);
    expect(authentications[0]).toMatchObject({ flow: "CHALLENGE", because: "SANDBOX_A asked for authentication." });
    expect(attempts[1]?.because).not.toContain(asking);
  });
});

describe("an exemption, with authentication ALWAYS", () => {
  const flow = fixture({ authentication: "ALWAYS", policy: exempted, exemptsUpTo: 4_900 });

  it("covers only the gateway that asks for it: the customer is authenticated before the next", async () => {
    await flow().base.sandbox.setDirectory("4000000000000077", { answer: "Y" });
    const session = await flow().pay({ A: { act: "decline", code: "transaction_not_allowed" }, B: challengeAt.B() });
    expect(await flow().story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: [soft, "SANDBOX_B CAPTURED"],
      authentications: ["AUTHENTICATED"],
    });
  });
});

describe("an exemption without a provider, with authentication ALWAYS", () => {
  const flow = fixture({ authentication: "ALWAYS", withoutProvider: true, policy: exempted, exemptsUpTo: 4_900 });

  it("takes the mandate's place until it is refused", async () => {
    const session = await flow().pay({ A: challengeAt.A({ act: "approve" }, { when: "if_asked" }) });
    expect(await flow().story(session)).toMatchObject({
      attempts: [soft, "SANDBOX_A AWAITING_CUSTOMER again"],
      authentications: ["AWAITING_CUSTOMER"],
    });
  });
});

describe("an exemption", () => {
  const flow = fixture({ policy: exempted, exemptsUpTo: 4_899 });

  it("is not asked for above the amount that the acquirer agreed to", async () => {
    const session = await flow().payWith("4000000000007072");
    expect(await flow().story(session)).toMatchObject({ attempts: [soft], authentications: ["AWAITING_CUSTOMER"] });
    expect((await flow().base.loadSession(session)).attempts[0]?.because).not.toContain(asking);
  });
});

describe("a provider that cannot authenticate first", () => {
  const proceeding = fixture({ authentication: "ALWAYS" });
  const stopping = fixture({ authentication: "ALWAYS", policy: { stopsIfUnavailable: true } });

  it("leaves it to the gateways by default", async () => {
    const session = await proceeding().payWith("4000000000003097");
    expect(await proceeding().story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: ["SANDBOX_A CAPTURED"],
      authentications: ["UNAVAILABLE"],
    });
  });

  it("stops the payment where the rule says so", async () => {
    const session = await stopping().payWith("4000000000003097");
    expect(await stopping().story(session)).toEqual({
      end: "DEGRADED processing_unavailable",
      attempts: [],
      authentications: ["UNAVAILABLE"],
    });
    const paid = await stopping().payWith("4000000000003055");
    expect(await stopping().story(paid)).toMatchObject({ end: "SUCCEEDED SANDBOX_A" });
  });
});

describe("a second challenge", () => {
  const rule = { authentication: "ALWAYS", ownOnly: true } as const;
  const forbidding = fixture({ ...rule, policy: { forbidsSecondChallenge: true } });

  it("is not offered where the rule forbids it", async () => {
    const session = await forbidding().payWith("4000008400001629");
    await forbidding().showProvided(session);
    expect(await forbidding().story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: [soft, "SANDBOX_B DECLINED"],
      authentications: ["AUTHENTICATED"],
    });
  });
});
