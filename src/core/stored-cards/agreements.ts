/** Agreements of a merchant's customers, for the merchant: lists them with their charges, and cancels one for ever. */
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { AgreementId, ConnectionId, MerchantId, SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { emitAgreement, lockSubject } from "./keep-card.ts";
import { readPage, type WantedPage } from "./payment-methods.ts";
import { type ChainNames, whyNotContinued } from "./renewals/plan-renewal.ts";
import { type Agreement, AgreementEntity, storedColumns } from "./stored-rows.ts";

/** A charge of an agreement. */
type Renewal = {
  readonly renewalRef: string;
  readonly sessionId: SessionId | null;
  readonly paidSessionId: SessionId | null;
  readonly tries: number;
};

/** A merchant's account at a gateway, and why an agreement cannot be charged there; undefined if it can. */
export type AgreementGateway = {
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  readonly because: string | undefined;
};

/** An agreement with its charges, the newest first, and the gateways; both are empty in lists. */
export type AgreementDetails = {
  readonly agreement: Agreement;
  readonly gateways: readonly AgreementGateway[];
  readonly renewals: readonly Renewal[];
};

type AgreementOfMerchant = { readonly merchantId: MerchantId; readonly agreementId: AgreementId };

const selection = `SELECT ${storedColumns(AgreementEntity, "a")} FROM agreement a WHERE a.merchant_id = $1`;
const selectOne: Statement = { name: "select_agreement", text: `${selection} AND a.id = $2` };
const selectPage: Statement = {
  name: "select_agreements",
  text: `${selection} AND ($2::text IS NULL OR a.customer_ref = $2) AND ($3::uuid IS NULL OR a.id < $3) ORDER BY a.id DESC LIMIT $4`,
};
// A page shows at most this many.
const selectRenewals: Statement = {
  name: "select_renewals",
  text: `
    SELECT r.renewal_ref AS "renewalRef", r.session_id AS "sessionId", r.paid_session_id AS "paidSessionId", r.tries
    FROM renewal r WHERE r.agreement_id = $1 ORDER BY r.created_at DESC, r.renewal_ref LIMIT 100`,
};
const selectConnections: Statement = {
  name: "select_connections_for_agreement",
  text: `
    SELECT id AS "connectionId", gateway FROM connection
    WHERE merchant_id = $1 AND credential_version IS NOT NULL AND NOT paused ORDER BY first_verified_at, id`,
};

/** Finds an agreement of the merchant, without its charges. */
export async function loadAgreement(
  queryable: Queryable,
  { merchantId, agreementId }: AgreementOfMerchant,
): Promise<Agreement | undefined> {
  const [agreement] = await queryable.query<Agreement>(selectOne, [merchantId, agreementId]);
  return agreement;
}

/** Finds an agreement of the merchant. */
export async function findAgreement(
  core: Pick<Core, "connectorOf"> & { readonly database: Queryable },
  { merchantId, agreementId }: AgreementOfMerchant,
): Promise<AgreementDetails | undefined> {
  const { database } = core;
  const [[agreement], renewals, gatewaysFor] = await Promise.all([
    database.query<Agreement>(selectOne, [merchantId, agreementId]),
    database.query<Renewal>(selectRenewals, [agreementId]),
    loadGatewaysFor(database, core, merchantId),
  ]);
  return agreement && { agreement, gateways: gatewaysFor(agreement), renewals };
}

/** Returns a function that lists, for each agreement of a merchant, the gateways that can charge it. */
export async function loadGatewaysFor(
  queryable: Queryable,
  { connectorOf }: Pick<Core, "connectorOf">,
  merchantId: MerchantId,
): Promise<(agreement: ChainNames) => AgreementGateway[]> {
  const connections = await queryable.query<Omit<AgreementGateway, "because">>(selectConnections, [merchantId]);
  return (agreement) =>
    connections.map((connection) => {
      const continues = connectorOf(connection.gateway)?.storedCards;
      return { ...connection, because: whyNotContinued(connection, agreement, continues) };
    });
}

/** Lists agreements, newest first. Throws `invalid_parameter` for a page token of another list. */
export async function listAgreements(
  queryable: Queryable,
  wanted: WantedPage,
): Promise<{ readonly agreements: readonly Agreement[]; readonly nextPageToken: string | undefined }> {
  const { merchantId, customerRef = null } = wanted;
  const page = await readPage(wanted, JSON.stringify(["agreements", merchantId, customerRef]), (after, count) =>
    queryable.query<Agreement>(selectPage, [merchantId, customerRef, after, count]),
  );
  return { agreements: page.rows, nextPageToken: page.nextPageToken };
}

const cancelStatement: Statement = {
  name: "cancel_agreement",
  text: 'SELECT a.session_id AS "sessionId" FROM app.cancel_agreement($1, $2, $3) a',
};

/** Cancels an agreement, unless it has ended. Durable on return. */
export async function cancelAgreement(
  core: Pick<Core, "database" | "outbox" | "describeSession">,
  wanted: AgreementOfMerchant,
  reason: "merchant",
): Promise<void> {
  await core.database.transaction((tx) => cancelAgreementIn(tx, core, wanted, reason));
}

/** Cancels an agreement, with the transaction. Returns false if it has ended, or the merchant has none such. */
export async function cancelAgreementIn(
  tx: Tx,
  core: Pick<Core, "outbox" | "describeSession">,
  { merchantId, agreementId }: AgreementOfMerchant,
  reason: "merchant",
): Promise<boolean> {
  const [cancelled] = await tx.query<{ sessionId: SessionId }>(cancelStatement, [merchantId, agreementId, reason]);
  if (cancelled === undefined) return false;
  if (await lockSubject(tx, cancelled.sessionId)) {
    await emitAgreement(tx, core, { id: cancelled.sessionId, merchantId }, agreementId);
  }
  return true;
}

// Agreements of one transaction, and so of one turn: of those that are over, and of those that are paid.
const turnAgreements = 100;

const endStatement: Statement = {
  name: "end_agreements",
  text: 'SELECT a.id AS "agreementId", a.merchant_id AS "merchantId", a.session_id AS "sessionId" FROM app.end_agreements($1) a ORDER BY a.session_id',
};

/** Ends agreements whose last day is over, or whose instalments are all paid. Returns true when there may be more. */
export function endAgreementsOnce(core: Pick<Core, "database" | "outbox" | "describeSession">): Promise<boolean> {
  return core.database.transaction(async (tx) => {
    type Ended = AgreementOfMerchant & { readonly sessionId: SessionId };
    const ended = await tx.query<Ended>(endStatement, [turnAgreements]);
    for (const { agreementId, merchantId, sessionId } of ended) {
      if (!(await lockSubject(tx, sessionId))) continue;
      await emitAgreement(tx, core, { id: sessionId, merchantId }, agreementId);
    }
    return ended.length >= turnAgreements;
  });
}
