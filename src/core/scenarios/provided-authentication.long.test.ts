/** Measures two hundred payments with a provider: second challenges, and the time that authentication adds. */
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { observeProvider } from "../../gateways/observed-connector.ts";
import { Secret } from "../../platform/secrets.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { submitPayment } from "../submit-payment.ts";
import { shopper, startProvided } from "./authentication.fixture.ts";

const payments = 200;

const flow = await forFile(() => startProvided({ authentication: "ALWAYS" }));

it(`asks no customer twice where the next gateway imports, of ${payments}`, { timeout: 20 * 60_000 }, async () => {
  const card = "4000008400001629";
  const ends: unknown[] = [];
  for (let count = 0; count < payments; count += 1) {
    const session = await flow.payWith(card);
    await flow.showProvided(session);
    const { attempts, authentications, session: ended } = await flow.base.loadSession(session);
    ends.push({
      via: ended.capturedVia,
      attempts: attempts.map(({ gateway, status }) => `${gateway} ${status}`),
      challenges: authentications.filter(({ flow: how }) => how !== "FRICTIONLESS").length,
    });
  }
  const right = { via: "SANDBOX_B", attempts: ["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"], challenges: 1 };
  expect(ends).toEqual(ends.map(() => right));
  console.info(`${ends.length} of ${payments} captured at the second gateway by one proof; second challenges: 0`);
});

it("adds at most 60 ms at p50 beside the provider's own time, without a challenge", { timeout: 600_000 }, async () => {
  const { base } = flow;
  let atProviderMs = 0;
  const bindProvider: typeof base.core.bindProvider = async (...asked) => {
    const bound = await base.core.bindProvider(...asked);
    const connector = bound && observeProvider(bound.connector, ({ durationMs }) => (atProviderMs += durationMs));
    return bound && connector && { ...bound, connector };
  };
  const core = { ...base.core, bindProvider };
  const card = "4000000000003055";
  await base.sandbox.setCard("A", card, { act: "approve" });
  const pay = async (canShow: boolean) => {
    base.useCard(card);
    const session: PaymentSession = await base.newSession();
    const begunAt = performance.now();
    const asked = { session, vaultToken: new Secret("tok_1"), signal: new AbortController().signal };
    await submitPayment(core, { ...asked, ...(canShow && { shopper }) });
    const tookMs = performance.now() - begunAt;
    await flow.settled(core);
    expect((await base.loadSession(session)).authentications).toHaveLength(canShow ? 1 : 0);
    return tookMs;
  };
  const added: number[] = [];
  for (let count = 0; count < payments; count += 1) {
    const plainMs = await pay(false);
    atProviderMs = 0;
    added.push((await pay(true)) - plainMs - atProviderMs);
  }
  const sorted = added.toSorted((one, other) => one - other);
  const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.floor(share * sorted.length)]!) as [number, number];
  console.info(
    `authentication without a challenge adds p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms in ${payments} pairs`,
  );
  expect(p50).toBeLessThan(60);
});
