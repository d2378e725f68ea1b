/** Finds what matters about stored cards: agreements that no gateway can charge, many stopped renewals, and cards that are not erased. */

import type { Matter, OpenMatter } from "../events/alerts.ts";
import type { Connector } from "../gateways/connector.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { type AgreementId, encodeId, type MerchantId } from "../platform/ids.ts";
import { clockSkewMs, firstIdAt } from "./past-payments.ts";

/** Returns the connector of a gateway, which says how it continues agreements. */
export type ConnectorOf = (gateway: string) => Pick<Connector, "storedCards"> | undefined;

const nobody = "00000000-0000-0000-0000-000000000000";
// Agreements that a message counts.
const countedMax = 1_000;

const selectGateways: Statement = {
  name: "select_gateways_of_agreements",
  text: "SELECT DISTINCT gateway FROM connection WHERE credential_version IS NOT NULL AND NOT paused",
};

// Reads by the few kinds of chains that a merchant's agreements have, one step of the index for each, however many
// agreements there are.
const selectUnchargeable: Statement = {
  name: "select_unchargeable_agreements",
  text: `
    WITH RECURSIVE chain AS (
      (SELECT a.merchant_id, coalesce(a.own_connection_id, '${nobody}') AS own, a.network_transaction_id IS NULL AS unnamed
       FROM agreement a WHERE a.status = 'ACTIVE' ORDER BY 1, 2, 3 LIMIT 1)
      UNION ALL
      SELECT n.* FROM chain k CROSS JOIN LATERAL (
        SELECT a.merchant_id, coalesce(a.own_connection_id, '${nobody}') AS own, a.network_transaction_id IS NULL AS unnamed
        FROM agreement a
        WHERE a.status = 'ACTIVE' AND (a.merchant_id, coalesce(a.own_connection_id, '${nobody}'), a.network_transaction_id IS NULL) > (k.merchant_id, k.own, k.unnamed)
        ORDER BY 1, 2, 3 LIMIT 1) n),
    unchargeable AS (
      SELECT k.* FROM chain k WHERE NOT EXISTS (
        SELECT FROM connection c WHERE c.merchant_id = k.merchant_id AND c.credential_version IS NOT NULL AND NOT c.paused
          AND (c.gateway = ANY ($1) AND c.id = k.own OR c.gateway = ANY ($2) AND NOT k.unnamed)))
    SELECT k.merchant_id AS "merchantId", sum(a.count)::int AS count, min(a.since) AS since, (array_agg(a.newest ORDER BY a.newest DESC))[1] AS newest
    FROM unchargeable k CROSS JOIN LATERAL (
      SELECT count(*) AS count, min(l.created_at) AS since, (array_agg(l.id ORDER BY l.id DESC))[1] AS newest FROM (
        SELECT a.id, a.created_at FROM agreement a
        WHERE a.status = 'ACTIVE' AND a.merchant_id = k.merchant_id AND coalesce(a.own_connection_id, '${nobody}') = k.own
          AND (a.network_transaction_id IS NULL) = k.unnamed LIMIT ${countedMax}) l) a
    GROUP BY k.merchant_id`,
};

const nothing = { endpointId: null, connectionId: null, gateway: null } as const;

type Found = Matter & { readonly detail: string; readonly since?: Date };

async function findUnchargeable(database: Queryable, connectorOf: ConnectorOf): Promise<Found[]> {
  const gateways = (await database.query<{ gateway: string }>(selectGateways, [])).map(({ gateway }) => gateway);
  const by = (mode: "own" | "network") => gateways.filter((gateway) => connectorOf(gateway)?.storedCards === mode);
  type Row = { merchantId: MerchantId; count: number; newest: AgreementId };
  const rows = await database.query<Row>(selectUnchargeable, [by("own"), by("network")]);
  return rows.map(({ merchantId, count, newest }) => {
    const many = count >= countedMax ? `${countedMax} agreements or more` : `${count} agreements`;
    const name = encodeId("agr", newest);
    const which = count === 1 ? `The agreement ${name}` : `${many}, the newest of them ${name},`;
    const detail = `${which} cannot be charged: no gateway that is connected and not paused continues ${count === 1 ? "it" : "them"}.`;
    return { ...nothing, merchantId, kind: "AGREEMENTS_UNCHARGEABLE" as const, detail };
  });
}

