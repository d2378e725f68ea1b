/** The stored cards of a merchant's customers, for the merchant: lists them, and deletes one for ever. */
import { pageSizeDefault } from "../../limits.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { AgreementId, MerchantId, MethodId, SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { type PageTokenKeys, signPageToken, verifyPageToken } from "../page-token.ts";
import { emitAgreement, lockSubject } from "./keep-card.ts";
import { type PaymentMethod, PaymentMethodEntity, storedColumns } from "./stored-rows.ts";

/** A stored card, and why no further try of it is allowed; null if one is. */
export type MethodWithState = PaymentMethod & { readonly stopped: string | null };

const selection = `
  SELECT ${storedColumns(PaymentMethodEntity, "m")}, coalesce(m.stopped_because, c.stopped_because) AS stopped
  FROM payment_method m LEFT JOIN card_state c ON c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint
  WHERE m.merchant_id = $1 AND m.status = 'ACTIVE'`;

const selectOne: Statement = { name: "select_payment_method", text: `${selection} AND m.id = $2` };
const selectPage: Statement = {
  name: "select_payment_methods",
  text: `${selection}
    AND ($2::text IS NULL OR m.customer_ref = $2)
    AND ($3::timestamptz IS NULL OR make_timestamptz(m.exp_year, m.exp_month, 1, 0, 0, 0, 'UTC') + interval '1 month' < $3)
    AND ($4::uuid IS NULL OR m.id < $4)
    ORDER BY m.id DESC LIMIT $5`,
};

type MethodOfMerchant = { readonly merchantId: MerchantId; readonly methodId: MethodId };

/** Finds a stored card of the merchant. */
export async function findMethod(
  queryable: Queryable,
  { merchantId, methodId }: MethodOfMerchant,
): Promise<MethodWithState | undefined> {
  const [method] = await queryable.query<MethodWithState>(selectOne, [merchantId, methodId]);
  return method;
}

/** A page of a list: 1 to 100 rows, 20 by default. */
export type WantedPage = {
  readonly merchantId: MerchantId;
  readonly customerRef?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly keys: PageTokenKeys;
  readonly now: Date;
};

/**
 * Lists stored cards, newest first; with `expiresBefore` those whose last month ends before it. Throws `invalid_parameter` for a page token of
 * another list.
 */
export async function listMethods(
  queryable: Queryable,
  wanted: WantedPage & { readonly expiresBefore?: Date | undefined },
): Promise<{ readonly methods: readonly MethodWithState[]; readonly nextPageToken: string | undefined }> {
  const { merchantId, customerRef = null, expiresBefore = null } = wanted;
  const scope = JSON.stringify(["payment methods", merchantId, customerRef, expiresBefore]);
  const page = await readPage(wanted, scope, (after, count) =>
    queryable.query<MethodWithState>(selectPage, [merchantId, customerRef, expiresBefore, after, count]),
  );
  return { methods: page.rows, nextPageToken: page.nextPageToken };
}

/** Reads one page of a list whose order is that of its ids, and signs the token of the next one. */
export async function readPage<Row extends { readonly id: string }>(
  { pageSize = pageSizeDefault, pageToken, keys, now }: WantedPage,
  scope: string,
  read: (after: string | null, count: number) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly nextPageToken: string | undefined }> {
  const after = pageToken ? verifyPageToken(keys, { scope, token: pageToken, now }) : null;
  const found = await read(after, pageSize + 1);
  const rows = found.slice(0, pageSize);
  const isLast = found.length <= pageSize;
  return { rows, nextPageToken: isLast ? undefined : signPageToken(keys, { scope, lastId: rows.at(-1)!.id, now }) };
}

const deleteStatement: Statement = {
  name: "delete_payment_method",
  text: 'SELECT d.agreement_id AS "agreementId", d.session_id AS "sessionId" FROM app.delete_method($1, $2) d',
};
type Changed = { readonly agreementId: AgreementId | null; readonly sessionId: SessionId | null };

/** Deletes a stored card. Returns false if the merchant has none such. Durable on return. */
export async function deleteMethod(
  core: Pick<Core, "database" | "outbox" | "describeSession">,
  wanted: MethodOfMerchant,
): Promise<boolean> {
  return (await core.database.transaction((tx) => deleteMethodIn(tx, core, wanted))) !== undefined;
}

/**
 * Deletes a stored card, with the transaction. Returns the agreements that need another card now, or undefined if the
 * merchant has no such card.
 */
export async function deleteMethodIn(
  tx: Tx,
  core: Pick<Core, "outbox" | "describeSession">,
  { merchantId, methodId }: MethodOfMerchant,
): Promise<readonly AgreementId[] | undefined> {
  const changed = await tx.query<Changed>(deleteStatement, [merchantId, methodId]);
  if (changed.length === 0) return undefined;
  return emitChanged(tx, core, merchantId, changed);
}

const liftStatement: Statement = {
  name: "lift_card_stop",
  text: 'SELECT app.lift_card_stop($1, $2) AS "stoppedBecause"',
};

/** Lifts the stop of a card's number, for all customers of the merchant. Returns why it was stopped; undefined if it is not. */
export async function liftStop(tx: Tx, { merchantId, methodId }: MethodOfMerchant): Promise<string | undefined> {
  const [row] = await tx.query<{ stoppedBecause: string | null }>(liftStatement, [merchantId, methodId]);
  return row?.stoppedBecause ?? undefined;
}

const loseStatement: Statement = {
  name: "lose_card",
  text: 'SELECT l.agreement_id AS "agreementId", l.session_id AS "sessionId" FROM app.lose_card($1, $2) l',
};

/** Records that the vault has a card no longer, and that its agreements need another one. Durable on return. */
export async function loseCard(
  core: Pick<Core, "database" | "outbox" | "describeSession">,
  lost: { readonly merchantId: MerchantId; readonly methodId: MethodId; readonly handleHash: Buffer },
): Promise<void> {
  await core.database.transaction(async (tx) => {
    const changed = await tx.query<Changed>(loseStatement, [lost.methodId, lost.handleHash]);
    await emitChanged(tx, core, lost.merchantId, changed);
  });
}

async function emitChanged(
  tx: Tx,
  core: Pick<Core, "outbox" | "describeSession">,
  merchantId: MerchantId,
  changed: readonly Changed[],
): Promise<readonly AgreementId[]> {
  // The fixed order prevents two deletions from waiting for each other.
  const agreements = changed.toSorted((one, other) => ((one.sessionId ?? "") < (other.sessionId ?? "") ? -1 : 1));
  for (const { agreementId, sessionId } of agreements) {
    if (agreementId === null || sessionId === null || !(await lockSubject(tx, sessionId))) continue;
    await emitAgreement(tx, core, { id: sessionId, merchantId }, agreementId);
  }
  return agreements.flatMap(({ agreementId }) => agreementId ?? []);
}
