/** What a gateway that has asked the customer, or may not, is sent. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuthorizeRequest, Connector } from "../gateways/connector.ts";
import {
  type AuthenticationFixture,
  challengeAt,
  startAuthentication,
  startProvided,
} from "./authentication.fixture.ts";
import type { Core } from "./core.ts";
import { cancelAction, findOpenAction } from "./customer-actions.ts";
import { replaced } from "./recovery.fixture.ts";
import { recordRoutingRule } from "./routing-rules.ts";

/** Returns a core whose connectors are replaced in part. */
function withConnectors(core: Core, change: (connector: Connector) => Partial<Connector>): Core {
  return {
    ...core,
    inFlight: new Set(),
    bind: async (...attempt) => {
      const bound = await core.bind(...attempt);
      return bound && { ...bound, connector: replaced(bound.connector, change(bound.connector)) };
    },
  };
}

/** Returns a core that keeps what gateways are asked to authorize. */
function recording(core: Core): { core: Core; requests: AuthorizeRequest[] } {
  const requests: AuthorizeRequest[] = [];
  const recorded = withConnectors(core, (connector) => ({
    authorize: (call, request) => {
      requests.push(request);
      return connector.authorize(call, request);
    },
  }));
  return { core: recorded, requests };
}

describe("a customer who gives up", () => {
  let flow: AuthenticationFixture;
  beforeAll(async () => {
    flow = await startAuthentication();
  });
  afterAll(() => flow.close());

  it("has the action cancelled at the gateway only once that is committed", async () => {
    const session = await flow.pay({ A: challengeAt.A() });
    const seen: string[] = [];
    const core = withConnectors(flow.base.core, (connector) => ({
      void: async (call, attempt) => {
        const { attempts, authentications } = await flow.base.loadSession(session);
        seen.push(`${attempts[0]?.status} ${authentications[0]?.status}`);
        return connector.void(call, attempt);
      },
    }));
    const { session: read } = await flow.base.loadSession(session);
    const action = await findOpenAction(core, read);
    await cancelAction(core, { sessionId: session.id, authenticationId: action!.id });
    await flow.recover(core);
    expect(seen).toEqual(["DECLINED CANCELLED"]);
  });
});

describe("a gateway that asks to try again after it has asked the customer", () => {
  let flow: AuthenticationFixture;
  beforeAll(async () => {
    flow = await startAuthentication();
    const { core, owner, connectionIds } = flow.base;
    const failoverOn = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
    const rule = { merchantId: owner.merchantId, connectionIds, failoverOn, retriesSameGateway: true };
    await core.database.transaction((tx) => recordRoutingRule(tx, rule));
  });
  afterAll(() => flow.close());

  it("is not retried, for it would ask again: the payment fails over", async () => {
    const again = { act: "decline", code: "processing_error" } as const;
    const session = await flow.pay({ A: challengeAt.A(again), B: { act: "approve" } });
    await flow.answerAndReturn(session, "pass");
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: ["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"],
      authentications: ["AUTHENTICATED"],
    });
    // Without a customer who was asked, the same decline is retried.
    const unasked = await flow.pay({ A: again, B: { act: "approve" } });
    expect((await flow.story(unasked)).attempts).toEqual([
      "SANDBOX_A DECLINED",
      "SANDBOX_A DECLINED again",
      "SANDBOX_B CAPTURED",
    ]);
  });
});

describe("a request with an exemption, by a rule that always authenticates", () => {
  const exempted = { exemptions: ["LOW_VALUE"], stopsIfUnavailable: false, forbidsSecondChallenge: false } as const;
  let flow: AuthenticationFixture;
  beforeAll(async () => {
    flow = await startProvided({
      authentication: "ALWAYS",
      withoutProvider: true,
      policy: exempted,
      exemptsUpTo: 4_900,
    });
  });
  afterAll(() => flow.close());

  it("mandates no challenge, and the request that mandates one asks for no exemption", async () => {
    const { core, requests } = recording(flow.base.core);
    await flow.pay({ A: challengeAt.A({ act: "approve" }, { when: "if_asked" }) }, { core });
    expect(requests.map(({ exemption, authentication }) => [exemption, authentication?.wish])).toEqual([
      ["LOW_VALUE", "as_needed"],
      [undefined, "always"],
    ]);
  });
});
