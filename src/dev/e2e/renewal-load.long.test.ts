/**
 * How long the charge of an agreement takes beside a payment, and a payment beside a batch of charges that does not end. Its figures
 * need a machine with nothing else to do.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { ApiCheckout, describedBrowser } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { delayAnswers, gatewayDelays, payUntil, shareOf, spread, Turns } from "./payment-turns.ts";

const pairs = 200;
const turns = 5;
const turnMs = 15_000;
// Less than half of what two processors can do: with more, every customer waits for every other.
const arrivalMs = 150;
const card = "4242424242424242";
// A card each: charges of one card wait for each other.
const agreed = ["4242424242424242", "5555555555554444", "378282246310005", "4000002500001001", "5555552500001001"];

const demo = await forFile(() => startTestDemo({ SWITCHYARD_RATE_LIMIT_PER_SECOND: "off" }));
const merchant = new ApiCheckout(demo.file);

async function agree(number: string): Promise<string> {
  const agreement = { type: "UNSCHEDULED", text: "Charged each month." };
  const session = await merchant.open({ customerRef: randomUUID(), saveCard: { agreement } });
  const consent = { template: "agreement", locale: "en" };
  await merchant.submit(session, await merchant.tokenize(session, number), describedBrowser, consent);
  const read = async () => (await merchant.read(session.sessionId)).savedCard;
  await expect.poll(read).toEqual({ status: "SAVED" });
  return (await merchant.read(session.sessionId)).agreementId!;
}

/** Pays with a new card, and returns how long the submission took. */
async function pay(): Promise<number> {
  const session = await merchant.open();
  const token = await merchant.tokenize(session, card);
  const begunAt = performance.now();
  const { outcome } = await merchant.submit(session, token);
  expect(outcome).toHaveProperty("success");
  return performance.now() - begunAt;
}

async function renew(agreementId: string): Promise<number> {
  const begunAt = performance.now();
  const charged = await merchant.charge(agreementId, { amountMinor: 900, currency: "EUR", orderRef: randomUUID() });
  expect(charged.status).toBe("SUCCEEDED");
  return performance.now() - begunAt;
}

/** Renews for so long, one at a time of each agreement. Returns how many were paid in a second. */
async function renewAll(agreementIds: readonly string[], ms: number): Promise<number> {
  const begunAt = performance.now();
  let count = 0;
  const one = async (agreementId: string) => {
    while (performance.now() < begunAt + ms) {
      await renew(agreementId);
      count++;
    }
  };
  await Promise.all(agreementIds.map(one));
  return (1_000 * count) / (performance.now() - begunAt);
}

it("charges agreements beside payments, and in a batch", { timeout: 3_600_000 }, async () => {
  const agreementIds = await Promise.all(agreed.map(agree));
  for (let warm = 0; warm < 50; warm++) await Promise.all([pay(), renew(agreementIds[0]!)]);

  const [payments, renewals] = [[] as number[], [] as number[]];
  for (let pair = 0; pair < pairs; pair++) {
    payments.push(await pay());
    renewals.push(await renew(agreementIds[0]!));
  }
  console.info(`p50 of a submission ${shareOf(payments, 0.5)} ms, of a renewal ${shareOf(renewals, 0.5)} ms`);
  console.info(`${(await renewAll(agreementIds, turnMs)).toFixed(0)} renewals/s while no customer pays`);

  for (const delayMs of gatewayDelays) {
    await delayAnswers(demo.sandbox, delayMs);
    const measured = new Turns(0.95);
    const rates: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const alone = await payUntil(pause(turnMs), arrivalMs, pay);
      const batch = renewAll(agreementIds, turnMs);
      measured.add(alone, await payUntil(batch, arrivalMs, pay));
      rates.push(await batch);
    }
    console.info(`gateways answer after up to ${delayMs} ms, ${spread(rates)} renewals/s: ${measured}`);
  }
});
