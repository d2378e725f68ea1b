/** The part of a submission about stored cards: the customer's consent, and the handle under which the card will be stored. */
import type { Shopper } from "../../gateways/connector.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MerchantId, SessionId } from "../../platform/ids.ts";
import { type Secret, seal, sha256 } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { commitAndReload, type Reloaded } from "../execute/work.ts";
import { type Claim, claimSession, type Opening } from "../record/payment-functions.ts";
import { loadStored } from "./load-stored.ts";
import { takeRecovery } from "./recovery/take-recovery.ts";
import { type StoredPayment, StoredPaymentEntity, storedColumns } from "./stored-rows.ts";

/** The sentence that the customer has agreed to: its name in the widget, and the language in which it was shown. */
export type Consent = { readonly template: string; readonly locale: string };

/** A submission that is about to be claimed. */
export type StoringClaim = {
  readonly values: readonly unknown[];
  /** The session whose claim takes a renewal. */
  readonly recovering: SessionId | undefined;
  /** The merchant will charge the card: the customer begins an agreement, or stores a card without paying. */
  readonly isMandate: boolean;
};

// A handle of 192 random bits cannot be guessed.
const handleBytes = 24;
// The vault keeps a card for 15 minutes, from before the submission on.
const cardLifeMs = 15 * 60_000;
// The process that took the submission stores the card at once. A worker does it if that process is gone.
const saveDueMs = 30_000;
// Bounds the user agent that a browser sends, to the length of the column.
const userAgentCharacters = 512;

/**
 * Prepares the claim of a session with `stored`. Throws `consent_required` if it begins an agreement, or is a set-up,
 * without the customer's consent.
 */
export async function prepareStoring(
  core: Pick<Core, "database" | "sealing" | "runtime">,
  submission: {
    readonly session: { readonly id: SessionId; readonly merchantId: MerchantId };
    readonly vaultToken: Secret;
    readonly consent?: Consent | undefined;
    readonly shopper?: Shopper | undefined;
  },
): Promise<StoringClaim> {
  const { session, vaultToken, consent, shopper } = submission;
  const stored = await loadStored(core.database, session.id);
  const isConsenting = consent !== undefined && stored.role !== "CUSTOMER";
  const isSetUp = stored.role === "SETUP";
  if ((stored.terms !== null || isSetUp) && !isConsenting)
    throw new DomainError(
      "consent_required",
      `The ${isSetUp ? "set-up stores the card" : "payment begins an agreement"}: submit it with the sentence that the customer has agreed to.`,
      { field: "saveCard" },
    );
  const handle = `vc_${Buffer.from(core.runtime.randomBytes(handleBytes)).toString("base64url")}`;
  const hash = sha256(handle);
  const saving = isConsenting
    ? [
        seal(core.sealing, tokenAssociatedData(session.id), vaultToken.expose()),
        seal(core.sealing, handleAssociatedData(session.merchantId, hash), handle),
        hash,
        consent.template,
        consent.locale,
        shopper?.shopperIp ?? null,
        shopper?.shopperUserAgent?.slice(0, userAgentCharacters) ?? null,
      ]
    : Array(7).fill(null);
  const recovering = stored.role === "RECOVERY" ? session.id : undefined;
  return {
    values: [session.id, ...saving, saveDueMs, cardLifeMs],
    recovering,
    isMandate: stored.terms !== null || isSetUp,
  };
}

/** Returns the associated data under which the token of a card that is being stored is sealed. */
export function tokenAssociatedData(sessionId: SessionId): string {
  return `stored_payment/${sessionId}`;
}

/** Returns the associated data under which a stored card's handle is sealed, in whichever row. */
export function handleAssociatedData(merchantId: MerchantId, handleHash: Buffer): string {
  return `stored card/${merchantId}/${handleHash.toString("hex")}`;
}

const claimStored: Statement = {
  name: "claim_stored_payment",
  partitionKey: 1,
  text: `SELECT ${storedColumns(StoredPaymentEntity, "p")} FROM app.claim_stored($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) p`,
};

// Raised by app.claim_stored.
const unusableCode = "LL006";

/**
 * Records a prepared claim, in the transaction that claims the session. Throws `token_not_found` for a stored card that
 * can no longer be used: the session then stays open.
 */
export async function recordStoring(tx: Queryable, { values }: StoringClaim): Promise<StoredPayment> {
  try {
    const [stored] = await tx.query<StoredPayment>(claimStored, values);
    return stored!;
  } catch (error) {
    if ((error as { code?: unknown }).code !== unusableCode) throw error;
    throw new DomainError("token_not_found", "The stored card cannot be used any more; choose another one.", {
      cause: error,
    });
  }
}

/** Takes what the claim of a session needs before it, which is the renewal of a link. */
export async function takeFirst(tx: Queryable, { recovering }: StoringClaim): Promise<void> {
  if (recovering !== undefined) await takeRecovery(tx, recovering);
}

/** Claims a session and its use of a stored card in one transaction. */
export function claimAndStore(
  core: Core,
  { claim, first, storing }: { claim: Claim; first: Opening | undefined; storing: StoringClaim },
): Promise<Reloaded> {
  return commitAndReload(core, claim, async (tx) => {
    await takeFirst(tx, storing);
    const claimed = await claimSession(tx, claim, first);
    return { loaded: { ...claimed, stored: await recordStoring(tx, storing) }, openedAttemptId: first?.id };
  });
}
