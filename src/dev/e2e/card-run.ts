/** Plays one test card from the submission to its last operation, and compares it with the table of cards. */
import type { ExpectStatic } from "vitest";
import type { PaymentSessionJson } from "../../../gen/payments/v1/payment_session_pb.ts";
import type { CardBehaviour, TestCard } from "../../gateways/sandbox/card-behaviour.ts";
import { gatewaysOf } from "../../gateways/sandbox/outcomes.ts";
import { unreachable } from "../../platform/errors.ts";
import { ApiCheckout } from "./api-checkout.ts";
import type { TestDemo } from "./demo.fixture.ts";
import { orderAtShop, webhooksOf } from "./shop-order.ts";

const lookEveryMs = 250;
// The table says "about": a busy machine is later, and never earlier.
const laterMs = 15_000;
const earlierMs = 2_000;

/** Above this, a card is not in the tests of every run. */
export const quickS = 20;

/** Returns the time after which a card's last attempt has ended, in seconds. */
export function closedAfterS({ outcome }: TestCard): number {
  return outcome.closedAfterS ?? outcome.settledAfterS ?? 0;
}

export function cardTimeoutMs(card: TestCard): number {
  return closedAfterS(card) * 1_000 + 3 * laterMs;
}

/** Pays with the card in the demo shop, by API, and checks every claim of the table, at the acquirers too. */
export async function runCard(demo: TestDemo, card: TestCard, expect: ExpectStatic): Promise<void> {
  const { outcome } = card;
  const merchant = new ApiCheckout(demo.file);
  const { orderRef, session } = await orderAtShop(demo.file.shopUrl);
  const token = await merchant.tokenize(session, card.number);
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  await merchant.submit(session, token);
  const read = () => merchant.read(session.sessionId);
  const polling = { timeout: cardTimeoutMs(card) - laterMs, interval: lookEveryMs };

  await expect.poll(async () => (await read()).status, polling).toBe(outcome.status);
  const settledMs = passedMs();
  expect(settledMs).toBeLessThan((outcome.settledAfterS ?? 0) * 1_000 + laterMs);
  expect(settledMs).toBeGreaterThan((outcome.settledAfterS ?? 0) * 1_000 - earlierMs);

  const statuses = outcome.attempts.map(({ status }) => status);
  await expect.poll(async () => (await read()).attempts?.map(({ status }) => status), polling).toEqual(statuses);
  const closedMs = passedMs();
  const ended = await read();
  expect(ended).toMatchObject(expectedSession(card));
  expect(ended.declineCode).toBe(outcome.declineCode);
  expect(ended.attempts?.map(({ failureKind }) => failureKind)).toEqual(
    outcome.attempts.map(({ failureKind }) => failureKind),
  );
  await expect
    .poll(async () => (await webhooksOf(demo.file.shopUrl, orderRef)).toSorted(), polling)
    .toEqual(outcome.events.toSorted());

  // SANDBOX_B executes received requests a moment later.
  await expect.poll(() => recordsOf(demo, ended), polling).toEqual(expectedRecords(card));
  // An acquirer's pending operations, such as a late approval, happen now, and change nothing.
  for (const { attemptId } of ended.attempts ?? []) await demo.sandbox.release({ reference: attemptId });
  expect(await recordsOf(demo, ended)).toEqual(expectedRecords(card));
  console.info(`${card.name}: ${outcome.status} after ${seconds(settledMs)}, closed after ${seconds(closedMs)}`);
}

export function expectedSession({ outcome }: TestCard): PaymentSessionJson {
  const { status } = outcome;
  const gateways = gatewaysOf(outcome);
  const capturedVia = gateways.find((_, index) => outcome.attempts[index]?.status === "CAPTURED");
  // A repeat at the same gateway, with authentication, is none.
  const failover = capturedVia !== undefined && capturedVia !== gateways[0];
  return {
    status,
    processing: false,
    failover,
    ...(capturedVia && { capturedVia }),
    attempts: outcome.attempts.map(({ captureRefused }, index) => ({
      gateway: gateways[index]!,
      sequence: index + 1,
      ...(captureRefused && { gatewayCode: captureRefused }),
    })),
  };
}

/** Returns every authorization that an acquirer ever had of a session, such as "A voided 0". */
async function recordsOf(demo: TestDemo, { attempts = [] }: PaymentSessionJson): Promise<string[]> {
  const found = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return found.flat().map(({ acquirer, status, capturedValue }) => `${acquirer} ${status} ${capturedValue}`);
}

function expectedRecords({ onA, onB, outcome }: TestCard): string[] {
  return outcome.attempts.flatMap(({ status }, index) => {
    const { acquirer, behaviour } = [
      { acquirer: "A", behaviour: onA },
      { acquirer: "B", behaviour: onB },
    ][index]!;
    switch (behaviour.act) {
      case "fail":
      case "stay_silent":
        return [];
      case "decline":
      // If no page can show the action, the acquirer declines.
      case "authenticate":
        return [`${acquirer} declined 0`];
      case "approve_late":
        // SANDBOX_A refuses a reference that was voided.
        return acquirer === "A" ? [] : [`${acquirer} voided 0`];
      case "approve":
      case "approve_wrong_amount":
      case "approve_wrong_currency":
      case "approve_wrong_reference":
      case "approve_then_fail":
      case "approve_lose_answer":
        return status === "CAPTURED" && !failsLater(behaviour)
          ? [`${acquirer} captured 4900`]
          : [`${acquirer} voided 0`];
      default:
        return unreachable(behaviour);
    }
  });
}

function failsLater(behaviour: CardBehaviour): boolean {
  return behaviour.act === "approve" && behaviour.capture === "fail_later";
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}
