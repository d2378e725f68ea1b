/** Whole payments by wallets: who gets a device's number, what follows a failure with its cryptogram, and what no card pays for. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LookUpAnswer } from "../../gateways/connector.ts";
import { walletCards } from "../../gateways/sandbox/wallet-cards.ts";
import { walkPayments } from "../../reporting/payment-list.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import type { CryptogramResend } from "../rows/entities.ts";
import { type CoreFixture, startCoreFixture } from "./core.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(async () => {
  await fixture?.close();
});

const [approved, refused, silent, lost, declined, declinedTwiceAllowed, fraud, challenge, panFailover] =
  walletCards.map(({ number }) => number) as [string, string, string, string, string, string, string, string, string];

let tokens = 0;
const tokenOf = (prefix: "wnt" | "wpn") => `${prefix}_${String(++tokens).padStart(24, "0")}`;

async function setRule(cryptogramResend: CryptogramResend, more: object = {}): Promise<void> {
  const { core, owner, connectionIds } = fixture;
  const failoverOn = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
  const rule = { merchantId: owner.merchantId, connectionIds, failoverOn, cryptogramResend, ...more };
  await core.database.transaction((tx) => recordRoutingRule(tx, rule));
}

async function pay(number: string, prefix: "wnt" | "wpn" = "wnt", core = fixture.core, hasBrowser = true) {
  const created = await fixture.newSession();
  const browser = {
    acceptHeader: "*/*",
    javaEnabled: false,
    javaScriptEnabled: true,
    language: "en",
    colorDepth: 24,
    screenHeight: 600,
    screenWidth: 800,
    timeZoneOffset: 0,
    userAgent: "test",
  };
  const released = setInterval(() => void fixture.sandbox.release({}), 200);
  await fixture.submitWith(created, {
    number,
    token: tokenOf(prefix),
    shopper: (hasBrowser ? { browser } : {}) as never,
    core,
  });
  await Promise.all(core.inFlight);
  clearInterval(released);
  const { session, attempts, authentications } = await fixture.loadSession(created);
  return {
    status: session.status,
    via: session.capturedVia,
    credential: session.walletCredential,
    authentications: authentications.length,
    trail: attempts.map(({ gateway, status }) => `${gateway} ${status}`),
    because: attempts.map(({ nextBecause }) => nextBecause),
    captured: await fixture.capturedAtGateways(created),
    session,
  };
}

describe("a device's number", () => {
  beforeAll(() => setRule("UNANSWERED"));

  it("is captured via the first gateway, without authentication also where the rule wants one", async () => {
    await setRule("UNANSWERED", { authentication: "ALWAYS" });
    const paid = await pay(approved);
    expect(paid).toMatchObject({ status: "SUCCEEDED", via: "SANDBOX_A", credential: "NETWORK_TOKEN", captured: 1 });
    expect(paid.authentications).toBe(0);
    expect(paid.session.plan?.[0]).not.toHaveProperty("authentication");
    await setRule("UNANSWERED");
  });

  it("goes on where the gateway has provably processed nothing", async () => {
    expect(await pay(refused)).toMatchObject({
      status: "SUCCEEDED",
      via: "SANDBOX_B",
      trail: ["SANDBOX_A FAILED", "SANDBOX_B CAPTURED"],
    });
  });

  it("goes on after silence once the gateway was looked up", async () => {
    const paid = await pay(silent);
    expect(paid).toMatchObject({ status: "SUCCEEDED", via: "SANDBOX_B", captured: 1 });
    expect(paid.because[0]).toContain("First SANDBOX_A is looked up");
  }, 60_000);

  it("is not sent again where the look-up finds the hold", async () => {
    expect(await pay(lost)).toMatchObject({ status: "SUCCEEDED", via: "SANDBOX_A", trail: ["SANDBOX_A CAPTURED"] });
  }, 60_000);

  it("goes nowhere after a decline", async () => {
    const paid = await pay(declined);
    expect(paid).toMatchObject({ status: "DECLINED", trail: ["SANDBOX_A DECLINED"] });
    expect(paid.because[0]).toContain("the wallet’s cryptogram counts as used");
  });

  it("goes nowhere after fraud, whatever the rule", async () => {
    await setRule("DECLINED");
    expect(await pay(fraud)).toMatchObject({ status: "DECLINED", trail: ["SANDBOX_A DECLINED"] });
    await setRule("UNANSWERED");
  });
});

