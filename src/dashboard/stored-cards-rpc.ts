/** The stored cards and agreements of a merchant's customers: proto ↔ core. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  StoredAgreementSchema,
  StoredCardSchema,
  StoredCardService,
  StoredRenewalSchema,
} from "../../gen/dashboard/v1/stored_cards_pb.ts";
import { AgreementTerms_Type, PaymentSession_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { Agreement_Status } from "../../gen/payments/v1/stored_card_pb.ts";
import { cancelAgreementIn, findAgreement } from "../core/stored-cards/agreements.ts";
import { deleteMethodIn, findMethod, liftStop, type MethodWithState } from "../core/stored-cards/payment-methods.ts";
import { isExpired } from "../core/stored-cards/shown-state.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import {
  loadStoredCards,
  type ShownAgreement,
  type ShownCard,
  type ShownRenewal,
} from "../reporting/customer-cards.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { amountMessage } from "./payment-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

export function createStoredCardService({ runtime }: DashboardParts): ServiceImpl<typeof StoredCardService> {
  return {
    async getStoredCards({ customerRef }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { database, core } = environment;
      const { cards, agreements } = await loadStoredCards(database, core, { merchantId, customerRef });
      const now = runtime.now();
      return { cards: cards.map((card) => cardMessage(card, now)), agreements: agreements.map(agreementMessage) };
    },

    async deleteStoredCard({ paymentMethodId, reason }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const methodId = requireId("pm", paymentMethodId, "stored card");
      await rpcContext.changeEnvironment(environment, async (tx) => {
        const method = await findMethod(tx, { merchantId, methodId });
        const needCard = await deleteMethodIn(tx, environment.core, { merchantId, methodId });
        if (method === undefined || needCard === undefined) throw noSuchCard();
        const agreements = needCard.map((id) => encodeId("agr", id));
        const after = { reason, ...(agreements.length > 0 && { agreementsWithoutCard: agreements }) };
        await rpcContext.audit(tx, { subject: paymentMethodId, before: auditedCard(method), after });
      });
      return {};
    },

    async cancelStoredAgreement({ agreementId: named, reason }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const agreementId = requireId("agr", named, "agreement");
      await rpcContext.changeEnvironment(environment, async (tx) => {
        const found = await findAgreement({ ...environment.core, database: tx }, { merchantId, agreementId });
        if (found === undefined) throw new DomainError("not_found", "There is no such agreement.");
        const { status } = found.agreement;
        if (!(await cancelAgreementIn(tx, environment.core, { merchantId, agreementId }, "merchant"))) {
          throw new DomainError("state_conflict", "The agreement has ended before.");
        }
        await rpcContext.audit(tx, { subject: named, before: { status }, after: { status: "CANCELLED", reason } });
      });
      return {};
    },

    async liftCardStop({ paymentMethodId, reason }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const methodId = requireId("pm", paymentMethodId, "stored card");
      return rpcContext.changeEnvironment(environment, async (tx) => {
        const method = await findMethod(tx, { merchantId, methodId });
        if (method === undefined) throw noSuchCard();
        const stoppedBecause = await liftStop(tx, { merchantId, methodId });
        if (stoppedBecause === undefined) throw notStopped(method);
        const before = { ...auditedCard(method), stoppedBecause };
        await rpcContext.audit(tx, { subject: paymentMethodId, before, after: { ...auditedCard(method), reason } });
        return { stoppedBecause };
      });
    },
  };
}

function noSuchCard(): DomainError {
  return new DomainError("not_found", "There is no such stored card.");
}

function notStopped({ stopped }: MethodWithState): DomainError {
  if (stopped === null) return new DomainError("state_conflict", "The card is not stopped.");
  const lost = "The vault has lost the card, so nothing can lift its stop. Its customer has to enter it again.";
  return new DomainError("state_conflict", lost);
}

/** Returns a card for the audit trail, without the fields that could reveal the customer. */
function auditedCard({ brand, last4, expMonth, expYear }: MethodWithState) {
  return { cardBrand: brand, cardLast4: last4, expires: `${String(expMonth).padStart(2, "0")}/${expYear}` };
}

function cardMessage(card: ShownCard, now: Date): MessageInitShape<typeof StoredCardSchema> {
  const { id, brand, last4, expMonth, expYear, stopped, stoppedAt, notBefore, hidden, createdAt, lastUsedAt } = card;
  return {
    paymentMethodId: encodeId("pm", id),
    card: { brand, last4, expMonth, expYear },
    expired: isExpired(card, now),
    stoppedBecause: stopped ?? "",
    ...(stoppedAt && { stoppedAt: timestampFromDate(stoppedAt) }),
    ...(notBefore && { notBefore: timestampFromDate(notBefore) }),
    hidden,
    createdAt: timestampFromDate(createdAt),
    ...(lastUsedAt && { lastUsedAt: timestampFromDate(lastUsedAt) }),
  };
}

function agreementMessage({
  agreement,
  gateways,
  renewals,
}: ShownAgreement): MessageInitShape<typeof StoredAgreementSchema> {
  const { methodId, type, text, currency, everyDays, endsOn, instalments, maxAmountMinor, endedAt } = agreement;
  return {
    agreementId: encodeId("agr", agreement.id),
    paymentMethodId: methodId == null ? "" : encodeId("pm", methodId),
    terms: {
      type: AgreementTerms_Type[type],
      text,
      ...(everyDays != null && { everyDays }),
      ...(endsOn != null && { endsOn }),
      ...(instalments != null && { instalments }),
    },
    ...(maxAmountMinor != null && { maxAmount: amountMessage(maxAmountMinor, currency) }),
    currency,
    status: Agreement_Status[agreement.status],
    statusBecause: agreement.statusBecause ?? "",
    consentedAt: timestampFromDate(agreement.consentedAt),
    ...(endedAt && { endedAt: timestampFromDate(endedAt) }),
    sessionId: encodeId("ps", agreement.sessionId),
    gateways: gateways.map(({ connectionId, gateway, because }) => ({
      connectionId: encodeId("gc", connectionId),
      gateway,
      ...(because !== undefined && { because }),
    })),
    renewals: renewals.map(renewalMessage),
    renewalCount: renewals[0]?.total ?? 0,
  };
}

function renewalMessage(renewal: ShownRenewal): MessageInitShape<typeof StoredRenewalSchema> {
  const { renewalRef, tries, sessionId, isPaid, customerNeeded, createdAt, amountMinor, currency, status } = renewal;
  return {
    renewalRef: shownOrderRef(renewalRef),
    tries,
    customerNeeded,
    sessionId: sessionId === null ? "" : encodeId("ps", sessionId),
    paid: isPaid,
    createdAt: timestampFromDate(createdAt),
    ...(amountMinor !== null && currency !== null && { amount: amountMessage(amountMinor, currency) }),
    ...(status !== null && { status: PaymentSession_Status[status] }),
  };
}
