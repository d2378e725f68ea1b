/** Why a sign-in by a company's identity provider failed, as the page explains it. */
type RefusalReason =
  | "expired"
  | "refused"
  | "unavailable"
  | "unknown_account"
  | "address_taken"
  | "linked_elsewhere"
  | "invitation_gone"
  | "other_address"
  | "other_account"
  | "not_fresh"
  | "signed_out";

export class CompanyRefusal extends Error {
  override readonly name = "CompanyRefusal";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, options?: ErrorOptions) {
    super(`the sign-in by a company was refused: ${reason}`, options);
    this.reason = reason;
  }
}
