/** Stored cards and agreements as the REST API writes them. A test compares these types with the schemas. */
import type { AgreementTerms } from "./payment-session.ts";

/** A stored card of one customer. */
export type PaymentMethod = {
  readonly paymentMethodId: string;
  readonly customerRef: string;
  readonly card: {
    readonly brand: string;
    readonly last4: string;
    /** 1 to 12. */
    readonly expMonth: number;
    readonly expYear: number;
  };
  /** The card's last month is over; some banks approve it all the same. */
  readonly expired: boolean;
  /** STOPPED: no further try of it is allowed, until its number is stored again. */
  readonly status: "ACTIVE" | "STOPPED";
  readonly stoppedBecause?: string;
  readonly createdAt: string;
  /** The time of its last approved payment. */
  readonly lastUsedAt?: string;
};

/** Filters of a list; without any, it holds all stored cards. */
export type PaymentMethodFilters = {
  readonly customerRef?: string | undefined;
  /** Selects only cards whose last month ends before this time. */
  readonly expiresBefore?: Date | undefined;
  /** 1 to 100; 20 when not given. */
  readonly pageSize?: number | undefined;
};

/** A page, newest first. */
export type PaymentMethodPage = {
  readonly paymentMethods: readonly PaymentMethod[];
  /** Absent on the last page. */
  readonly nextPageToken?: string;
};

/** A customer's agreement, and its charges. */
export type Agreement = {
  readonly agreementId: string;
  /** Present until the customer's data is erased. */
  readonly customerRef?: string;
  /** The card that is charged. */
  readonly paymentMethodId?: string;
  readonly terms: AgreementTerms;
  readonly currency: string;
  readonly consentedAt: string;
  readonly status: "ACTIVE" | "NEEDS_CARD" | "CANCELLED" | "ENDED";
  /** The reason of a status that is not ACTIVE. */
  readonly statusBecause?: string;
  /** Your gateways, and why one cannot charge it; empty in lists. */
  readonly gateways: readonly { readonly connectionId: string; readonly gateway: string; readonly because?: string }[];
  /** The charges, newest first, at most 100; empty in lists. */
  readonly renewals: readonly {
    readonly renewalRef: string;
    /** The session of the last try. */
    readonly sessionId?: string;
    readonly paidSessionId?: string;
    readonly tries: number;
  }[];
};

/** Filters of a list; without any, it holds all agreements. */
export type AgreementFilters = {
  readonly customerRef?: string | undefined;
  /** 1 to 100; 20 when not given. */
  readonly pageSize?: number | undefined;
};

/** A page, newest first. */
export type AgreementPage = {
  readonly agreements: readonly Agreement[];
  /** Absent on the last page. */
  readonly nextPageToken?: string;
};

/**
 * A session that stores a card without a payment: of a customer's card, with or without an agreement that it begins, or of another card for an
 * agreement, whose customer, currency and terms it has.
 */
export type NewSetup =
  | {
      /** Your reference of the signed-in customer. */
      readonly customerRef: string;
      /** ISO 4217, such as EUR: of later charges. */
      readonly currency: string;
      readonly saveCard?: { readonly agreement?: AgreementTerms | undefined } | undefined;
    }
  | { readonly agreementId: string };

/** A charge of an agreement, without the customer. */
export type NewCharge = {
  readonly amountMinor: number;
  /** ISO 4217, such as EUR. */
  readonly currency: string;
  readonly orderRef: string;
  /** Your reference of the charge, which is paid once at most. The default is `orderRef`. */
  readonly renewalRef?: string | undefined;
  /** The text for the customer's card statement: 5 to 22 characters. */
  readonly statementDescriptor?: string | undefined;
  /** Your own data about the order: at most 20 keys. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
};

/** The unpaid charge of an agreement that a link asks the customer to pay. */
export type NewRecoveryLink = {
  /** The charge's first link fixes it, with the currency and `orderRef`. */
  readonly amountMinor: number;
  /** ISO 4217, such as EUR. */
  readonly currency: string;
  readonly orderRef: string;
  /** Your reference of the charge, as in its tries. The default is `orderRef`. */
  readonly renewalRef?: string | undefined;
  /** Your page to which the customer goes back after the payment: an https address. */
  readonly returnTo?: string | undefined;
  /** 1 to 720; 168 when not given. */
  readonly expiresInHours?: number | undefined;
};

/** A link to the service's page on which the customer pays. */
export type RecoveryLink = {
  readonly url: string;
  /** RFC 3339. */
  readonly expiresAt: string;
};
