/** The rules for stored cards at the creation of a session, and the fields of its row. */

import type { FieldProblem } from "../../platform/errors.ts";
import type { AgreementId, SessionId } from "../../platform/ids.ts";
import { deriveId } from "../record/open-attempt.ts";
import type { AgreementTerms } from "./stored-rows.ts";

/** The part of a new session about stored cards. */
export type StoringOrder = {
  /** The merchant's reference of the customer. */
  readonly customerRef?: string | undefined;
  /** Stores the card if the customer consents; with an agreement, by paying. */
  readonly saveCard?: { readonly agreement?: AgreementTerms | undefined } | undefined;
  /** Sets whether the customer enters the security code of a stored card. `required` if absent. */
  readonly storedCardSecurityCode?: string | undefined;
  /** Present for a set-up, which stores a card without a payment; with the agreement whose card it replaces, if any. */
  readonly setUp?: { readonly agreementId?: AgreementId | undefined } | undefined;
};

/** Returns the problems of what a schema cannot express. */
export function findUnstorable(order: StoringOrder, now: Date): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (param: string, detail: string) =>
    problems.push({ param, pointer: `/${param.replaceAll(".", "/")}`, code: "invalid_field", detail });
  const { customerRef, saveCard, storedCardSecurityCode } = order;
  if (customerRef === undefined) {
    const reason = "is needed for what the session does with stored cards";
    if (saveCard !== undefined || storedCardSecurityCode !== undefined) refuse("customerRef", reason);
  } else if (customerRef.trim() === "") refuse("customerRef", "must not be blank");
  if (saveCard?.agreement === undefined) return problems;
  const { type, everyDays, endsOn, instalments } = saveCard.agreement;
  const inAgreement = (name: string, detail: string) => refuse(`saveCard.agreement.${name}`, detail);
  if (type !== "UNSCHEDULED") {
    if (everyDays === undefined) inAgreement("everyDays", "is required, unless the type is UNSCHEDULED");
    if (endsOn === undefined) inAgreement("endsOn", "is required, unless the type is UNSCHEDULED");
  }
  if (type === "INSTALMENT" && instalments === undefined)
    inAgreement("instalments", "is required where the type is INSTALMENT");
  if (type !== "INSTALMENT" && instalments !== undefined)
    inAgreement("instalments", "must be absent, unless the type is INSTALMENT");
  if (endsOn !== undefined && !isDayFrom(endsOn, now)) inAgreement("endsOn", "must be a day that is not over, in UTC");
  return problems;
}

function isDayFrom(day: string, now: Date): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day) && day >= now.toISOString().slice(0, 10);
}

/**
 * Returns the agreement that a payment begins, whose id follows from the session's, or the one that a set-up continues.
 */
export function agreementIdOf(sessionId: SessionId, { saveCard, setUp }: StoringOrder): AgreementId | undefined {
  return setUp?.agreementId ?? (saveCard?.agreement && deriveId(sessionId, "agreement"));
}

/** Returns what `create_session` records about a session with a customer's reference. */
export function describeStored(sessionId: SessionId, order: StoringOrder): object {
  return {
    role: order.setUp ? "SETUP" : order.saveCard === undefined ? "CUSTOMER" : "SAVE",
    securityCode: order.storedCardSecurityCode ?? "required",
    terms: order.saveCard?.agreement && termsOf(order.saveCard.agreement),
    agreementId: agreementIdOf(sessionId, order),
  };
}

/**
 * Returns the fields that distinguish two requests, always in the same order; undefined for a session without stored
 * cards.
 */
export function storingFingerprint(order: StoringOrder): object | undefined {
  const { customerRef, saveCard, storedCardSecurityCode, setUp } = order;
  if (customerRef === undefined) return undefined;
  const agreement = saveCard?.agreement && termsOf(saveCard.agreement);
  return { customerRef, saveCard: saveCard && { agreement }, storedCardSecurityCode, setUp };
}

function termsOf({ type, text, everyDays, endsOn, instalments, maxAmountMinor }: AgreementTerms): AgreementTerms {
  return { type, text, everyDays, endsOn, instalments, maxAmountMinor };
}
