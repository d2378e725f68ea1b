/** The stored-card part of a gateway's request, and the part of its answer that is recorded. */
import type { AttemptAtGateway } from "../../gateways/connector.ts";
import type { ChallengeMandate, StoredAnswer, StoredCardUse, StoredPurpose } from "../../gateways/stored-cards.ts";
import type { Statement, Tx } from "../../platform/database.ts";
import type { Core } from "../core.ts";
import { usable } from "../record/payment-functions.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { pseudonymOf } from "./load-stored.ts";
import { chainAt } from "./renewals/plan-renewal.ts";
import type { AgreementTerms, AgreementType, StoredPayment } from "./stored-rows.ts";

const purposes = {
  RECURRING: "recurring",
  UNSCHEDULED: "unscheduled",
  INSTALMENT: "instalment",
} as const satisfies Record<AgreementType, StoredPurpose>;

/** Returns the mandate for which the bank has to challenge the customer; undefined if the payment begins none. */
export function mandateOf(stored: StoredPayment | undefined): ChallengeMandate | undefined {
  if (stored?.terms) return { purpose: purposes[stored.terms.type], terms: termsForGateway(stored.terms) };
  return stored?.role === "SETUP" ? { purpose: "customer" } : undefined;
}

/** Returns the stored-card part of an attempt's request; undefined if the card is neither stored nor will be. */
export function gatewayUse(
  { sealing, connectorOf }: Pick<Core, "sealing" | "connectorOf">,
  stored: StoredPayment,
  attempt: Pick<Attempt, "connectionId" | "gateway">,
): StoredCardUse | undefined {
  const { merchantId, customerRef, saving, terms, openedTokenHash, role, renewal } = stored;
  if (customerRef == null) return undefined;
  const customer = pseudonymOf(sealing, { merchantId, customerRef });
  if (role === "RENEWAL") {
    const chain = chainAt(attempt, stored, connectorOf(attempt.gateway)?.storedCards);
    return chain && renewal ? { type: "renewal", customer, purpose: purposes[renewal.type], chain } : undefined;
  }
  // This holds also once the card is stored: a hold whose answer was lost is voided by the request that made it.
  const saves = saving != null && saving !== "NOT_WANTED";
  if (saves && terms) return { type: "save", customer, purpose: purposes[terms.type], terms: termsForGateway(terms) };
  if (openedTokenHash != null) return { type: "customer", customer };
  return saves ? { type: "save", customer, purpose: "customer" } : undefined;
}

/**
 * Returns the stored-card part of a void. The chain of a payment that stores its card is that of its winner, or of its
 * hold, so a card that the gateway has attached with any other attempt is erased there.
 */
export function voidedUse(
  core: Parameters<typeof gatewayUse>[0],
  {
    session,
    stored,
  }: { readonly session: Pick<PaymentSession, "winnerAttemptId" | "heldAt">; readonly stored: StoredPayment },
  attempt: Pick<Attempt, "id" | "connectionId" | "gateway">,
): Pick<AttemptAtGateway, "storedCard" | "forgetsCard"> {
  const storedCard = gatewayUse(core, stored, attempt);
  const isChain = session.winnerAttemptId === attempt.id || session.heldAt != null;
  return { storedCard, ...(storedCard?.type === "save" && !isChain && { forgetsCard: true }) };
}

function termsForGateway({ everyDays, endsOn, instalments }: AgreementTerms) {
  return { everyDays, endsOn: endsOn === undefined ? undefined : new Date(endsOn), instalments };
}

const beginChainStatement: Statement = {
  name: "begin_chain",
  partitionKey: 1,
  text: "SELECT p.session_id FROM app.begin_chain($1, $2, $3, $4, $5, $6, $7) p",
};

/** Records the chain that a hold begins: its name at the network, and the gateway's own. */
export function beginChain(
  tx: Tx,
  { session }: Pick<Payment, "session">,
  { sessionId, connectionId }: Attempt,
  hold: {
    readonly networkTransactionId?: string | undefined;
    readonly stored?: StoredAnswer | undefined;
    readonly brand?: string | undefined;
  },
): void {
  const { own, network } = hold.stored ?? {};
  const transactionId = usable(network?.transactionId ?? hold.networkTransactionId);
  const ofGateway = own ? [connectionId, own.customer, own.method] : [null, null, null];
  const values = [hold.brand ?? session.cardBrand, transactionId, usable(network?.linkId), ...ofGateway];
  tx.send(beginChainStatement, [sessionId, ...values]);
}
