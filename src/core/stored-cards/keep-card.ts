/**
 * Stores the card of an approved payment: in the vault, then as a method with its agreement, in one transaction. The payment never waits for
 * it. Both steps are repeated with the same handle until they are done, or the vault has the card no longer.
 */
import type { Statement, Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { type AgreementId, encodeId, type MerchantId, type SessionId } from "../../platform/ids.ts";
import { unseal } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { emitEvent } from "../record/settle.ts";
import type { Payment } from "../rows/payment.ts";
import { handleAssociatedData, tokenAssociatedData } from "./claim-stored.ts";
import { eraseAtGateway, type KeptAtGateway } from "./erase-at-gateway.ts";
import { forgetUnlessSaving, isSaving } from "./forget-unless-saving.ts";
import { type StoredPayment, StoredPaymentEntity, storedColumns } from "./stored-rows.ts";

/**
 * Lets the vault forget the card of a payment with `stored` that has ended, or is held, or begins to store it. An orderly stop waits for the
 * first try.
 */
export function releaseCard(core: Core, payment: Payment): void {
  forgetUnlessSaving(core, payment);
  if (!isSaving(payment)) return;
  const { id: sessionId } = payment.session;
  const run = saveCard(core, sessionId).finally(() => core.inFlight.delete(run));
  core.inFlight.add(run);
}

// Far less than the card's 15 minutes, and long enough that the workers do not all call a silent vault at once.
const againAfterMs = 10_000;
// A gateway that is down stays so for minutes.
const gatewayAgainAfterMs = 5 * 60_000;
// Savings and erasures of one turn.
const turnRows = 20;
// Other sessions may have the replaced card open as their token.
const replacedCardLifeMs = 60 * 60_000;

const takeDue: Statement = {
  name: "take_due_savings",
  text: 'SELECT p.session_id AS "sessionId" FROM app.take_due_savings($1, $2) p',
};

/** SQL: savings that are due. A subselect bounds the index. */
export const dueSavings = "stored_payment WHERE saving = 'REQUESTED' AND save_due_at <= (SELECT app.clock())";

/** Goes on with the savings that are due. Returns true when there may be more. */
export async function saveDueCardsOnce(core: Core): Promise<boolean> {
  const due = await core.database.query<{ sessionId: SessionId }>(takeDue, [turnRows, againAfterMs]);
  await Promise.all(due.map(({ sessionId }) => saveCard(core, sessionId)));
  return due.length === turnRows;
}

type Saving = {
  readonly id: SessionId;
  readonly merchantId: MerchantId;
  /** The payment is over, or holds. */
  readonly isOver: boolean;
  readonly hasWinner: boolean;
  readonly isErased: boolean;
  readonly isLate: boolean;
  readonly tokenSealed: string | null;
  readonly handleSealed: string | null;
  readonly handleHash: Buffer | null;
};

const selectSaving: Statement = {
  name: "select_saving",
  partitionKey: 1,
  text: `
    SELECT s.id, s.merchant_id AS "merchantId", s.status <> 'CREATED' OR s.held_at IS NOT NULL AS "isOver", s.winner_attempt_id IS NOT NULL AS "hasWinner",
      p.customer_ref IS NULL AS "isErased", p.save_until < app.clock() AS "isLate", p.token_sealed AS "tokenSealed", p.handle_sealed AS "handleSealed",
      p.handle_hash AS "handleHash"
    FROM payment_session s JOIN stored_payment p ON p.session_id = s.id WHERE s.id = $1 AND p.session_id = $1 AND p.saving = 'REQUESTED'`,
};

/** Takes a saving as far as it goes. Never rejects: a worker continues with it later. */
async function saveCard(core: Core, sessionId: SessionId): Promise<void> {
  try {
    const [saving] = await core.database.query<Saving>(selectSaving, [sessionId]);
    if (saving?.isOver) await endSaving(core, saving);
  } catch (error) {
    const isVaultAway = error instanceof DomainError && error.code === "unavailable";
    if (isVaultAway) core.log.warn({ sessionId, err: error }, "the vault has not stored a card; it is asked again");
    else core.log.error({ sessionId, err: error }, "a card was not stored; the next turn goes on with it");
  }
}

async function endSaving(core: Core, saving: Saving): Promise<void> {
  const { id: sessionId, hasWinner, isErased, isLate, handleSealed } = saving;
  if (!hasWinner || isErased) {
    core.vault.forget(sessionId);
    return dropCard(core, saving, "DROPPED");
  }
  // The card pays as a stored one already.
  if (handleSealed === null) return recordKept(core, saving, undefined);
  if (isLate || core.vault.stored === undefined) {
    core.vault.forget(sessionId);
    return dropCard(core, saving, "FAILED");
  }
  const kept = await core.vault.stored.keep(cardOf(core, saving));
  return kept === "lost" ? dropCard(core, saving, "FAILED") : recordKept(core, saving, kept);
}

function cardOf({ sealing }: Core, { id: sessionId, merchantId, tokenSealed, handleSealed, handleHash }: Saving) {
  return {
    sessionId,
    merchantId,
    token: unseal(sealing, tokenAssociatedData(sessionId), tokenSealed!),
    handle: unseal(sealing, handleAssociatedData(merchantId, handleHash!), handleSealed!),
  };
}

const lockSession: Statement = {
  name: "lock_saving_session",
  partitionKey: 1,
  text: "SELECT s.id FROM app.lock_session($1) s",
};

/** Locks the session in whose sequence an event follows. Returns false if it is of another cell, or removed. */
export async function lockSubject(tx: Tx, sessionId: SessionId): Promise<boolean> {
  return (await tx.query(lockSession, [sessionId])).length > 0;
}

const columns = storedColumns(StoredPaymentEntity, "p");
const keep: Statement = {
  name: "keep_card",
  partitionKey: 1,
  text: `SELECT ${columns} FROM app.keep_card($1, $2, $3, $4, $5, $6, $7::uuid[], $8) p`,
};
const drop: Statement = { name: "drop_card", partitionKey: 1, text: `SELECT ${columns} FROM app.drop_card($1, $2) p` };

type Kept = Exclude<Awaited<ReturnType<NonNullable<Core["vault"]["stored"]>["keep"]>>, "lost">;

/** Records a stored card with its agreement and their events. */
async function recordKept(core: Core, { id: sessionId }: Saving, kept: Kept | undefined): Promise<void> {
  const { brand, last4, expMonth, expYear, fingerprint } = kept ?? {};
  const card = [brand, last4, expMonth, expYear, fingerprint?.versions].map((value) => value ?? null);
  await core.database.transaction(async (tx) => {
    await lockSubject(tx, sessionId);
    const values = [sessionId, core.runtime.uuid(), ...card, replacedCardLifeMs];
    const [stored] = await tx.query<StoredPayment>(keep, values);
    if (stored === undefined) return;
    const session = { id: sessionId, merchantId: stored.merchantId };
    if (kept) await emitEvent(tx, core, session, "payment_method.saved");
    await emitAgreement(tx, core, session, stored.agreementId);
  });
}

async function dropCard(core: Core, { id: sessionId }: Saving, as: "DROPPED" | "FAILED"): Promise<void> {
  await core.database.transaction(async (tx) => {
    await lockSubject(tx, sessionId);
    const [stored] = await tx.query<StoredPayment>(drop, [sessionId, as]);
    if (stored === undefined || as === "DROPPED") return;
    await emitAgreement(tx, core, { id: sessionId, merchantId: stored.merchantId }, stored.agreementId);
  });
}

const selectState: Statement = {
  name: "select_agreement_state",
  text: 'SELECT status, status_because AS "statusBecause" FROM agreement WHERE id = $1',
};

/** Emits that an agreement has changed, in the sequence of the payment that began it, which is locked. */
export async function emitAgreement(
  tx: Tx,
  core: Pick<Core, "outbox" | "describeSession">,
  session: { readonly id: SessionId; readonly merchantId: MerchantId },
  agreementId: AgreementId | null | undefined,
): Promise<void> {
  if (agreementId == null) return;
  const [state] = await tx.query<{ status: string; statusBecause: string | null }>(selectState, [agreementId]);
  if (state === undefined) return;
  const { status, statusBecause } = state;
  const agreement = {
    agreementId: encodeId("agr", agreementId),
    status,
    ...(statusBecause !== null && { statusBecause }),
  };
  await emitEvent(tx, core, session, "agreement.updated", { agreement });
}

const takeErasures: Statement = {
  name: "take_due_erasures",
  text: `
    SELECT e.handle_hash AS "handleHash", e.merchant_id AS "merchantId", e.wanted_at < app.clock() - interval '1 hour' AS "isOverdue",
      CASE WHEN e.own_method IS NOT NULL THEN json_build_object('connectionId', e.own_connection_id, 'gateway', c.gateway, 'credentialVersion', c.credential_version,
        'customer', e.own_customer, 'method', e.own_method, 'isLast', app.is_last_at_gateway(e), 'nth', e.erase_due_at) END AS "atGateway"
    FROM app.take_due_erasures($1, $2, $3) e LEFT JOIN connection c ON c.id = e.own_connection_id`,
};
const endErasure: Statement = { name: "end_erasure", text: "SELECT FROM app.end_erasure($1)" };

type Erasure = {
  readonly handleHash: Buffer;
  readonly merchantId: MerchantId;
  readonly isOverdue: boolean;
  /** A gateway that keeps the card; null for the vault. */
  readonly atGateway: KeptAtGateway | null;
};

/** SQL: cards whose erasure is due. A subselect bounds the index. */
export const dueErasures = "card_erasure WHERE erase_due_at <= (SELECT app.clock())";

/**
 * Has the vault, and the gateways that keep them too, erase the cards that are due, until each is acknowledged. A card
 * that is not erased for an hour is an error in the log, for a person to look at. Returns true when there may be more.
 */
export async function eraseCardsOnce(core: Core): Promise<boolean> {
  const { stored } = core.vault;
  if (stored === undefined) return false;
  const due = await core.database.query<Erasure>(takeErasures, [turnRows, againAfterMs, gatewayAgainAfterMs]);
  const erased = await Promise.allSettled(
    due.map(async ({ handleHash, merchantId, atGateway }) => {
      await (atGateway ? eraseAtGateway(core, atGateway) : stored.erase(handleHash, merchantId));
      await core.database.query(endErasure, [handleHash]);
    }),
  );
  const failed = erased.find((one) => one.status === "rejected");
  const level = due.some(({ isOverdue }) => isOverdue) ? "error" : "warn";
  if (failed) core.log[level]({ err: failed.reason }, "a card was not erased; that is asked for again");
  return due.length === turnRows && failed === undefined;
}
