/** What a gateway reports about a dispute. */

/** What may happen to a dispute, in the gateways' common terms. `remark` changes nothing. */
export type DisputeEvent =
  | "fraudReported"
  | "inquiryOpened"
  | "chargebackOpened"
  | "charged"
  | "answered"
  | "answerTimeOver"
  | "issuerSilent"
  | "returned"
  | "chargedAgain"
  | "preArbitrationOpened"
  | "preArbitrationWon"
  | "preArbitrationLost"
  | "remark";

/** What a notification says about a dispute. Where a gateway signs the event alone, the rest is only shown. */
export type DisputeNotice = {
  readonly event: DisputeEvent;
  /** The card network's code of the reason, and its name of the network. */
  readonly reasonCode?: string | undefined;
  readonly network?: string | undefined;
  /** RFC 3339 in UTC. */
  readonly respondBy?: string | undefined;
};
