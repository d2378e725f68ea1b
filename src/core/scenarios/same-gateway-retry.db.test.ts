/** Payments by a rule that retries at the same gateway, over the sandbox gateways. */
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { toSessionMessage } from "../../edge/session-messages.ts";
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import { startCoreFixture } from "./core.fixture.ts";

// Declined once for a processing error at SANDBOX_A, and approved afterwards.
const card = "4000000000000119";
const once: CardBehaviour = { act: "decline", code: "processing_error", once: true };
const always: CardBehaviour = { act: "decline", code: "processing_error" };
const approve: CardBehaviour = { act: "approve" };

const fixture = await forFile(startCoreFixture);
beforeEach(() => setCards(once, approve));

async function setCards(onA: CardBehaviour, onB: CardBehaviour): Promise<void> {
  await fixture.sandbox.setCard("A", card, onA);
  await fixture.sandbox.setCard("B", card, onB);
}

function setRule(retriesSameGateway: boolean): Promise<number> {
  const { merchantId } = fixture.owner;
  const rule = {
    connectionIds: fixture.connectionIds,
    failoverOn: ["HARD_DECLINE", "GATEWAY_ERROR"] as const,
    retriesSameGateway,
  };
  return fixture.core.database.transaction((tx) => recordRoutingRule(tx, { merchantId, ...rule }));
}

async function pay() {
  const session = await fixture.pay(card);
  const loaded = await fixture.loadSession(session);
  expect(await fixture.capturedAtGateways(session)).toBe(loaded.session.status === "SUCCEEDED" ? 1 : 0);
  return loaded;
}

const gatewaysOf = ({ attempts }: Awaited<ReturnType<typeof pay>>) =>
  attempts.map(({ gateway, round }) => `${gateway} ${round}`);

describe("a payment whose gateway asks to try again", () => {
  it("goes on to the next gateway, unless the rule retries", async () => {
    await setRule(false);
    const loaded = await pay();
    expect(gatewaysOf(loaded)).toEqual(["SANDBOX_A 0", "SANDBOX_B 0"]);
    expect(loaded.session).toMatchObject({ capturedVia: "SANDBOX_B", failover: true });
  });

  it("is sent there once more by a rule that retries, as an attempt of its own, which is no failover", async () => {
    const version = await setRule(true);
    const loaded = await pay();
    expect(gatewaysOf(loaded)).toEqual(["SANDBOX_A 0", "SANDBOX_A 2"]);
    expect(loaded.session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A", failover: false });
    const because = `SANDBOX_A asked to try again, which rule version ${version} does once.`;
    expect(toSessionMessage(loaded).attempts).toMatchObject([
      { gatewayCode: "processing_error", next: { action: "retry", because } },
      { because, round: 2 },
    ]);
    expect(new Set(loaded.attempts.map(({ gatewayReference }) => gatewayReference)).size).toBe(2);
  });

  it("is retried once in the payment, and then fails over", async () => {
    await setRule(true);
    await setCards(always, { act: "decline", code: "4" });
    const loaded = await pay();
    expect(gatewaysOf(loaded)).toEqual(["SANDBOX_A 0", "SANDBOX_A 2", "SANDBOX_B 0"]);
    expect(loaded.session.status).toBe("DECLINED");
  });

  it("is never retried after a fraud decline, nor after a decline whose code does not allow it", async () => {
    await setRule(true);
    await setCards({ act: "decline", code: "fraudulent" }, approve);
    const fraud = await pay();
    expect(gatewaysOf(fraud)).toEqual(["SANDBOX_A 0"]);
    await setCards({ act: "decline", code: "insufficient_funds" }, approve);
    expect(gatewaysOf(await pay())).toEqual(["SANDBOX_A 0", "SANDBOX_B 0"]);
    await setCards({ act: "fail", status: 500 }, approve);
    expect(gatewaysOf(await pay())).toEqual(["SANDBOX_A 0", "SANDBOX_B 0"]);
  });
});
