/** Stored cards and agreements as their tables have them. The columns and their rules are in src/migrations/environment/stored-cards.sql. */

import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { columnsOf } from "../../platform/columns.ts";
import type { AgreementId, ConnectionId, MerchantId, MethodId, SessionId } from "../../platform/ids.ts";
import type { Refusal } from "./renewals/refusals.ts";

export type AgreementType = "RECURRING" | "UNSCHEDULED" | "INSTALMENT";

/**
 * The terms that a customer agrees to. Only UNSCHEDULED may lack `everyDays` and `endsOn`, and only INSTALMENT has
 * `instalments`.
 */
export type AgreementTerms = {
  readonly type: AgreementType;
  readonly text: string;
  /** The least number of days between two charges, as sent to the customer's bank. */
  readonly everyDays?: number | undefined;
  /** The last day of a charge, such as `2031-12-31`. */
  readonly endsOn?: string | undefined;
  readonly instalments?: number | undefined;
  /** The highest amount of one charge, in minor units. */
  readonly maxAmountMinor?: number | undefined;
};

/** The role of a stored card in a payment; the SQL column's comment describes each. */
export type StoredRole = "SAVE" | "CUSTOMER" | "RENEWAL" | "RECOVERY" | "SETUP";

// The networks and gateways need this about the payment that began an agreement.
const chain = {
  network: p.text().nullable(),
  networkTransactionId: p.text().nullable(),
  networkDate: p.text().nullable(),
  linkId: p.text().nullable(),
  dsTransId: p.text().nullable(),
  ownConnectionId: p.uuid().nullable(),
  ownCustomer: p.text().nullable(),
  ownMethod: p.text().nullable(),
};

/** The columns of `stored_payment` that the flow reads. The sealed ones are loaded where they are needed. */
export const StoredPaymentEntity = defineEntity({
  name: "StoredPayment",
  tableName: "stored_payment",
  properties: {
    sessionId: p.uuid().primary(),
    merchantId: p.uuid(),
    customerRef: p.text().nullable(),
    role: p.text().$type<StoredRole>(),
    securityCode: p.text().$type<"required" | "skip">(),
    terms: p.json<AgreementTerms>().nullable(),
    agreementId: p.uuid().nullable(),
    renewalRef: p.text().nullable(),
    try: p.integer().nullable(),
    methodId: p.uuid().nullable(),
    openedTokenHash: p.blob().nullable(),
    chainVersion: p.integer().nullable(),
    ...chain,
    consentedAt: p.datetime().nullable(),
    saving: p.text().$type<"REQUESTED" | "KEPT" | "NOT_WANTED" | "DROPPED" | "FAILED">().nullable(),
  },
});

/** The columns of `payment_method`, but the sealed one. */
export const PaymentMethodEntity = defineEntity({
  name: "PaymentMethod",
  tableName: "payment_method",
  properties: {
    id: p.uuid().primary(),
    merchantId: p.uuid(),
    customerRef: p.text(),
    brand: p.text(),
    last4: p.text(),
    expMonth: p.smallint(),
    expYear: p.smallint(),
    fingerprint: p.uuid(),
    stoppedBecause: p.text().nullable(),
    createdAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
  },
});

/** The columns of `agreement`. */
export const AgreementEntity = defineEntity({
  name: "Agreement",
  tableName: "agreement",
  properties: {
    id: p.uuid().primary(),
    merchantId: p.uuid(),
    customerRef: p.text().nullable(),
    methodId: p.uuid().nullable(),
    type: p.text().$type<AgreementType>(),
    text: p.text(),
    currency: p.text(),
    everyDays: p.integer().nullable(),
    endsOn: p.text().nullable(),
    instalments: p.integer().nullable(),
    maxAmountMinor: p.bigint("number").nullable(),
    status: p.text().$type<"ACTIVE" | "NEEDS_CARD" | "CANCELLED" | "ENDED">(),
    statusBecause: p.text().nullable(),
    sessionId: p.uuid(),
    consentedAt: p.datetime(),
    chainVersion: p.integer(),
    ...chain,
    createdAt: p.datetime(),
    endedAt: p.datetime().nullable(),
  },
});

/** Returns the select list of one of these entities: its days are texts. */
export function storedColumns(entity: { readonly properties: object }, alias: string): string {
  return columnsOf(entity, alias).replaceAll(/\w+\.(?:ends_on|network_date) AS/g, (column) =>
    column.replace(" AS", "::text AS"),
  );
}

type Ids = {
  merchantId: MerchantId;
  sessionId: SessionId;
  methodId: MethodId;
  agreementId: AgreementId;
  ownConnectionId: ConnectionId;
};
type WithIds<Row, Own> = {
  [Name in keyof Row]: Name extends keyof Own ? Own[Name] | Exclude<Row[Name], string> : Row[Name];
};

/** A payment's use of a stored card, or its order to store one. */
export type StoredPayment = WithIds<InferEntity<typeof StoredPaymentEntity>, Ids> & {
  /** Present for a charge of an agreement, as `loadStored` returns it. */
  readonly renewal?: RenewalState | null | undefined;
};

/** The state of the renewal that a session was made for. `refusal`: why it cannot be tried now; only of a session that has ended unpaid. */
type RenewalState = {
  readonly type: AgreementType;
  readonly tries: number;
  readonly refusal: Refusal | null;
};

export type PaymentMethod = WithIds<InferEntity<typeof PaymentMethodEntity>, Ids & { id: MethodId }>;
export type Agreement = WithIds<InferEntity<typeof AgreementEntity>, Ids & { id: AgreementId }>;
