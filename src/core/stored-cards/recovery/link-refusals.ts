/** The reasons why a renewal is not paid by its link, with the public errors. PURE. */
import { DomainError } from "../../../platform/errors.ts";
import { encodeId, type SessionId } from "../../../platform/ids.ts";

/** A reason of `app.link_refusal` (src/migrations/environment/recovery-links.sql). */
export type LinkRefusalReason =
  | "paid"
  | "in_progress"
  | "cancelled"
  | "ended"
  | "link_expired"
  | "link_tries"
  | "doubt";

// Raised by app.refuse_renewal.
const refusedCode = "LL007";

type Raised = { readonly code?: unknown; readonly message?: string; readonly detail?: string };

/** Returns why a renewal is refused, and the session that the reason names; undefined for any other error. */
export function refusalIn(error: unknown): { readonly reason: string; readonly other: SessionId | null } | undefined {
  const { code, message = "", detail = "{}" } = error as Raised;
  if (code !== refusedCode) return undefined;
  const { other } = JSON.parse(detail) as { other: SessionId | null };
  return { reason: message, other };
}

/** Returns the public error of a refusal that PostgreSQL has raised; any other error as it is. */
export function asRefusal(error: unknown): unknown {
  const refusal = refusalIn(error);
  if (refusal === undefined) return error;
  const { reason, other } = refusal;
  const sessionId = other === null ? undefined : encodeId("ps", other);
  const state = sessionId === undefined ? {} : { state: { sessionId } };
  switch (reason) {
    case "not_found":
      return new DomainError("not_found", "There is no agreement with this id.");
    case "paid":
      return new DomainError("renewal_paid", `The renewal is paid. Read ${sessionId}.`, state);
    case "in_progress": {
      const message = `The renewal is being paid. Read ${sessionId}.`;
      return new DomainError("renewal_in_progress", message, { ...state, retryAfterMs: 1_000 });
    }
    case "cancelled":
    case "ended": {
      const message = `The agreement ${reason === "ended" ? "has ended" : "was cancelled"}.`;
      return new DomainError("agreement_not_active", message, { state: { status: reason.toUpperCase() } });
    }
    case "amount": {
      const message = "The customer has agreed to a smaller amount, or to another currency.";
      return new DomainError("amount_exceeds_agreement", message, { field: "amountMinor" });
    }
    case "link_fixed": {
      const detail = "must be, with currency and orderRef, as in the first link of this renewal";
      const problem = { param: "amountMinor", pointer: "/amountMinor", code: "invalid_field", detail } as const;
      return new DomainError("invalid_field", `amountMinor ${detail}.`, { problems: [problem] });
    }
    default:
      return new DomainError("session_ended", "The renewal cannot be paid in this session; open the link again.");
  }
}
