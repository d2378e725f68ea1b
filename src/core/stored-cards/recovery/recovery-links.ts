/** Links by which a customer pays a charge of an agreement that is not paid: made for the merchant, opened by the customer. */
import { renewalTriesMax } from "../../../limits.ts";
import type { Queryable, Statement } from "../../../platform/database.ts";
import { DomainError, type FieldProblem, problemsInWords } from "../../../platform/errors.ts";
import type { AgreementId, MerchantId, RecoveryLinkId, RequestId, SessionId } from "../../../platform/ids.ts";
import type { Secret } from "../../../platform/secrets.ts";
import { deriveClientSecret } from "../../client-secret.ts";
import type { Core, JsonObject } from "../../core.ts";
import { findUnpayable } from "../../create-session.ts";
import { asRefusal, type LinkRefusalReason } from "./link-refusals.ts";
import { deriveLinkToken, type LinkNamed } from "./link-token.ts";

/**
 * The fields of a new link. The validator that all surfaces share has already checked its shape, and the edge
 * `returnTo`.
 */
export type WantedLink = {
  readonly merchantId: MerchantId;
  readonly agreementId: AgreementId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  /** Names the charge, which is paid once. The order's reference if absent. */
  readonly renewalRef?: string | undefined;
  readonly returnTo?: string | undefined;
  /** 1 to 720; 168 if absent. */
  readonly expiresInHours?: number | undefined;
};

const hoursDefault = 168;
const hourMs = 3_600_000;

const makeLink: Statement = {
  name: "make_recovery_link",
  text: 'SELECT l.id, l.version, l.expires_at AS "expiresAt" FROM app.make_link($1, $2, $3, $4, $5, $6, $7, $8, $9) l',
};

/**
 * Makes the link of a renewal, or returns the one that it has. Durable on return. Throws `invalid_field`, also if the
 * renewal has a link with another amount, currency or order reference; `not_found`, `renewal_paid`,
 * `agreement_not_active`, `amount_exceeds_agreement`, and `vault_cannot_store`.
 */
export async function createRecoveryLink(
  core: Pick<Core, "database" | "runtime" | "vault" | "clientSecretKeys">,
  wanted: WantedLink,
): Promise<{ readonly token: Secret; readonly expiresAt: Date }> {
  const { merchantId, agreementId, amountMinor, currency, orderRef, renewalRef = orderRef, returnTo } = wanted;
  const problems = findUnpayable(wanted);
  if (renewalRef.trim() === "") problems.push(problemOf("renewalRef", "must not be blank"));
  if (problems.length > 0)
    throw new DomainError("invalid_field", problemsInWords(problems, "invalid_field"), { problems });
  if (core.vault.stored === undefined)
    throw new DomainError("vault_cannot_store", "The card vault of this installation stores no cards.");
  const lifeMs = (wanted.expiresInHours ?? hoursDefault) * hourMs;
  const names = [core.runtime.uuid(), merchantId, agreementId, renewalRef];
  const values = [...names, amountMinor, currency, orderRef, returnTo ?? null, lifeMs];
  const [link] = await core.database
    .query<{ id: RecoveryLinkId; version: number; expiresAt: Date }>(makeLink, values)
    .catch((error: unknown) => {
      throw asRefusal(error);
    });
  const { id: linkId, version, expiresAt } = link!;
  return { token: deriveLinkToken(core.clientSecretKeys, { linkId, version }), expiresAt };
}

function problemOf(param: string, detail: string): FieldProblem {
  return { param, pointer: `/${param}`, code: "invalid_field", detail };
}

/** A link as its customer may see it. */
export type OpenedLink = {
  readonly merchantId: MerchantId;
  readonly amountMinor: number;
  readonly currency: string;
  /** The merchant's reference of the charge, such as its invoice. */
  readonly orderRef: string;
  /** The text that the customer has agreed to. */
  readonly text: string;
  /** The agreement's card. */
  readonly card: { readonly brand: string; readonly last4: string } | undefined;
  readonly returnTo: string | undefined;
  /** The session that the widget pays; otherwise `refused` says why nothing can be paid. */
  readonly session: WidgetSession | undefined;
  readonly refused: LinkRefusalReason | undefined;
};

type WidgetSession = {
  readonly sessionId: SessionId;
  readonly clientSecret: Secret;
  readonly vault: JsonObject;
};

