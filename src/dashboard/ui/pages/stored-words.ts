/** The words for a customer's stored cards and agreements, and for the next step of an unpaid renewal. */
import type { PaymentChain } from "../../../../gen/dashboard/v1/payments_pb.ts";
import type { StoredRenewal } from "../../../../gen/dashboard/v1/stored_cards_pb.ts";
import {
  type AgreementTerms,
  PaymentSession_Status as Session,
  AgreementTerms_Type as Type,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Agreement_Status as Status } from "../../../../gen/payments/v1/stored_card_pb.ts";
import { nameOfBrand } from "../parts/card-brand.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { dayInWords } from "../parts/numbers.ts";

type Face = { readonly name: string; readonly tone?: "good" | "warn" | "bad" };

// Reasons of the service itself; the others are codes of declines.
const reasons: Readonly<Record<string, string>> = {
  card_deleted: "Its card was deleted.",
  card_lost: "The vault has lost the card. The customer has to enter it again.",
  card_not_stored: "The card could not be stored.",
  merchant: "You cancelled it.",
  card_expired: "The card has expired.",
};

/** Returns why an agreement cannot be charged, in a sentence. */
export function reasonInWords(because: string): string {
  return reasons[because] ?? `The last charge was declined: ${because.replaceAll("_", " ")}.`;
}

/** Returns why a card is stopped, in a sentence. */
export function stopInWords(because: string): string {
  if (because === "card_lost") return reasons.card_lost!;
  return `The bank or the card network has stopped it: ${because.replaceAll("_", " ")}.`;
}

const agreementFaces: Readonly<Record<number, Face>> = {
  [Status.ACTIVE]: { name: "Active", tone: "good" },
  [Status.NEEDS_CARD]: { name: "Needs a card", tone: "warn" },
  [Status.CANCELLED]: { name: "Cancelled" },
  [Status.ENDED]: { name: "Ended" },
};

export function faceOfAgreement(status: Status): Face {
  return agreementFaces[status] ?? { name: "–" };
}

export function faceOfRenewal({ paid, customerNeeded, status, sessionId }: StoredRenewal): Face {
  if (paid) return { name: "Paid", tone: "good" };
  if (status === Session.CREATED) return { name: "Processing", tone: "warn" };
  if (customerNeeded) return { name: "Customer needed", tone: "warn" };
  return sessionId === "" ? { name: "Not charged" } : { name: "Unpaid", tone: "bad" };
}

const kinds: Readonly<Record<number, string>> = {
  [Type.RECURRING]: "Recurring",
  [Type.UNSCHEDULED]: "At no fixed time",
  [Type.INSTALMENT]: "Instalments",
};

/** Returns the terms besides their text: `Recurring, at least 28 days apart, until 31 Dec 2031`. */
export function termsInWords({ type, everyDays, endsOn, instalments }: AgreementTerms): string {
  const kind = instalments === undefined ? (kinds[type] ?? "") : `${instalments} instalments`;
  const apart = everyDays === undefined ? [] : [`at least ${everyDays === 1 ? "a day" : `${everyDays} days`} apart`];
  return [kind, ...apart, ...(endsOn === undefined ? [] : [`until ${dayInWords(endsOn)}`])].join(", ");
}

/** Returns `03/2031`. */
export function expiryOf({ expMonth, expYear }: { readonly expMonth: number; readonly expYear: number }): string {
  return `${String(expMonth).padStart(2, "0")}/${expYear}`;
}

/** Returns how a network and a gateway know an agreement again, in a sentence. */
export function chainInWords({
  network,
  networkTransactionId,
  networkDate,
  ownConnectionId,
  ownGateway,
}: PaymentChain) {
  const day = networkDate === "" ? "" : ` of ${dayInWords(networkDate)}`;
  const byNetwork = `${nameOfBrand(network) || "the network"}’s transaction ${networkTransactionId}${day}`;
  const own = `${nameOfGateway(ownGateway) || "a removed gateway"}’s own record`;
  if (ownConnectionId === "") return `By ${byNetwork}.`;
  return networkTransactionId === "" ? `By ${own} alone.` : `By ${own}, or by ${byNetwork}.`;
}

type Retry = {
  readonly allowed: boolean;
  readonly triesLeft: number;
  readonly customerNeeded: boolean;
  readonly because: string;
};

/** Returns what can be done about an unpaid renewal. `from`: when it can be tried again, in words; undefined if that is at once. */
export function retryInWords({ allowed, triesLeft, customerNeeded, because }: Retry, from: string | undefined): string {
  const left = triesLeft === 1 ? "1 try left" : `${triesLeft} tries left`;
  if (allowed && from === undefined) return `Can be tried again now; ${left}.`;
  if (allowed) return `Can be tried again from ${from}; ${left}. ${because}`;
  return customerNeeded ? `Only the customer can pay it. ${because}` : `Cannot be tried again. ${because}`;
}

const savings: readonly string[] = [
  "",
  "Being stored, once the payment is approved",
  "Stored",
  "Not stored: the customer did not want it, or paid with a stored card",
  "Not stored: the payment was not approved, or the vault could not keep the card",
];

/** Returns the state of storing a payment's card. */
export function savingInWords(status: number): string {
  return savings[status] ?? "";
}
