/** Tests the requests that a gateway gets which has asked the customer, or may not ask. */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AuthenticationProvider } from "../../gateways/authentication-provider.ts";
import type { AuthorizeRequest } from "../../gateways/connector.ts";
import type { Core } from "../core.ts";
import { cancelAction, findOpenAction } from "../customer-actions.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import { challengeAt, startAuthentication, startProvided } from "./authentication.fixture.ts";
import { replaced, withAnswers } from "./recovery.fixture.ts";

function recording(core: Core): { core: Core; requests: AuthorizeRequest[] } {
  const requests: AuthorizeRequest[] = [];
  const recorded = withAnswers(core, (connector) => ({
    authorize: (call, request) => {
      requests.push(request);
      return connector.authorize(call, request);
    },
  }));
  return { core: recorded, requests };
}

/** Replaces a part of every provider until the returned function is called. */
function replaceProvider(
  core: Core,
  change: (provider: AuthenticationProvider) => Partial<AuthenticationProvider>,
): () => void {
  const { bindProvider } = core;
  const replacing: typeof bindProvider = async (...given) => {
    const bound = await bindProvider(...given);
    if (bound === undefined) return undefined;
    const changed = change(bound.connector);
    const connector = new Proxy(bound.connector, {
      get(target, name: keyof AuthenticationProvider) {
        const own = changed[name] ?? target[name];
        return typeof own === "function" ? own.bind(target) : own;
      },
    });
    return { ...bound, connector };
  };
  Object.assign(core, { bindProvider: replacing });
  return () => void Object.assign(core, { bindProvider });
}

describe("a customer who gives up", async () => {
  const flow = await forFile(startAuthentication);

  it("has the action cancelled at the gateway only once that is committed", async () => {
    const session = await flow.pay({ A: challengeAt.A() });
    const seen: string[] = [];
    const core = withAnswers(flow.base.core, (connector) => ({
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

describe("a customer whom a provider authenticates", async () => {
  const flow = await forFile(startProvided);

  it("has given up while the bank's result is asked for, whatever it is", async () => {
    const session = await flow.payWith("4000002760003184");
    const { core } = flow.base;
    let cancelled = 0;
    const restore = replaceProvider(core, (provider) => ({
      result: async (...asked) => {
        const answer = await provider.result(...asked);
        const [authentication] = (await flow.base.loadSession(session)).authentications;
        await cancelAction(core, { sessionId: session.id, authenticationId: authentication!.id });
        cancelled++;
        return answer;
      },
    }));
    await flow.showProvided(session, "pass");
    await flow.recover();
    expect(cancelled).toBe(1);
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: ["SANDBOX_A DECLINED"],
      authentications: ["CANCELLED"],
    });
    restore();
  });

  it("is asked by mandate once a gateway has declined for want of authentication", async () => {
    const mandated: boolean[] = [];
    const restore = replaceProvider(flow.base.core, (provider) => ({
      authenticate: (call, request) => {
        mandated.push(request.isMandated);
        return provider.authenticate(call, request);
      },
    }));
    await flow.payWith("4000000000003055");
    expect(mandated).toEqual([true]);
    restore();
  });
});

describe("a customer whom a gateway and then a provider asks", async () => {
  const flow = await forFile(startProvided);

  it("has ten minutes for both", async () => {
    const { core, sandbox } = flow.base;
    await sandbox.setDirectory("4000000000000077", { answer: "challenge" });
    // SANDBOX_A asks the customer itself, for it imports no proof here.
    const connectorOf: Core["connectorOf"] = (gateway) => {
      const connector = core.connectorOf(gateway);
      return gateway === "SANDBOX_A" ? replaced(connector!, { importsProof: false }) : connector;
    };
    const session = await flow.pay(
      { A: challengeAt.A({ act: "decline", code: "transaction_not_allowed" }), B: challengeAt.B() },
      { core: { ...core, inFlight: new Set(), connectorOf } },
    );
    await flow.base.after(4, () => flow.answerAndReturn(session, "pass"));
    const [atGateway, atProvider] = (await flow.base.loadSession(session)).authentications;
    expect([atGateway, atProvider]).toMatchObject([{ provider: null }, { provider: "SANDBOX_3DS" }]);
    expect((atProvider!.deadlineAt.getTime() - atGateway!.startedAt.getTime()) / 60_000).toBeCloseTo(10, 0);
  });
});

describe("a gateway that asks to try again after it has asked the customer", async () => {
  const flow = await forFile(startAuthentication);
  const { core, owner, connectionIds } = flow.base;
  const failoverOn = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
  const rule = { merchantId: owner.merchantId, connectionIds, failoverOn, retriesSameGateway: true };
  await core.database.transaction((tx) => recordRoutingRule(tx, rule));

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

describe("a request with an exemption, by a rule that always authenticates", async () => {
  const exempted = { exemptions: ["LOW_VALUE"], stopsIfUnavailable: false, forbidsSecondChallenge: false } as const;
  const flow = await forFile(() =>
    startProvided({
      authentication: "ALWAYS",
      withoutProvider: true,
      policy: exempted,
      exemptsUpTo: 4_900,
    }),
  );

  it("mandates no challenge, and the request that mandates one asks for no exemption", async () => {
    const { core, requests } = recording(flow.base.core);
    await flow.pay({ A: challengeAt.A({ act: "approve" }, { when: "if_asked" }) }, { core });
    expect(requests.map(({ exemption, authentication }) => [exemption, authentication?.wish])).toEqual([
      ["LOW_VALUE", "as_needed"],
      [undefined, "always"],
    ]);
  });
});