type Row = Omit<OpenedLink, "card" | "returnTo" | "session" | "refused"> & {
  readonly brand: string | null;
  readonly last4: string | null;
  readonly returnTo: string | null;
  readonly refused: LinkRefusalReason | null;
  readonly isOwn: boolean;
  readonly publishableKey: string;
};

const selectLink: Statement = {
  name: "select_recovery_link",
  text: `
    SELECT l.merchant_id AS "merchantId", l.amount_minor AS "amountMinor", l.currency, l.order_ref AS "orderRef", a.text, m.brand, m.last4,
      l.return_to AS "returnTo",
      CASE WHEN l.version <> $2 THEN 'link_expired' ELSE c.reason END AS refused, c.other IS NOT DISTINCT FROM l.session_id AS "isOwn",
      s.publishable_key AS "publishableKey"
    FROM recovery_link l JOIN agreement a ON a.id = l.agreement_id JOIN merchant_settings s ON s.merchant_id = l.merchant_id
      LEFT JOIN payment_method m ON m.id = a.method_id LEFT JOIN LATERAL app.link_refusal(l, $3) c ON true
    WHERE l.id = $1 AND s.moved_to IS NULL`,
};
const openLink: Statement = {
  name: "open_recovery_link",
  partitionKey: 1,
  text: `SELECT s.id, s.secret_version AS "secretVersion", s.expires_at AS "expiresAt" FROM app.open_link($1, $2, $3, $4, $5) s`,
};

const askForLink: Statement = {
  name: "ask_for_recovery_link",
  partitionKey: 1,
  text: "SELECT s.id FROM app.ask_for_link($1, $2, $3, $4) s",
};

/**
 * Opens a link of this cell: returns its session if one is open or on its way, otherwise a new one. It charges nothing,
 * and changes neither the renewal nor the agreement. The gateways are asked first only if a restore has put in doubt a
 * renewal that cannot be charged. Undefined if this cell has no such link. `pageOrigin` is the origin of the page that
 * will show the card form.
 */
export async function openRecoveryLink(
  core: Pick<Core, "database" | "runtime" | "vault" | "clientSecretKeys">,
  { linkId, version }: LinkNamed,
  { pageOrigin, requestId }: { readonly pageOrigin: string; readonly requestId?: RequestId | undefined },
): Promise<OpenedLink | undefined> {
  const { database, clientSecretKeys, vault } = core;
  const [found] = await database.query<Row>(selectLink, [linkId, version, renewalTriesMax]);
  if (found === undefined) return undefined;
  const { brand, last4, returnTo, refused, isOwn, publishableKey, ...link } = found;
  const card = brand !== null && last4 !== null ? { brand, last4 } : undefined;
  const shown = { ...link, amountMinor: Number(link.amountMinor), card, returnTo: returnTo ?? undefined };
  if (refused === "doubt") {
    const asking = await database.query(askForLink, [
      core.runtime.uuid(),
      linkId,
      clientSecretKeys.current,
      renewalTriesMax,
    ]);
    return { ...shown, session: undefined, refused: asking.length > 0 ? "in_progress" : refused };
  }
  if (refused !== null && !(refused === "in_progress" && isOwn)) return { ...shown, session: undefined, refused };
  const values = [core.runtime.uuid(), linkId, clientSecretKeys.current, requestId ?? null, renewalTriesMax];
  const [session] = await database.query<{ id: SessionId; secretVersion: number; expiresAt: Date }>(openLink, values);
  // The link's session has just ended, or the merchant has begun a try itself.
  if (session === undefined) return { ...shown, session: undefined, refused: "in_progress" };
  const { id: sessionId, secretVersion, expiresAt } = session;
  const { merchantId } = link;
  const origins = { publishableKey, checkoutOrigins: [pageOrigin], expiresAt };
  const opened = await vault.openSession({ sessionId, merchantId, ...origins });
  const clientSecret = deriveClientSecret(clientSecretKeys, sessionId, secretVersion);
  return {
    ...shown,
    session: { sessionId, clientSecret, vault: { ...opened, storedCards: true } },
    refused: undefined,
  };
}

const selectMerchant: Statement = {
  name: "select_merchant_of_link",
  text: 'SELECT merchant_id AS "merchantId" FROM recovery_link WHERE id = $1',
};

/** Finds the merchant that is charged for an opening; undefined if this cell has no such link. */
export async function findMerchantOfLink(
  queryable: Queryable,
  linkId: RecoveryLinkId,
): Promise<MerchantId | undefined> {
  const [row] = await queryable.query<{ merchantId: MerchantId }>(selectMerchant, [linkId]);
  return row?.merchantId;
}
