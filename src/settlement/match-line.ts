/** Decides which movement of the ledger a line of a gateway's statement is. PURE. */
import type { LineKind, StatementLine } from "../gateways/statements.ts";
import { unreachable } from "../platform/errors.ts";
import type { SessionId } from "../platform/ids.ts";

export type EntryType = "CAPTURED" | "REFUNDED" | "REFUND_FAILED" | "CHARGEBACK" | "CHARGEBACK_REVERSED";

/** A movement that a line names, by reference. */
export type Entry = {
  readonly sessionId: SessionId;
  readonly type: EntryType;
  readonly id: string;
  readonly ordinal: number;
  /** Never negative. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly at: Date;
  /** True if another line pays it. */
  readonly isPaid: boolean;
};

/** The database's entries for the payment that a line names. */
export type Named = {
  /** Absent if no payment here has the names. */
  readonly sessionId?: SessionId | undefined;
  /** True if the line carries a name that only we give: the payment was, or will be, here. */
  readonly hasOurName: boolean;
  readonly entries: readonly Entry[];
};

type UnmatchedReason = "not_ours" | "not_found" | "already_paid" | "amount_differs" | "unknown_type" | "unreadable";

export type LineMatch =
  | { readonly status: "MATCHED"; readonly entry: Entry }
  | { readonly status: "ACCOUNT" }
  | { readonly status: "UNMATCHED"; readonly reason: UnmatchedReason; readonly sessionId?: SessionId | undefined };

/** Returns the type of the movement that a kind of line pays; undefined if it concerns the account alone. */
export function entryTypeOf(kind: LineKind): EntryType | "account" | "unknown" {
  switch (kind) {
    case "CAPTURE":
      return "CAPTURED";
    case "REFUND":
      return "REFUNDED";
    case "REFUND_FAILED":
    case "CHARGEBACK":
    case "CHARGEBACK_REVERSED":
      return kind;
    case "FEE":
    case "RESERVE":
    case "CONVERSION":
    case "ADJUSTMENT":
    case "PAYOUT":
      return "account";
    case "OTHER":
      return "unknown";
    default:
      return unreachable(kind);
  }
}

const isTaken = (type: EntryType) => type === "REFUNDED" || type === "CHARGEBACK";

/** Matches one line, by reference, exact amount and currency: never by amount and date. */
function matchLine(line: StatementLine, { sessionId, hasOurName, entries }: Named): LineMatch {
  const { kind, gross, settled } = line;
  const unmatched = (reason: UnmatchedReason) =>
    ({ status: "UNMATCHED", reason, ...(sessionId && { sessionId }) }) as const;
  if (gross === undefined || settled === undefined || settled.grossMinor - settled.feeMinor !== settled.netMinor) {
    return unmatched("unreadable");
  }
  const type = entryTypeOf(kind);
  if (type === "account") return { status: "ACCOUNT" };
  if (type === "unknown") return unmatched("unknown_type");
  const named = entries.filter((entry) => entry.type === type);
  if (named.length === 0) return unmatched(sessionId || hasOurName ? "not_found" : "not_ours");
  const exact = named.filter(
    ({ amountMinor, currency }) =>
      currency === gross.currency && (isTaken(type) ? -amountMinor : amountMinor) === gross.amountMinor,
  );
  // rule:movement-once
  const [open] = exact.filter(({ isPaid }) => !isPaid);
  if (open) return { status: "MATCHED", entry: open };
  return unmatched(exact.length > 0 ? "already_paid" : "amount_differs");
}

const keyOf = ({ sessionId, type, id, ordinal }: Entry) => `${sessionId} ${type} ${id} ${ordinal}`;

/** Matches the lines of one reading in their order: no two of them pay one movement. */
export function matchLines(lines: readonly StatementLine[], named: readonly Named[]): readonly LineMatch[] {
  const paid = new Set<string>();
  return lines.map((line, place) => {
    const { entries, ...found } = named[place]!;
    const match = matchLine(line, {
      ...found,
      entries: entries.map((entry) => ({ ...entry, isPaid: entry.isPaid || paid.has(keyOf(entry)) })),
    });
    if (match.status === "MATCHED") paid.add(keyOf(match.entry));
    return match;
  });
}
