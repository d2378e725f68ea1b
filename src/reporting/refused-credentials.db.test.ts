import { afterEach, describe, expect, it, vi } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { withAnswers } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { recordVerified, stageCredentials } from "../gateways/connections.ts";
import type { AuthorizeAnswer } from "../gateways/connector.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { raiseAlertsOnce } from "./raise-alerts.ts";

const fixture = await forFile(startCoreFixture);
const version = await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
afterEach(async () => {
  await fixture.setClockAhead(0);
  await setAccount({ rawCards: true });
});

// Both sandbox gateways have the merchant's account by this name.
const accountOf = () => `test_${fixture.owner.merchantId}`;
const setAccount = (account: { rawCards: boolean }) => fixture.sandbox.setAccount(accountOf(), account);
const pay = async (core = fixture.core): Promise<PaymentSession> => {
  const session = await fixture.newSession();
  await fixture.submit(session, cards.approved, "tok_1", core);
  return session;
};
const attemptsOf = async (session: PaymentSession) => (await fixture.loadSession(session)).attempts;
const raise = async () => {
  await raiseAlertsOnce({
    database: fixture.asOwner,
    runtime: systemRuntime,
    log: { warn: vi.fn() },
    connectorOf: () => undefined,
  });
  type Open = { kind: string; gateway: string; connectionId: string; detail: string };
  const text = `SELECT kind, gateway, connection_id AS "connectionId", detail FROM alert WHERE over_at IS NULL AND kind = 'CREDENTIALS_REFUSED' ORDER BY gateway`;
  return fixture.asOwner.query<Open>({ name: "open_alerts", text }, []);
};
const answering = (outcome: AuthorizeAnswer["outcome"]) =>
  withAnswers(fixture.core, { authorize: async () => ({ outcome }) });

describe("a gateway that refuses", () => {
  it("names its code in the trail, and what it refused", async () => {
    await setAccount({ rawCards: false });
    const attempts = await attemptsOf(await pay());
    expect(attempts).toMatchObject([
      {
        gateway: "SANDBOX_A",
        status: "FAILED",
        failureKind: "GATEWAY_ERROR",
        refusal: "CREDENTIALS",
        gatewayCode: "raw_cards_not_allowed",
        nextBecause: `Rule version ${version} fails over to SANDBOX_B after SANDBOX_A refused the credentials (raw_cards_not_allowed).`,
      },
      {
        gateway: "SANDBOX_B",
        status: "FAILED",
        refusal: "CREDENTIALS",
        gatewayCode: "raw_cards_not_allowed",
        nextBecause: `The plan of rule version ${version} has no gateway left after SANDBOX_B refused the credentials (raw_cards_not_allowed).`,
      },
    ]);
  });

  it.each([
    [
      { cause: "request_refused", gatewayCode: "amount_too_small" },
      "REQUEST",
      "SANDBOX_A refused the request (amount_too_small)",
    ],
    [{ cause: "rate_limited", gatewayCode: "rate_limit" }, "REQUEST", "SANDBOX_A refused the request (rate_limit)"],
    [
      { cause: "credentials_refused", gatewayCode: "api_key_expired" },
      "CREDENTIALS",
      "SANDBOX_A refused the credentials (api_key_expired)",
    ],
    [{ cause: "connection_refused" }, "NO_ANSWER", "SANDBOX_A did not answer"],
    // Our own installation lacks them, and no gateway has said so.
    [{ cause: "credentials_refused" }, null, "a gateway error at SANDBOX_A"],
  ] as const)("is described by its cause: %j", async (answer, refusal, happened) => {
    const [first] = await attemptsOf(await pay(answering({ type: "notProcessed", reason: "", ...answer })));
    expect(first).toMatchObject({ refusal, gatewayCode: "gatewayCode" in answer ? answer.gatewayCode : null });
    expect(first?.nextBecause).toBe(`Rule version ${version} fails over to SANDBOX_B after ${happened}.`);
  });

  it.each([
    ["a card number", "bad card 4242424242424242", /^bad card \*+$/],
    ["one of the credentials", "no such key KEY", /^not_shown$/],
    ["a long text", "x".repeat(5_000), /^x{100}$/],
    ["several lines", "one\ntwo\u2028three", /^one two three$/],
  ])("is not repeated where its code has %s", async (_, code, shown) => {
    const gatewayCode = code.replace("KEY", `sandbox_${accountOf()}`);
    const refused = { type: "notProcessed", cause: "request_refused", reason: "", gatewayCode } as const;
    const declined = {
      type: "declined",
      kind: "SOFT_DECLINE",
      stop: "none",
      declineCode: "card_declined",
      gatewayCode,
    } as const;
    for (const outcome of [refused, declined]) {
      const [first] = await attemptsOf(await pay(answering(outcome)));
      expect(first?.gatewayCode).toMatch(shown);
      expect(first?.nextBecause).not.toContain("4242");
    }
  });
});

describe("the alert about refused credentials", () => {
  it("opens for each connection, and is over once its gateway accepts them", async () => {
    await setAccount({ rawCards: false });
    await pay();
    expect(await raise()).toMatchObject([
      {
        gateway: "SANDBOX_A",
        connectionId: fixture.connectionIds[0],
        detail: expect.stringContaining("its code is raw_cards_not_allowed"),
      },
      { gateway: "SANDBOX_B", connectionId: fixture.connectionIds[1] },
    ]);
    // Another turn opens nothing more, and time alone ends nothing.
    await fixture.setClockAhead(180);
    expect(await raise()).toHaveLength(2);
    await setAccount({ rawCards: true });
    const session = await pay();
    expect((await attemptsOf(session)).map(({ status }) => status)).toEqual(["CAPTURED"]);
    expect(await raise()).toMatchObject([{ gateway: "SANDBOX_B" }]);
  });

  it("is over once newer credentials are verified", async () => {
    expect(await raise()).toMatchObject([{ gateway: "SANDBOX_B" }]);
    const { core, connectionIds } = fixture;
    const connectionId = connectionIds[1]!;
    await core.database.transaction(async (tx) => {
      const credentials = {
        apiKey: `sandbox_${accountOf()}`,
        merchantAccount: accountOf(),
        notificationHmacKey: "0F".repeat(32),
      };
      const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
      await recordVerified(tx, { connectionId, credentialVersion });
    });
    expect(await raise()).toEqual([]);
  });

  it("opens for neither a refused request nor a gateway that does not answer", async () => {
    await fixture.setClockAhead(400);
    await pay(answering({ type: "notProcessed", cause: "request_refused", reason: "", gatewayCode: "amount" }));
    await pay(answering({ type: "notProcessed", cause: "connection_refused", reason: "" }));
    expect(await raise()).toEqual([]);
  });
});
