/** Creates set-ups: sessions of an amount of 0, by which a customer stores a card without a payment. */
import { DomainError, type FieldProblem, problemsInWords } from "../../platform/errors.ts";
import type { AgreementId, RequestId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { type CreatedSession, createSession, type NewSession, type SessionOwner } from "../create-session.ts";
import { loadAgreement } from "./agreements.ts";
import type { StoringOrder } from "./create-stored.ts";
import { refusalError } from "./renewals/refusals.ts";
import type { Agreement, AgreementTerms } from "./stored-rows.ts";

/** A set-up: of a customer's new card, or with `agreementId` of another card for that agreement, whose customer and terms it has. */
export type SetUp = Pick<StoringOrder, "customerRef" | "saveCard"> & {
  readonly currency?: string | undefined;
  readonly agreementId?: AgreementId | undefined;
  /** Id of the API request, for support; not part of the set-up. */
  readonly requestId?: RequestId | undefined;
};

// No order is paid. Gateways get it as the reference of the order.
const orderRef = "setup";

/**
 * Creates the session of a set-up, or finds the one that the same key created within 24 h. Durable on return. Throws as `createSession` does,
 * `not_found` for an agreement that the merchant does not have, and `agreement_not_active` for one that is over.
 */
export async function createSetUp(
  core: Core,
  owner: SessionOwner,
  setUp: SetUp,
  idempotencyKey?: string,
): Promise<CreatedSession> {
  const problems = findUnusable(setUp);
  if (problems.length > 0)
    throw new DomainError("invalid_field", problemsInWords(problems, "invalid_field"), { problems });
  const { customerRef = "", currency = "", saveCard = {}, agreementId, requestId } = setUp;
  const about =
    agreementId === undefined ? { customerRef, currency, saveCard } : await goOnWith(core, owner, agreementId);
  const session: NewSession = {
    ...about,
    ...{ amountMinor: 0, orderRef, allowRepeatedOrder: true, setUp: { agreementId }, requestId },
  };
  return createSession(core, owner, session, idempotencyKey);
}

/** Returns the customer, currency and terms of an agreement that is to get another card. */
async function goOnWith(core: Core, { merchantId }: SessionOwner, agreementId: AgreementId) {
  const agreement = await loadAgreement(core.database, { merchantId, agreementId });
  if (agreement === undefined) throw new DomainError("not_found", "There is no agreement with this id.");
  const { customerRef, currency, status, endsOn } = agreement;
  const isOver = endsOn != null && endsOn < core.runtime.now().toISOString().slice(0, 10);
  if (customerRef == null || status === "CANCELLED") throw refusal("cancelled");
  if (status === "ENDED" || isOver) throw refusal(status === "ENDED" ? "ended" : "over");
  return { customerRef, currency, saveCard: { agreement: termsOf(agreement) } };
}

function refusal(reason: "cancelled" | "ended" | "over"): DomainError {
  return refusalError({ reason, other: null, until: null });
}

function termsOf({ type, text, everyDays, endsOn, instalments, maxAmountMinor }: Agreement): AgreementTerms {
  return {
    ...{ type, text, everyDays: everyDays ?? undefined, endsOn: endsOn ?? undefined },
    ...{ instalments: instalments ?? undefined, maxAmountMinor: maxAmountMinor ?? undefined },
  };
}

function findUnusable({ customerRef, currency, saveCard, agreementId }: SetUp): FieldProblem[] {
  const given = { customerRef, currency, saveCard };
  const problem = (param: string, detail: string): FieldProblem => {
    return { param, pointer: `/${param}`, code: "invalid_field", detail };
  };
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (agreementId !== undefined)
    return names.map((name) => problem(name, "must be absent beside agreementId: the agreement has its own"));
  return ["customerRef", "currency"]
    .filter((name) => !names.includes(name))
    .map((name) => problem(name, "is required, unless agreementId names the agreement that gets another card"));
}
