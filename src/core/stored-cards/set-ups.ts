/** Creates set-ups: sessions of an amount of 0, by which a customer stores a card without a payment. */
import { DomainError, type FieldProblem, problemsInWords } from "../../platform/errors.ts";
import type { AgreementId, RequestId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import {
  type CreatedSession,
  createSession,
  findCreatedSession,
  type NewSession,
  type SessionOwner,
} from "../create-session.ts";
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

// A set-up pays no order; gateways get this as the order's reference.
const orderRef = "setup";

/**
 * Creates the session of a set-up, or finds the one that the same key created within 24 h, here or in one of the
 * `former` cells that the merchant has left. Durable on return. Throws as `createSession` does, `not_found` for an
 * agreement that the merchant does not have, and `agreement_not_active` for a new set-up of one that has ended.
 */
export async function createSetUp(
  core: Core,
  owner: SessionOwner,
  setUp: SetUp,
  idempotencyKey?: string,
  former: readonly Core[] = [],
): Promise<CreatedSession> {
  const problems = findUnusable(setUp);
  if (problems.length > 0)
    throw new DomainError("invalid_field", problemsInWords(problems, "invalid_field"), { problems });
  const { customerRef = "", currency = "", saveCard = {}, agreementId, requestId } = setUp;
  const { refusal, ...about } =
    agreementId === undefined
      ? { customerRef, currency, saveCard, refusal: undefined }
      : await goOnWith(core, owner, agreementId);
  const session: NewSession = {
    ...about,
    amountMinor: 0,
    orderRef,
    allowRepeatedOrder: true,
    setUp: { agreementId },
    requestId,
  };
  for (const cell of idempotencyKey === undefined ? [] : [...former, ...(refusal ? [core] : [])]) {
    const created = await findCreatedSession(cell, owner, session, idempotencyKey!);
    if (created !== undefined) return created;
  }
  if (refusal) throw refusal;
  return createSession(core, owner, session, idempotencyKey);
}

/** Returns the customer, currency and terms of an agreement that is to get another card, and why it gets none. */
async function goOnWith(core: Core, { merchantId }: SessionOwner, agreementId: AgreementId) {
  const agreement = await loadAgreement(core.database, { merchantId, agreementId });
  if (agreement === undefined) throw new DomainError("not_found", "There is no agreement with this id.");
  const { customerRef, currency, status, endsOn } = agreement;
  const isOver = endsOn != null && endsOn < core.runtime.now().toISOString().slice(0, 10);
  const over = status === "ENDED" ? "ended" : isOver ? "over" : undefined;
  const reason = customerRef == null || status === "CANCELLED" ? "cancelled" : over;
  return {
    customerRef: customerRef ?? "",
    currency,
    saveCard: { agreement: termsOf(agreement) },
    refusal: reason && refusalError({ reason, other: null, until: null }),
  };
}

function termsOf({ type, text, everyDays, endsOn, instalments, maxAmountMinor }: Agreement): AgreementTerms {
  return {
    type,
    text,
    everyDays: everyDays ?? undefined,
    endsOn: endsOn ?? undefined,
    instalments: instalments ?? undefined,
    maxAmountMinor: maxAmountMinor ?? undefined,
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
