import { describe, expect, it } from "vitest";
import type { ProviderEnd } from "../../gateways/authentication-provider.ts";
import type { Attempt, Authentication, PaymentSession, PlannedConnection } from "../rows/entities.ts";
import { exemptionOf } from "../rows/payment.ts";
import { endOfProvided, isRefusedByProvider, repeatAfterProvider } from "./after-provider.ts";

const asked = { status: "AWAITING_CUSTOMER" } as const;
const ended = (transStatus: string, challengeCancel?: string): ProviderEnd => ({
  type: "ended",
  result: { transStatus },
  challengeCancel,
});

describe("endOfProvided()", () => {
  // The values of challengeCancel in EMV 3DS 2.2, and one that it does not have.
  it.each([
    [undefined, "FAILED"],
    ["01", "CANCELLED"],
    ["02", "FAILED"],
    ["03", "FAILED"],
    ["04", "ABANDONED"],
    ["05", "ABANDONED"],
    ["06", "FAILED"],
    ["07", "FAILED"],
    ["08", "ABANDONED"],
    ["99", "FAILED"],
  ] as const)("ends the payment by a bank's N with challengeCancel %s, as %s", (challengeCancel, status) => {
    const end = endOfProvided(ended("N", challengeCancel), asked);
    expect(end).toBe(status);
    expect(isRefusedByProvider([{ provider: "SANDBOX_3DS", status: end } as Authentication])).toBe(true);
  });

  it.each([
    ["R", "REJECTED", true],
    ["U", "UNAVAILABLE", false],
    ["D", "UNAVAILABLE", false],
    ["S", "UNAVAILABLE", false],
    ["C", "UNAVAILABLE", false],
    ["Y", "UNAVAILABLE", false],
    ["A", "UNAVAILABLE", false],
    ["I", "UNAVAILABLE", false],
  ] as const)("takes a bank's %s without a proof as %s", (transStatus, status, isRefusal) => {
    const end = endOfProvided(ended(transStatus, "08"), asked);
    expect(end).toBe(status);
    expect(isRefusedByProvider([{ provider: "SANDBOX_3DS", status: end } as Authentication])).toBe(isRefusal);
  });
});

describe("exemptionOf()", () => {
  const session = {
    plan: [{ connectionId: "c1", exemption: "LOW_VALUE" } as Partial<PlannedConnection> as PlannedConnection],
  };

  it("asks for none beside a mandate: not in the repeat with authentication, nor with a proof", () => {
    const first = { connectionId: "c1", round: 0 };
    expect(exemptionOf(session, first)).toBe("LOW_VALUE");
    expect(exemptionOf(session, { ...first, round: 2 })).toBe("LOW_VALUE");
    expect(exemptionOf(session, { ...first, round: 1 })).toBeUndefined();
    expect(exemptionOf(session, { ...first, authenticationId: "a1" })).toBeUndefined();
    expect(exemptionOf(session, { ...first, connectionId: "c2" })).toBeUndefined();
  });
});

describe("repeatAfterProvider()", () => {
  const repeatAfter = (flow: Authentication["flow"], onlyFirstChallenge: boolean) => {
    const planned = {
      connectionId: "c1",
      authentication: "as_needed",
      onlyFirstChallenge,
    } as unknown as PlannedConnection;
    return repeatAfterProvider({
      session: { plan: [planned] } as unknown as PaymentSession,
      attempts: [{ id: "a1", connectionId: "c1", round: 0, nextAction: "authenticate" } as Attempt],
      authentications: [{ provider: "SANDBOX_3DS", status: "UNAVAILABLE", flow } as Authentication],
      refunds: [],
      readAt: new Date(),
    });
  };

  it("lets the gateway ask a customer whom the provider could not authenticate, unless one challenge is all", () => {
    expect(repeatAfter("CHALLENGE", false)).toMatchObject({ to: { connectionId: "c1" }, round: 1 });
    expect(repeatAfter("FRICTIONLESS", true)).toMatchObject({ round: 1 });
    expect(repeatAfter("CHALLENGE", true)).toBeUndefined();
  });
});