// A single stopped card of a few renewals says nothing about the gateway.
const stoppedMin = 5;
// More than 1 % is stopped: fewer renewals than this many for each stopped one.
const renewalsForEach = 100;

// The try with which a card was stopped is the last one that counts against it. A customer's own payment is no renewal.
const selectStopped: Statement = {
  name: "select_stopped_renewals",
  text: `
    SELECT c.merchant_id AS "merchantId", a.gateway, count(*)::int AS stopped, min(c.stopped_at) AS since
    FROM card_state c CROSS JOIN LATERAL (
        SELECT d.attempt_id, d.by_customer FROM card_decline d
        WHERE d.merchant_id = c.merchant_id AND d.fingerprint = c.fingerprint AND d.declined_at <= c.stopped_at
        ORDER BY d.declined_at DESC LIMIT 1) d
      JOIN attempt a ON a.id = d.attempt_id
    WHERE c.stopped_at > (SELECT app.clock()) - interval '1 day' AND NOT d.by_customer
    GROUP BY c.merchant_id, a.gateway HAVING count(*) >= ${stoppedMin}`,
};
const countRenewals: Statement = {
  name: "count_renewals_at_gateway",
  text: `
    SELECT count(*)::int AS renewals FROM (
      SELECT FROM stored_payment p
      WHERE p.session_id >= $3 AND p.merchant_id = $1 AND p.role = 'RENEWAL'
        AND EXISTS (SELECT FROM attempt a WHERE a.session_id = p.session_id AND a.gateway = $2)
      LIMIT $4) r`,
};

async function findStopped(database: Queryable, now: Date): Promise<Found[]> {
  type Row = { merchantId: MerchantId; gateway: string; stopped: number; since: Date };
  const firstId = firstIdAt(new Date(now.getTime() - 24 * 60 * 60_000 - clockSkewMs));
  const found: Found[] = [];
  for (const { merchantId, gateway, stopped, since } of await database.query<Row>(selectStopped, [])) {
    const values = [merchantId, gateway, firstId, stopped * renewalsForEach];
    const [{ renewals }] = (await database.query<{ renewals: number }>(countRenewals, values)) as [
      { renewals: number },
    ];
    if (renewals >= stopped * renewalsForEach) continue;
    const detail = `Banks have stopped the cards of ${stopped} of the ${renewals} renewals that ${gateway} was asked for in the last 24 hours.`;
    found.push({ ...nothing, merchantId, kind: "RENEWALS_STOPPED", gateway, since, detail });
  }
  return found;
}

const selectUnerased: Statement = {
  name: "select_unerased_cards",
  text: `
    SELECT merchant_id AS "merchantId", count(*)::int AS count, min(wanted_at) AS since FROM card_erasure
    WHERE wanted_at < (SELECT app.clock()) - interval '1 hour' GROUP BY merchant_id`,
};

async function findUnerased(database: Queryable): Promise<Found[]> {
  type Row = { merchantId: MerchantId; count: number; since: Date };
  return (await database.query<Row>(selectUnerased, [])).map(({ merchantId, count, since }) => {
    const which = count === 1 ? "A deleted or replaced card waits" : `${count} deleted or replaced cards wait`;
    const detail = `${which} for the vault to erase what it keeps, for an hour or longer.`;
    return { ...nothing, merchantId, kind: "CARDS_NOT_ERASED" as const, since, detail };
  });
}

const kinds: readonly string[] = ["AGREEMENTS_UNCHARGEABLE", "RENEWALS_STOPPED", "CARDS_NOT_ERASED"];

export async function compareStoredCards(
  { database, connectorOf }: { readonly database: Queryable; readonly connectorOf: ConnectorOf },
  { open, now }: { readonly open: readonly OpenMatter[]; readonly now: Date },
): Promise<{ readonly found: readonly Found[]; readonly over: readonly OpenMatter[] }> {
  const found = [
    ...(await findUnchargeable(database, connectorOf)),
    ...(await findStopped(database, now)),
    ...(await findUnerased(database)),
  ];
  const isFound = ({ merchantId, kind, gateway }: OpenMatter) =>
    found.some((one) => one.merchantId === merchantId && one.kind === kind && one.gateway === gateway);
  return { found, over: open.filter((alert) => kinds.includes(alert.kind) && !isFound(alert)) };
}
