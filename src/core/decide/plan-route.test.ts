import { describe, expect, it } from "vitest";
import type { AuthenticationPolicy } from "../rows/entities.ts";
import { type Candidate, planAsked, planRoute } from "./plan-route.ts";

const candidate = (change: Partial<Candidate> = {}): Candidate => ({
  connectionId: "c",
  gateway: "SANDBOX_A",
  credentialVersion: 1,
  paused: false,
  failing: false,
  ...change,
});
const plan = (...candidates: Candidate[]) => planRoute({ version: 1, failoverOn: [], candidates });

describe("planRoute()", () => {
  it("keeps the rule's order and its priorities, even with a gap", () => {
    const { plan: planned } = plan(candidate(), candidate({ paused: true }), candidate({ gateway: "SANDBOX_B" }));
    expect(planned.map(({ priority, gateway }) => [priority, gateway])).toEqual([
      [1, "SANDBOX_A"],
      [3, "SANDBOX_B"],
    ]);
  });

  it.each([
    ["AS_NEEDED", ["as_needed", undefined]],
    [undefined, ["as_needed", undefined]],
    ["ALWAYS", ["always"]],
    ["NEVER", [undefined, undefined]],
  ] as const)("with authentication %s lets a gateway that runs it ask: %s", (authentication, wishes) => {
    const candidates = [candidate({ authenticates: true }), candidate({ connectionId: "d", authenticates: false })];
    const { plan: planned } = planRoute({ version: 1, failoverOn: [], authentication, candidates });
    expect(planned.map((step) => step.authentication)).toEqual(wishes);
  });

  describe("under ALWAYS", () => {
    const provider = { name: "SANDBOX_3DS", connectionId: "p", credentialVersion: 1 };
    const always = { version: 1, failoverOn: [], authentication: "ALWAYS" as const };
    const unable =
      "Each payment has to be authenticated, and it neither authenticates customers nor gets a provider’s proof.";
    const asking = (connectionId: string, change: Partial<Candidate> = {}) =>
      candidate({ connectionId, authenticates: true, ...change });
    const named = ({ plan: planned, skipped }: ReturnType<typeof planRoute>) => ({
      plan: planned.map(({ connectionId }) => connectionId),
      skipped: skipped.map(({ connectionId, because }) => [connectionId, because]),
    });

    it("leaves out a connection that can neither authenticate nor take a proof, with the reason", () => {
      const candidates = [candidate(), asking("d")];
      expect(named(planRoute({ ...always, candidates }))).toEqual({ plan: ["d"], skipped: [["c", unable]] });
      expect(named(planRoute({ ...always, candidates: [candidate()] }))).toEqual({
        plan: [],
        skipped: [["c", unable]],
      });
    });

    it("keeps a connection that takes the proof of the rule's provider, while that can be used", () => {
      const candidates = [candidate({ imports: true, accepts: "any" })];
      expect(named(planRoute({ ...always, candidates, provider }))).toEqual({ plan: ["c"], skipped: [] });
      const whyNot = "It is paused.";
      expect(named(planRoute({ ...always, candidates, provider: { ...provider, whyNot } }))).toEqual({
        plan: [],
        skipped: [
          ["c", unable],
          ["p", whyNot],
        ],
      });
    });

    it("leaves out a connection whose acquirer takes no other connection's proof", () => {
      const candidates = [
        candidate({ connectionId: "a", imports: true, accepts: "any" }),
        candidate({ connectionId: "b", imports: true, accepts: "own" }),
      ];
      expect(named(planRoute({ ...always, candidates, provider }))).toEqual({ plan: ["a"], skipped: [["b", unable]] });
    });

    it("gives the place of such a connection to a failing one, and to a sixth", () => {
      const failing = asking("d", { failing: true });
      expect(named(planRoute({ ...always, candidates: [failing, candidate()] })).plan).toEqual(["d"]);
      const six = [candidate(), ...["1", "2", "3", "4", "5"].map((id) => asking(id))];
      expect(named(planRoute({ ...always, candidates: six })).plan).toEqual(["1", "2", "3", "4", "5"]);
    });

    it("plans nothing for a page that cannot show an action, unless the rule lets it pay", () => {
      const candidates = [asking("d"), asking("e", { paused: true })];
      const declined = planRoute({ ...always, candidates, provider }, { canAsk: false });
      expect(declined.declineCode).toBe("authentication_required");
      expect(named(declined)).toEqual({
        plan: [],
        skipped: [
          ["d", expect.stringMatching(/^Each payment has to be authenticated, and the page sent no data of a browser/)],
          ["e", "It is paused."],
        ],
      });
      const policy = { exemptions: [], stopsIfUnavailable: true, forbidsSecondChallenge: false };
      expect(planRoute({ ...always, candidates, policy }, { canAsk: false }).declineCode).toBeDefined();
      const paid = planRoute(
        { ...always, candidates, policy: { ...policy, withoutBrowser: "PAY" } },
        { canAsk: false },
      );
      expect(paid).toMatchObject({ plan: [{ connectionId: "d" }] });
      expect([paid.declineCode, paid.plan[0]?.authentication]).toEqual([undefined, undefined]);
    });
  });

  it("stops where the rule says so and its provider cannot be used, with the reason", () => {
    const provider = { name: "SANDBOX_3DS", connectionId: "p", credentialVersion: 1, whyNot: "It is paused." };
    const policy = { exemptions: [], stopsIfUnavailable: true, forbidsSecondChallenge: false };
    const candidates = [candidate({ authenticates: true })];
    const rule = { version: 1, failoverOn: [], candidates, provider, policy };
    expect(planRoute({ ...rule, authentication: "ALWAYS" })).toEqual({
      plan: [],
      skipped: [
        { gateway: "SANDBOX_3DS", connectionId: "p", because: "It is paused." },
        { gateway: "SANDBOX_A", connectionId: "c", because: "The rule stops a payment without its provider." },
      ],
    });
    expect(planRoute({ ...rule, authentication: "AS_NEEDED" }).plan).toHaveLength(1);
    expect(planRoute({ ...rule, authentication: "ALWAYS", policy: null }).plan).toHaveLength(1);
  });

  it("tells a gateway to ask for the first exemption that the rule wants and its acquirer grants", () => {
    const policy = {
      exemptions: ["RISK_ANALYSIS", "LOW_VALUE"],
      stopsIfUnavailable: false,
      forbidsSecondChallenge: false,
    };
    const candidates = [
      candidate({ exemptions: ["RISK_ANALYSIS", "LOW_VALUE"] }),
      candidate({ exemptions: ["RISK_ANALYSIS"] }),
      candidate(),
    ];
    const exemptionsOf = (policied: typeof policy | null) =>
      planRoute({ version: 1, failoverOn: [], candidates, policy: policied as AuthenticationPolicy | null }).plan.map(
        ({ exemption }) => exemption,
      );
    expect(exemptionsOf(policy)).toEqual(["LOW_VALUE", "RISK_ANALYSIS", undefined]);
    expect(exemptionsOf(null)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ["unverified", { credentialVersion: undefined }, /not been verified/],
    ["paused", { paused: true }, /paused/],
    ["unable to take the amount", { notPayable: "It cannot take 1.001 EUR." }, /cannot take/],
  ])("leaves out a connection that is %s, with the reason", (_, change, because) => {
    const { plan: planned, skipped } = plan(candidate(change));
    expect(planned).toEqual([]);
    expect(skipped[0]?.because).toMatch(because);
  });

  it("leaves out a failing connection while there is another, and names the circuit breaker", () => {
    const { plan: planned, skipped } = plan(candidate({ failing: true }), candidate({ gateway: "SANDBOX_B" }));
    expect(planned.map(({ priority, gateway }) => [priority, gateway])).toEqual([[2, "SANDBOX_B"]]);
    expect(skipped).toEqual([
      {
        gateway: "SANDBOX_A",
        connectionId: "c",
        because: "Its last 5 calls failed within 60 s, so the circuit breaker leaves it out for 30 s.",
      },
    ]);
  });

  it.each([
    ["is failing too", { failing: true }],
    ["is paused", { paused: true }],
    ["is not verified", { credentialVersion: undefined }],
    ["cannot take the amount", { notPayable: "It cannot." }],
  ])("plans a failing connection after all when the only other %s", (_, change) => {
    const { plan: planned } = plan(candidate({ failing: true }), candidate({ gateway: "SANDBOX_B", ...change }));
    expect(planned[0]).toMatchObject({ priority: 1, gateway: "SANDBOX_A" });
  });

  it("gives the slot of a failing connection among five to the next one", () => {
    const others = Array.from({ length: 6 }, () => candidate());
    const { plan: planned, skipped } = plan(candidate({ failing: true }), ...others);
    expect(planned.map(({ priority }) => priority)).toEqual([2, 3, 4, 5, 6]);
    expect(skipped).toHaveLength(2);
  });

  it("plans at most five gateways", () => {
    const { plan: planned, skipped } = plan(...Array.from({ length: 7 }, () => candidate()));
    expect(planned).toHaveLength(5);
    expect(skipped.map(({ because }) => because)).toEqual(Array(2).fill("A plan holds at most 5 gateways."));
  });
});

describe("planAsked()", () => {
  const policy: AuthenticationPolicy = {
    exemptions: ["LOW_VALUE"],
    stopsIfUnavailable: false,
    forbidsSecondChallenge: true,
  };
  const asking = candidate({ authenticates: true, exemptions: ["LOW_VALUE"] });
  const rule = { version: 1, failoverOn: [], authentication: "NEVER", policy } as const;

  it("asks at each gateway whatever the rule says, without an exemption, and keeps the rest of its policy", () => {
    const asked = planAsked({ ...rule, candidates: [asking, candidate({ connectionId: "d" })] }, { canAsk: true });
    expect(asked?.plan).toEqual([
      {
        priority: 1,
        gateway: "SANDBOX_A",
        connectionId: "c",
        credentialVersion: 1,
        authentication: "always",
        onlyFirstChallenge: true,
      },
    ]);
  });

  it("plans nothing where no gateway can ask", () => {
    for (const canAsk of [true, false])
      expect(planAsked({ ...rule, candidates: [candidate()] }, { canAsk })).toBeUndefined();
  });

  it("has gateways ask in the place of a provider that is down, unless the rule itself stops without it", () => {
    const [name, whyNot] = ["SANDBOX_3DS", "It is paused."];
    const provider = { name, connectionId: "p", credentialVersion: 1 };
    const proven = candidate({ connectionId: "d", imports: true, accepts: "any" });
    const route = { ...rule, candidates: [proven, asking], policy: { ...policy, stopsIfUnavailable: true } };
    const up = planAsked({ ...route, provider }, { canAsk: true });
    expect(up?.plan.map(({ stopsIfUnavailable }) => stopsIfUnavailable)).toEqual([true, true]);
    const down = { ...route, provider: { ...provider, whyNot } };
    for (const authentication of ["NEVER", "AS_NEEDED"] as const)
      expect(planAsked({ ...down, authentication }, { canAsk: true })?.plan).toMatchObject([
        { connectionId: "c", authentication: "always" },
      ]);
    expect(planAsked({ ...down, authentication: "ALWAYS" }, { canAsk: true })).toBeUndefined();
    expect(planAsked({ ...down, candidates: [proven] }, { canAsk: true })).toBeUndefined();
  });

  it("declines a page that leaves out its browser, unless the rule allows it", () => {
    const route = { ...rule, candidates: [asking] };
    expect(planAsked(route, { canAsk: false })).toMatchObject({ plan: [], declineCode: "authentication_required" });
    const paying = { ...route, policy: { ...policy, withoutBrowser: "PAY" } } as const;
    expect(planAsked(paying, { canAsk: false })?.plan).toHaveLength(1);
  });
});
