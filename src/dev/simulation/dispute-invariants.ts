/** The promises of docs/disputes.md as a program checks them, after every step of a run and at its end. PURE. */
import { encodeId } from "../../platform/ids.ts";
import type { Observed, ObservedDispute } from "./observed.ts";
import type { RefundMoment } from "./refund-invariants.ts";
import type { MadeDispute } from "./simulated-disputes.ts";

/** Our rows, and the gateways' own records of disputes. */
export type DisputeMoment = RefundMoment & { readonly disputesMade: readonly MadeDispute[] };

/** Returns the first promise about disputes that is broken now, given the moment before. */
export function findDisputeViolation(
  { observed, disputesMade }: DisputeMoment,
  before: Observed | undefined,
): string | undefined {
  for (const { answers, gatewayReference } of disputesMade) {
    const answered = new Set(answers.map(({ stage, key }) => `${stage} ${key}`)).size;
    if (answered > new Set(answers.map(({ stage }) => stage)).size)
      return `the gateway took two answers to one stage of ${gatewayReference}`;
  }
  const { disputes, attempts, session, refunds } = observed;
  if (disputes.length === 0) return undefined;
  const capturedMinor = attempts.find(({ id }) => id === session.winner_attempt_id)?.captured_amount_minor ?? 0;
  for (const dispute of disputes) {
    const heldMinor = heldOf(dispute, capturedMinor);
    if (dispute.held_minor !== heldMinor) return `${dispute.held_minor} is held for a dispute over ${heldMinor}`;
    if (netOf(dispute) < 0) return "more came back than a dispute took";
    const earlier = before?.disputes.find(({ id }) => id === dispute.id);
    if (earlier?.asked_at && (dispute.asked_at === null || dispute.asked_at < earlier.asked_at))
      return "an older reading of a dispute took the place of a newer one";
  }
  const held = disputes.reduce((sum, dispute) => sum + heldOf(dispute, capturedMinor), 0);
  const refunded = refunds.reduce((sum, { status, amount_minor }) => sum + (status === "FAILED" ? 0 : amount_minor), 0);
  const isNew = refunds.some(
    ({ id, origin, sends }) =>
      origin === "MERCHANT" && sends >= (before?.refunds.find((one) => one.id === id)?.sends ?? -1) + 1,
  );
  return isNew && refunded + held > capturedMinor
    ? `${refunded} of ${capturedMinor} captured are refunded while disputes hold ${held}`
    : undefined;
}

/** Returns what no refund may touch, by what the rows of a dispute say has happened. */
function heldOf(dispute: ObservedDispute, capturedMinor: number): number {
  const { stage, status, amount_minor, responses } = dispute;
  const isOver = status === "WON" || status === "CLOSED";
  const isCharged = stage === "CHARGEBACK" || stage === "PRE_ARBITRATION";
  const isGivenUp = responses.some((one) => one.type === "ACCEPT" && one.status !== "REFUSED");
  const isHeld = !isOver && (isCharged || status === "LOST" || status === "ACCEPTED" || isGivenUp);
  return Math.min(capturedMinor, Math.max(isHeld ? amount_minor : 0, netOf(dispute)));
}

function netOf({ movements }: ObservedDispute): number {
  return movements.reduce((sum, { type, amount_minor }) => sum + (type === "CHARGEBACK" ? 1 : -1) * amount_minor, 0);
}

/** Returns the promise about disputes that is broken once faults have stopped and time has passed. */
export function findUnfinishedDispute({
  observed,
  disputesMade,
  referenceOf,
}: DisputeMoment & {
  readonly referenceOf: (attemptId: string) => string;
}): string | undefined {
  const { session, disputes, events } = observed;
  for (const made of disputesMade) {
    if (session.winner_attempt_id === null || made.attemptReference !== referenceOf(session.winner_attempt_id))
      continue;
    const isWarning = made.stage === "FRAUD_WARNING";
    const row = disputes.find(
      (one) => one.gateway_reference === made.gatewayReference && (one.stage === "FRAUD_WARNING") === isWarning,
    );
    if (row === undefined) return `the gateway has ${made.gatewayReference}, which is unknown here`;
    const violation = findDifference(made, row);
    if (violation !== undefined) return `${made.gatewayReference} ${violation}`;
  }
  const open = disputes.flatMap(({ responses }) => responses).find(({ status }) => status === "REQUESTED");
  if (open) return "an answer to a dispute did not end";
  const created = events.filter(({ type }) => type === "dispute.created").length;
  return created === disputes.length ? undefined : `${disputes.length} disputes, and ${created} events of a new one`;
}

function findDifference(made: MadeDispute, row: ObservedDispute): string | undefined {
  const { stage, status, amountMinor, takenMinor, returnedMinor, answers } = made;
  const isAccepted = row.responses.some((one) => one.type === "ACCEPT" && one.status !== "REFUSED");
  const known = row.status === "ACCEPTED" && isAccepted ? "LOST" : row.status;
  if (row.stage !== stage || known !== status)
    return `is ${stage} ${status} at the gateway, and ${row.stage} ${row.status} here`;
  if (row.amount_minor !== amountMinor)
    return `is over ${amountMinor} at the gateway, and over ${row.amount_minor} here`;
  const sumOf = (type: string) =>
    row.movements.reduce((sum, one) => sum + (one.type === type ? one.amount_minor : 0), 0);
  if (sumOf("CHARGEBACK") !== takenMinor || sumOf("CHARGEBACK_REVERSED") !== returnedMinor)
    return `has taken ${takenMinor} and returned ${returnedMinor} at the gateway, and other movements here`;
  const lost = answers.find(({ key }) =>
    row.responses.some((one) => one.status === "REFUSED" && encodeId("rsp", one.id) === key),
  );
  return lost ? "was answered at the gateway, and the answer counts as refused here" : undefined;
}
