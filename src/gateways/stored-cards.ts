/** What gateways are told about a card that is stored or will be, and what they answer. */

/** What a payment does with a card that is stored, or will be. `customer` names the customer to the gateway: 32 hexadecimal digits. */
export type StoredCardUse =
  | {
      readonly type: "save";
      readonly customer: string;
      readonly purpose: StoredPurpose;
      readonly terms?: AgreementTerms | undefined;
    }
  | { readonly type: "customer"; readonly customer: string }
  | {
      readonly type: "renewal";
      readonly customer: string;
      readonly purpose: Exclude<StoredPurpose, "customer">;
      readonly chain: Chain;
    };

/** What a card is stored for: payments that its customer makes, or charges without the customer. */
export type StoredPurpose = "customer" | "recurring" | "unscheduled" | "instalment";

/** Of an agreement: the days between charges, its last day, and the number of instalments. */
export type AgreementTerms = {
  readonly everyDays?: number | undefined;
  readonly endsOn?: Date | undefined;
  readonly instalments?: number | undefined;
};

/** The payment that began an agreement: as the gateway keeps it, or as the card network names it. */
export type Chain =
  | { readonly type: "own"; readonly customer: string; readonly method: string }
  | {
      readonly type: "network";
      readonly transactionId: string;
      readonly network?: string | undefined;
      readonly date?: Date | undefined;
      readonly linkId?: string | undefined;
    };

/** What a gateway answered about a chain that a hold begins or continues. */
export type StoredAnswer = {
  readonly own?: { readonly customer: string; readonly method: string } | undefined;
  readonly network?: { readonly transactionId: string; readonly linkId?: string | undefined } | undefined;
};
