/**
 * Tests the real connectors of STRIPE, ADYEN and PAYPAL under the real flow, while requests, answers, notifications and
 * processes fail, and customers answer their banks late, twice or never.
 */
import { describe, expect, it } from "vitest";
import { replaced } from "../../../core/scenarios/recovery.fixture.ts";
import type { Connector } from "../../../gateways/connector.ts";
import { retryRound } from "../chaos/check-retries.ts";
import { playAll } from "./play-all.ts";
import { realGateways } from "./world.ts";

// Two worlds at once, each with its own database and emulators: a second a payment on two quiet cores, mostly
// spent waiting for answers that never arrive.
const paymentsEach = 20;
const timeoutMs = 240_000;

/** Captures a hold in place of voiding it, if the gateway can be read. */
const capturesInPlaceOfVoids = (connector: Connector) =>
  replaced(connector, {
    async void(call, attempt) {
      const found = await connector.lookUp(call, attempt);
      if (found.type !== "held") return connector.void(call, attempt);
      const { attemptReference, amountMinor, currency } = attempt;
      const hold = { gatewayReference: found.gatewayReference, attemptReference, amountMinor, currency };
      const { type } = await connector.capture(call, hold);
      return type === "done" ? { type } : connector.void(call, attempt);
    },
  });

describe("the real connectors under faults", { timeout: timeoutMs }, () => {
  it("capture each payment's money once or not at all", async () => {
    const worlds = await Promise.all([1, 1 + paymentsEach].map((from) => playAll(from, paymentsEach)));
    expect(worlds.flatMap(({ violations }) => violations)).toEqual([]);
    expect(worlds.flatMap(({ records }) => records.sessions)).toHaveLength(worlds.length * paymentsEach);
    const attempts = worlds.flatMap(({ records }) => records.attempts);
    const captured = attempts.filter(({ status }) => status === "CAPTURED");
    expect(new Set(captured.map(({ gateway }) => gateway))).toEqual(new Set(realGateways));
    // ADYEN asks for no retry.
    const retried = attempts.filter(({ round }) => round === retryRound);
    expect(retried.map(({ status }) => status)).toContain("CAPTURED");
    expect(retried.map(({ gateway }) => gateway)).not.toContain("ADYEN");
    expect(worlds.flatMap(({ authentications }) => authentications)).toContainEqual(
      expect.stringMatching(/ AUTHENTICATED$/),
    );
    const faults = worlds.flatMap((world) => Object.keys(world.faults));
    expect(faults).toEqual(expect.arrayContaining(["answer_lost", "error_kept", "notification_lost"]));
  });
});

describe("the check of the real connectors", { timeout: timeoutMs }, () => {
  it("finds the money of a connector that captures a hold instead of voiding it", async () => {
    const { violations } = await playAll(1, paymentsEach, capturesInPlaceOfVoids);
    expect(new Set(violations.map(({ kind }) => kind))).toContain("captured_twice");
  });
});
