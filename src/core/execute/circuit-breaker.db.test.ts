import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CardForwarder } from "../../card-vault/card-vault.ts";
import { VaultClient } from "../../card-vault/own/vault-rpc.ts";
import { HandClock } from "../../dev/testing/clock.ts";
import { TestForwarder } from "../../dev/testing/forwarder.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { closedOrigin } from "../../dev/testing/unreachable-origins.ts";
import { createBinder } from "../../gateways/connections.ts";
import type { Connector } from "../../gateways/connector.ts";
import { SandboxAConnector } from "../../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../../gateways/sandbox/b/connector.ts";
import { breakerCalls, breakerOpenMs } from "../../limits.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import { keyPair } from "../../vault/vault.fixture.ts";
import type { Core } from "../core.ts";
import { type CoreFixture, cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { submitPayment } from "../submit-payment.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";

let fixture: CoreFixture;
let http: GatewayHttp;
let nowhere: string;
let clock: HandClock;
let a: string;
let b: string;
beforeAll(async () => {
  fixture = await startCoreFixture();
  [a = "", b = ""] = fixture.connectionIds;
  http = new GatewayHttp();
  nowhere = await closedOrigin();
});
beforeEach(async () => {
  clock = new HandClock();
  await fixture.setRule(["GATEWAY_ERROR"], [a, b]);
});
afterAll(async () => {
  await fixture.close();
  await http.close();
});

/** Returns the fixture's core as a process of its own, with some connectors replaced. */
function coreWith(...changed: readonly Connector[]): Core {
  const { database, sealing } = fixture.core;
  const connectorOf = (gateway: string) =>
    changed.find((connector) => connector.gateway === gateway) ?? fixture.core.connectorOf(gateway);
  return {
    ...fixture.core,
    runtime: { ...fixture.core.runtime, now: () => clock.now() },
    circuitBreaker: new CircuitBreaker(),
    connectorOf,
    bind: createBinder({ database, ring: sealing, connectorOf }),
  };
}

const partsAt = (origin: string, forwarder: CardForwarder = new TestForwarder(http, cards.approved)) =>
  ({ http, forwarder, origin, environment: "test" }) as const;

async function pay(core: Core) {
  const session = await fixture.newSession();
  const { signal } = new AbortController();
  return submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal });
}

async function payOften(core: Core): Promise<void> {
  for (let paid = 0; paid < breakerCalls; paid++) {
    expect(await pay(core)).toMatchObject({ capturedVia: "SANDBOX_B", failover: true });
  }
}

describe("the circuit breaker in the flow", () => {
  it("leaves out a gateway that refuses connections after five payments, for 30 s, and records it", async () => {
    const core = coreWith(new SandboxAConnector(partsAt(nowhere)));
    await payOften(core);
    expect(await pay(core)).toMatchObject({
      capturedVia: "SANDBOX_B",
      failover: false,
      plan: [{ priority: 2, connectionId: b }],
      skipped: [{ connectionId: a, because: expect.stringContaining("circuit breaker") }],
    });
    await clock.advance(breakerOpenMs);
    expect(await pay(core)).toMatchObject({ skipped: [], plan: [{ connectionId: a }, { connectionId: b }] });
    expect(await pay(core)).toMatchObject({ skipped: [{ connectionId: a }] });
  });

  it("tries a failing gateway when there is no other", async () => {
    const core = coreWith(new SandboxAConnector(partsAt(nowhere)));
    await payOften(core);
    await fixture.setRule([], [a]);
    expect(await pay(core)).toMatchObject({ status: "DEGRADED", plan: [{ connectionId: a }], skipped: [] });
  });

  it("ignores errors that a test card requested, and leaves a real gateway out for the same errors", async () => {
    const resetting = await Receiver.start();
    resetting.answerWith("reset");
    const sandbox = new SandboxAConnector(partsAt(resetting.url));
    const real = Object.assign(new SandboxAConnector(partsAt(resetting.url)), { failsOnRequest: false });
    const skipped: unknown[] = [];
    for (const core of [coreWith(sandbox), coreWith(real)]) {
      await payOften(core);
      skipped.push((await pay(core)).skipped?.map(({ connectionId }) => connectionId));
    }
    await resetting.close();
    expect(skipped).toEqual([[], [a]]);
  });
});

describe("a payment while the vault is down", () => {
  it("ends without trying another gateway, names the vault, and counts against no connection", async () => {
    const forwarder = new VaultClient({
      address: nowhere.replace("http://", ""),
      signing: keyPair("test").signing,
      log: fixture.core.log,
    });
    const parts = partsAt(nowhere, forwarder);
    const core = coreWith(new SandboxAConnector(parts), new SandboxBConnector(parts));
    const sessions = await Promise.all(Array.from({ length: breakerCalls }, () => pay(core)));
    forwarder.close();
    const [session] = sessions;
    expect(session).toMatchObject({ status: "DEGRADED", declineCode: "processing_unavailable", phase: "DONE" });
    expect((await fixture.loadSession(session!)).attempts).toMatchObject([
      {
        gateway: "SANDBOX_A",
        status: "FAILED",
        nextAction: "stop",
        nextBecause: `The card vault could not be used, and no gateway can get the card without it, whatever rule version ${session!.ruleVersion} says.`,
      },
    ]);
    fixture.useCard(cards.approved);
    expect(await pay({ ...coreWith(), circuitBreaker: core.circuitBreaker })).toMatchObject({
      capturedVia: "SANDBOX_A",
      skipped: [],
    });
  });

  it("ends too when the vault is lost during a call, and voids what may be held", async () => {
    const lost = { type: "noAnswer", timedOut: false, lostAtVault: true, reason: "lost" } as const;
    const core = coreWith(new SandboxAConnector(partsAt(nowhere, { forward: async () => ({ reply: lost }) })));
    const session = await pay(core);
    expect(session).toMatchObject({ status: "DEGRADED", phase: "PROCESSING" });
    expect((await fixture.loadSession(session)).attempts).toMatchObject([
      { status: "VOIDING", nextBecause: expect.stringContaining("card vault could not be used") },
    ]);
  });
});
