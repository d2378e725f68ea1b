import { describe, expect, it } from "vitest";
import { planRoute } from "../core/decide/plan-route.ts";
import type { AuthenticationRule, PlannedConnection } from "../core/rows/entities.ts";
import { describeAuthentication, routeCases } from "./route-cases.ts";

const candidate = (gateway: string, authenticates: boolean) => ({
  connectionId: gateway,
  gateway,
  credentialVersion: 1,
  paused: false,
  failing: false,
  authenticates,
});

/** The plan of a rule over STRIPE, which runs authentication here, and PAYPAL, which does not. */
function planOf(authentication: AuthenticationRule): readonly PlannedConnection[] {
  const candidates = [candidate("STRIPE", true), candidate("PAYPAL", false)];
  return planRoute({ version: 3, failoverOn: [], authentication, candidates }).plan;
}

const required = (authentication: AuthenticationRule, plan = planOf(authentication)) =>
  routeCases(plan, { version: 3, failoverOn: ["HARD_DECLINE"], authentication }).find(
    ({ answer }) => answer === "AUTHENTICATION_REQUIRED",
  );

describe("a gateway that asks for authentication", () => {
  it("gets the payment once more, and the end depends on the customer", () => {
    for (const rule of ["AS_NEEDED", "ALWAYS"] as const) {
      expect(required(rule)).toMatchObject({
        status: "CANNOT_KNOW",
        steps: [
          {
            action: "authenticate",
            because: "STRIPE asks for authentication, so it gets the payment once more with it.",
          },
        ],
      });
    }
  });

  it("ends the payment where it runs none", () => {
    expect(required("AS_NEEDED", planOf("AS_NEEDED").slice(1))).toMatchObject({
      status: "DECLINED",
      steps: [{ action: "stop", because: expect.stringContaining("whatever rule version 3 says") }],
    });
  });

  it("ends the payment where the rule forbids it", () => {
    expect(required("NEVER")).toMatchObject({
      status: "DECLINED",
      steps: [
        { action: "stop", because: "The customer has to authenticate, and rule version 3 asks for no authentication." },
      ],
    });
  });
});

describe("a gateway that asks to try again", () => {
  const stepsOf = (retriesSameGateway: boolean) => {
    const rule = { version: 3, failoverOn: ["HARD_DECLINE" as const], retriesSameGateway };
    const found = routeCases(planOf("AS_NEEDED"), rule).find(({ answer }) => answer === "TRY_AGAIN");
    return found?.steps.map(({ at, action }) => `${at.gateway} ${action}`);
  };

  it("is asked once more by a rule that retries, before the plan goes on", () => {
    expect(stepsOf(true)).toEqual(["STRIPE retry", "STRIPE failover", "PAYPAL stop"]);
    expect(stepsOf(false)).toEqual(["STRIPE failover", "PAYPAL stop"]);
  });
});

describe("describeAuthentication()", () => {
  it("names the gateways that run it and those that do not, and what cannot be known", () => {
    const [own, none, unknown, ...others] = describeAuthentication(planOf("AS_NEEDED"), "AS_NEEDED");
    expect(own).toBe("Deciding for each payment whether to authenticate: STRIPE.");
    expect(none).toMatch(/^Without authentication: PAYPAL\. .* ends as declined \(authentication required\)\.$/);
    expect(unknown).toMatch(/cannot be known in advance.*declined \(authentication failed\)/);
    expect(others).toEqual([]);
    const always = describeAuthentication(planOf("ALWAYS"), "ALWAYS");
    expect(always[0]).toBe("Told to authenticate each payment: STRIPE.");
    expect(always.at(-1)).toMatch(/sends no data of its browser is declined \(authentication required\)/);
    expect(describeAuthentication(planOf("ALWAYS"), "ALWAYS", "PAY").at(-1)).toMatch(/is made without authentication/);
  });

  it("says that a bank which insists ends the payment where no gateway may ask", () => {
    expect(describeAuthentication(planOf("NEVER"), "NEVER")).toEqual([
      "No gateway may ask for the customer.",
      "If a bank requires authentication, it declines, and the payment ends as declined (authentication required).",
    ]);
  });
});
