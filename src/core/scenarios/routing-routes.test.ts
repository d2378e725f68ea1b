import { expect, it } from "vitest";
import type { Candidate } from "../decide/plan-route.ts";
import { type CasedRoute, routesOf } from "../decide/routing-cases.ts";

const candidate = (connectionId: string): Candidate => {
  return { connectionId, gateway: connectionId, credentialVersion: 1, paused: false, failing: false };
};

// The widget accepts the card networks of every plan that a payment may follow.
it("the routes of a rule are the default plan, the cases, and the arms B of all of them", () => {
  const all = ["a", "b", "c", "d"].map(candidate);
  const euro = {
    name: "euro",
    conditions: {},
    connectionIds: ["c"],
    authentication: "ALWAYS" as const,
    split: { percent: 50, connectionIds: ["d", "c"] },
  };
  const rule: CasedRoute = {
    version: 1,
    failoverOn: [],
    all,
    candidates: [all[0]!],
    cases: { list: [euro], cardRanges: [] },
    split: { percent: 20, connectionIds: ["b", "a"] },
  };
  const plans = routesOf(rule).map(({ candidates }) => candidates.map(({ connectionId }) => connectionId).join());
  expect(plans).toEqual(["a", "c", "b,a", "d,c"]);
  // A connection that cannot authenticate is in no plan of such a case, so its networks are not offered.
  expect(routesOf(rule).map(({ authentication }) => authentication)).toEqual([
    undefined,
    "ALWAYS",
    undefined,
    "ALWAYS",
  ]);
});
