/** Why a sign-in by a company's identity provider failed, as the page explains it. */
export const refusalReasons = [
  "expired",
  "refused",
  "unavailable",
  "unknown_account",
  "address_taken",
  "linked_elsewhere",
  "invitation_gone",
  "other_address",
  "other_account",
  "not_fresh",
  "signed_out",
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export class CompanyRefusal extends Error {
  override readonly name = "CompanyRefusal";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, options?: ErrorOptions) {
    super(`the sign-in by a company was refused: ${reason}`, options);
    this.reason = reason;
  }
}
