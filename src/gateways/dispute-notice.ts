/** The reports of a gateway about a dispute. */

/** The events of a dispute, in the gateways' common terms. `remark` changes nothing. */
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

/** The content of a notification about a dispute. If a gateway signs only the event, the rest is for display. */
export type DisputeNotice = {
  readonly event: DisputeEvent;
  /** The card network's code of the reason, and its name of the network. */
  readonly reasonCode?: string | undefined;
  readonly network?: string | undefined;
  /** RFC 3339 in UTC. */
  readonly respondBy?: string | undefined;
};