describe("a silent gateway that the look-up", () => {
  const declinedAs = (kind: "HARD_DECLINE" | "FRAUD") => ({
    type: "declined" as const,
    kind,
    stop: kind === "FRAUD" ? ("fraud" as const) : ("none" as const),
    declineCode: "card_declined" as const,
    gatewayCode: "found",
  });
  const finding = (answer: LookUpAnswer) =>
    pay(silent, "wnt", withAnswers(fixture.core, { lookUp: async () => answer }));

  it.each<LookUpAnswer>([
    { type: "captured", gatewayReference: "elsewhere_1" },
    { type: "heldOther", gatewayReference: "elsewhere_2" },
    { type: "voided" },
  ])(
    "finds $type has used the cryptogram, which goes nowhere else",
    async (answer) => {
      await setRule("DECLINED");
      const { because, trail, status } = await finding(answer);
      expect([trail.length, status]).toEqual([1, "DEGRADED"]);
      expect(because[0]).toContain("used the wallet’s cryptogram");
    },
    60_000,
  );

  it("finds to have declined ends the payment as a decline does, by the rule", async () => {
    await setRule("DECLINED", { failoverOn: ["TIMEOUT"] });
    const ruled = await finding(declinedAs("HARD_DECLINE"));
    expect(ruled).toMatchObject({ status: "DECLINED", trail: ["SANDBOX_A DECLINED"] });
    await setRule("DECLINED");
    expect(await finding(declinedAs("FRAUD"))).toMatchObject({ status: "DECLINED", trail: ["SANDBOX_A DECLINED"] });
    const followed = await finding(declinedAs("HARD_DECLINE"));
    expect(followed.trail).toEqual(["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"]);
    await setRule("UNANSWERED");
    const used = await finding(declinedAs("HARD_DECLINE"));
    expect([used.trail, used.because[0]]).toEqual([
      ["SANDBOX_A DECLINED"],
      expect.stringContaining("the wallet’s cryptogram counts as used"),
    ]);
  }, 120_000);
});

describe("the rule NOT_SENT", () => {
  it("ends a payment after silence", async () => {
    await setRule("NOT_SENT");
    const paid = await pay(silent);
    expect(paid).toMatchObject({ status: "DEGRADED", trail: ["SANDBOX_A VOIDED"] });
    expect(paid.because[0]).toContain("a network may have seen");
  }, 60_000);
});

describe("the rule DECLINED", () => {
  beforeAll(() => setRule("DECLINED"));

  it("sends a declined cryptogram again, which the network refuses", async () => {
    expect(await pay(declined)).toMatchObject({
      status: "DECLINED",
      trail: ["SANDBOX_A DECLINED", "SANDBOX_B DECLINED"],
    });
  });

  it("is paid where the network takes it again", async () => {
    expect(await pay(declinedTwiceAllowed)).toMatchObject({ status: "SUCCEEDED", via: "SANDBOX_B", captured: 1 });
  });
});

describe("a wallet's card without a device", () => {
  it("is authenticated whatever the rule says", async () => {
    await setRule("UNANSWERED", { authentication: "NEVER" });
    const paid = await pay(challenge, "wpn");
    expect(paid.session.plan?.map(({ authentication }) => authentication)).toEqual(["always", "always"]);
    expect(paid).toMatchObject({ status: "CREATED", credential: "PAN", trail: ["SANDBOX_A AWAITING_CUSTOMER"] });
  });

  it("fails over as a card does", async () => {
    await setRule("NOT_SENT");
    expect(await pay(panFailover, "wpn")).toMatchObject({ status: "SUCCEEDED", via: "SANDBOX_B", credential: "PAN" });
  });
});

it("is found by its wallet, in processing too", async () => {
  await setRule("UNANSWERED");
  const { core, owner, asOwner } = fixture;
  const checkToken = async () =>
    ({ state: "unused", wallet: { name: "google_pay", credential: "NETWORK_TOKEN", network: "visa" } }) as const;
  const created = await fixture.newSession();
  const named = { ...core, vault: { ...core.vault, checkToken } };
  await fixture.submitWith(created, { number: approved, token: tokenOf("wnt"), core: named });
  await Promise.all(core.inFlight);
  const listed = async (wallet: "apple_pay" | "google_pay") => {
    const wanted = { merchantId: owner.merchantId, filter: { wallet }, after: undefined, count: 20 };
    return (await walkPayments<{ id: string }>(asOwner, "s.id", wanted)).rows.map(({ id }) => id);
  };
  expect(await listed("google_pay")).toEqual([created.id]);
  expect(await listed("apple_pay")).toEqual([]);
});

it("leaves out a gateway that takes no device's number, with the reason", async () => {
  const { core, connectionIds } = fixture;
  await setRule("UNANSWERED");
  const a = core.connectorOf("SANDBOX_A")!;
  const { acceptsNetworkToken: _, ...without } = { ...a };
  const connectorOf = (gateway: string) =>
    gateway === "SANDBOX_A" ? (without as typeof a) : core.connectorOf(gateway);
  const created = await fixture.newSession();
  await fixture.submitWith(created, { number: approved, token: tokenOf("wnt"), core: { ...core, connectorOf } });
  await Promise.all(core.inFlight);
  const { session } = await fixture.loadSession(created);
  expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
  expect(session.skipped).toEqual([
    {
      gateway: "SANDBOX_A",
      connectionId: connectionIds[0],
      because: "SANDBOX_A takes no device’s number from a wallet.",
    },
  ]);
});
