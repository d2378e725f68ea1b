/** The promises of docs/settlement.md as a program checks them, after every step of a run and at its end. PURE. */
import type { Observed } from "./observed.ts";
import type { MadeLine } from "./simulated-statements.ts";

export type SettlementMoment = { readonly observed: Observed; readonly linesMade: readonly MadeLine[] };

/** Returns the first promise about settlement that is broken now. */
export function findSettlementViolation({ observed: { lines } }: SettlementMoment): string | undefined {
  const ids = lines.map(({ line_id }) => line_id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) return `${twice} is stored twice`;
  const paid = lines.flatMap(({ status, entry }) => (status === "MATCHED" ? [entry] : []));
  const again = paid.find((entry, index) => paid.indexOf(entry) !== index);
  return again && `${again} is paid by two lines`;
}

/** Returns the promise about settlement that is broken once faults have stopped and time has passed. */
export function findUnsettled({
  observed: { lines, payouts, session, disputes },
  linesMade,
  referenceOf,
}: SettlementMoment & { readonly referenceOf: (attemptId: string) => string }): string | undefined {
  const keyOf = ({ line: { kind, gatewayReference } }: MadeLine) => `${kind} ${gatewayReference}`;
  const rowOf = ({ line: { lineId } }: MadeLine) => lines.find(({ line_id }) => line_id === lineId);
  for (const made of linesMade) {
    const row = rowOf(made);
    if (row === undefined) return `${made.line.lineId} is not known here`;
    if (made.hasPayout && !row.in_payout) return `${made.line.lineId} is in no payout here`;
    const isOurs =
      session.winner_attempt_id !== null && made.attemptReference === referenceOf(session.winner_attempt_id);
    // A refund whose money came back is found within a day.
    if (!isOurs || made.line.kind === "REFUND_FAILED") continue;
    const alike = linesMade.filter((one) => keyOf(one) === keyOf(made));
    const moved = alike.filter(({ isCopy }) => !isCopy).length;
    const matched = alike.filter((one) => rowOf(one)?.status === "MATCHED").length;
    const { kind, gatewayReference } = made.line;
    const dispute = disputes.find((one) => one.gateway_reference === gatewayReference && one.stage !== "FRAUD_WARNING");
    // Two chargebacks between two readings are one movement here.
    const isOne = dispute && dispute.movements.filter(({ type }) => type === kind).length < moved;
    if (matched !== moved && !isOne)
      return `${keyOf(made)} moved ${moved} times, and is paid ${matched} times (${row.reason})`;
  }
  const wrong = payouts.find(({ remainder_minor }) => remainder_minor !== 0);
  return wrong && `${wrong.remainder_minor ?? "an unknown part"} of a payout is not explained`;
}
