/** The default rule: it routes the payments of a merchant that has saved none. Its version is 0. */

import type { Connection } from "../../gateways/connections.ts";
import { attemptsMax } from "../../limits.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import type { MerchantId } from "../../platform/ids.ts";
import { isBrakingInSql } from "../card-testing/card-counts.ts";
import type { Core } from "../core.ts";
import type { FailoverSwitch } from "../rows/entities.ts";

/** The part of the core that distinguishes gateways from providers of authentication. */
export type DefaultParts = Pick<Core, "connectorOf">;

/** All failures that a rule can choose lead to the next gateway. */
export const defaultFailover: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];

// Every merchant that has a rule is without a default one, whatever that rule names.
const selectDefault: Statement = {
  name: "select_default_route",
  text: `
    SELECT c.id, c.gateway, c.credential_version AS "credentialVersion", c.paused, c.acquirer,
      ${isBrakingInSql} AS "isBraking"
    FROM connection c
    WHERE c.merchant_id = $1 AND NOT c.paused AND c.credential_version IS NOT NULL
      AND NOT EXISTS (SELECT FROM routing_rule WHERE merchant_id = $1)
    ORDER BY c.first_verified_at, c.id`,
};

type DefaultConnection = Pick<Connection, "id" | "gateway" | "paused" | "acquirer"> & {
  readonly credentialVersion: number;
  readonly isBraking: boolean;
};

/**
 * Loads the connections of the default rule, highest priority first: those that are verified and not paused, in the order of their
 * first verification, at most five. A provider of authentication is none. Empty for a merchant with a saved rule.
 */
export async function loadDefaultConnections(
  { connectorOf }: DefaultParts,
  queryable: Queryable,
  merchantId: MerchantId,
): Promise<DefaultConnection[]> {
  const rows = await queryable.query<DefaultConnection>(selectDefault, [merchantId]);
  return rows.filter(({ gateway }) => connectorOf(gateway) !== undefined).slice(0, attemptsMax);
}
