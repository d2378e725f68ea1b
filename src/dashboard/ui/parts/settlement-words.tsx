/** The names of payouts, lines of statements and open movements, and a person's next step for each. */
import { LedgerEntry_Type as Type } from "../../../../gen/payments/v1/ledger_pb.ts";
import {
  PayoutLine_Kind as Kind,
  PayoutLine_Status as LineStatus,
  Payout_Status as PayoutStatus,
} from "../../../../gen/payments/v1/settlement_pb.ts";

type Tone = "good" | "warn" | "bad";
type Words = { readonly name: string; readonly next: string; readonly tone: Tone | undefined };

/** Why no statement has a movement, in the order in which a person should look at them. */
const openReasons: Readonly<Record<string, Words>> = {
  overdue: {
    name: "Overdue",
    next: "The usual time has passed. Ask the gateway when it pays them out, with the gateway’s reference.",
    tone: "bad",
  },
  amount_differs: {
    name: "Listed with another amount",
    next: "A line of the statement has another amount. Compare the two, and ask the gateway for the difference.",
    tone: "bad",
  },
  report_missing: {
    name: "A report is missing",
    next: "Have the gateway make the missing settlement report again. It is read as soon as the gateway announces it.",
    tone: "bad",
  },
  feed_blocked: {
    name: "Statements refused",
    next: "The gateway does not let its statements be read. Correct the credentials or their rights on the page Gateways.",
    tone: "bad",
  },
  no_feed: {
    name: "Statements not read yet",
    next: "The statements of the account have not been read. If this lasts for a day, check the credentials on the page Gateways.",
    tone: "warn",
  },
  capture_unconfirmed: {
    name: "Capture not confirmed",
    next: "The gateway has accepted the capture and not confirmed it. After three days, look at the payment.",
    tone: "warn",
  },
  not_due: { name: "Not due yet", next: "Nothing to do: the gateway usually takes this long.", tone: undefined },
};

/** Why a line of a statement is no movement of a payment. */
const lineReasons: Readonly<Record<string, Words>> = {
  amount_differs: {
    name: "Another amount",
    next: "The payment has another amount. Compare the two, and ask the gateway for the difference.",
    tone: "bad",
  },
  already_paid: {
    name: "Paid before",
    next: "Another line has paid the same movement. Ask the gateway whether it paid twice.",
    tone: "bad",
  },
  unreadable: {
    name: "Amounts do not add up",
    next: "Look at the line in the gateway’s own statement, and book it by hand.",
    tone: "bad",
  },
  unknown_type: {
    name: "Unknown type of line",
    next: "Look up the type in the gateway’s documentation, and book the line by hand.",
    tone: "warn",
  },
  not_found: {
    name: "Movement not found yet",
    next: "Wait: Switchyard looks for it again for 7 days. After that, look up the reference at the gateway.",
    tone: "warn",
  },
  not_ours: {
    name: "Not made through Switchyard",
    next: "Nothing to do here. Book it where the payment was made.",
    tone: undefined,
  },
};

const unknown = (reason: string): Words => ({ name: reason.replaceAll("_", " "), next: "", tone: "warn" });
export const openWords = (reason: string): Words => openReasons[reason] ?? unknown(reason);
export const lineWords = (reason: string): Words => lineReasons[reason] ?? unknown(reason);
export const openReasonNames = Object.entries(openReasons).map(([reason, { name }]) => [reason, name] as const);
export const lineReasonNames = Object.entries(lineReasons).map(([reason, { name }]) => [reason, name] as const);

/** Sorts groups by the urgency of their reasons. */
export function byUrgency<Group extends { readonly reason: string }>(groups: readonly Group[]): readonly Group[] {
  const order = [...Object.keys(openReasons), ...Object.keys(lineReasons)];
  return groups.toSorted((one, other) => order.indexOf(one.reason) - order.indexOf(other.reason));
}

export function Badge({ words }: { words: Pick<Words, "name" | "tone"> }) {
  return (
    <span className="badge" data-tone={words.tone}>
      {words.name}
    </span>
  );
}

const payoutFaces: Readonly<Record<number, Pick<Words, "name" | "tone">>> = {
  [PayoutStatus.PENDING]: { name: "Announced", tone: "warn" },
  [PayoutStatus.PAID]: { name: "Paid", tone: "good" },
  [PayoutStatus.FAILED]: { name: "Failed", tone: "bad" },
};

export function PayoutState({ status }: { status: PayoutStatus }) {
  return <Badge words={payoutFaces[status] ?? { name: "–", tone: undefined }} />;
}

const kinds: Readonly<Record<number, string>> = {
  [Kind.CAPTURE]: "Payment",
  [Kind.REFUND]: "Refund",
  [Kind.REFUND_FAILED]: "Refund returned",
  [Kind.CHARGEBACK]: "Chargeback",
  [Kind.CHARGEBACK_REVERSED]: "Chargeback reversed",
  [Kind.FEE]: "Fee of the account",
  [Kind.RESERVE]: "Reserve",
  [Kind.CONVERSION]: "Currency conversion",
  [Kind.ADJUSTMENT]: "Correction",
  [Kind.PAYOUT]: "Payout",
  [Kind.OTHER]: "Unknown",
};
export const nameOfKind = (kind: Kind): string => kinds[kind] ?? "Unknown";

const types: Readonly<Record<number, string>> = {
  [Type.CAPTURED]: "Payment",
  [Type.REFUNDED]: "Refund",
  [Type.REFUND_FAILED]: "Refund returned",
  [Type.CHARGEBACK]: "Chargeback",
  [Type.CHARGEBACK_REVERSED]: "Chargeback reversed",
};
export const nameOfType = (type: Type): string => types[type] ?? "Unknown";

export const isUnmatched = (status: LineStatus): boolean => status === LineStatus.UNMATCHED;

/** Returns an age in words: today, 1 day, 12 days. */
export function ageInWords(days: number): string {
  if (days === 0) return "less than a day";
  return days === 1 ? "1 day" : `${days.toLocaleString()} days`;
}
