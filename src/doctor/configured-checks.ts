/** Checks the merchants' configuration: endpoints that get nothing, and gateways' accounts that no payment can use. */
import type { Queryable } from "../platform/database.ts";
import { type ConnectionId, type EndpointId, encodeId, type MerchantId } from "../platform/ids.ts";
import { type Finding, namedMax, ok, warning } from "./finding.ts";

// Longest failure of an endpoint: a wrong URL is found in an hour, and retries continue for days.
const endpointFailingSecondsMax = 3_600;

const selectEndpoints = {
  name: "examine_endpoints",
  text: `SELECT id, merchant_id AS "merchantId", status, disabled_reason AS reason,
           coalesce(extract(epoch FROM app.clock() - failing_since), 0)::float8 AS "failingSeconds"
         FROM endpoint
         WHERE status = 'DISABLED' AND disabled_reason <> 'OWNER' OR status = 'ENABLED' AND failing_since < app.clock() - $1 * interval '1 s'
         ORDER BY id LIMIT $2`,
};
const selectConnections = {
  name: "examine_connections",
  text: `SELECT id, merchant_id AS "merchantId", gateway FROM connection
         WHERE credential_version IS NULL AND created_at < app.clock() - $1 * interval '1 s' ORDER BY id LIMIT $2`,
};

type EndpointRow = {
  readonly id: EndpointId;
  readonly merchantId: MerchantId;
  readonly status: string;
  readonly reason: string | null;
  readonly failingSeconds: number;
};
type ConnectionRow = { readonly id: ConnectionId; readonly merchantId: MerchantId; readonly gateway: string };

/** Returns findings on endpoints that are disabled or fail, and on accounts at gateways that were never verified. */
export async function examineConfigured(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  const values = [endpointFailingSecondsMax, namedMax];
  const endpoints = await database.query<EndpointRow>(selectEndpoints, values);
  const connections = await database.query<ConnectionRow>(selectConnections, values);
  const webhooks = `webhooks ${environment}`;
  const gateways = `gateways ${environment}`;
  const scope = (merchantId: MerchantId) => `--environment ${environment} --merchant ${encodeId("mer", merchantId)}`;
  return [
    ...(endpoints.length === 0
      ? [ok(webhooks, "every endpoint accepts its webhooks, or was stopped by its owner")]
      : []),
    ...endpoints.map(({ id, merchantId, status, reason, failingSeconds }) => {
      const name = encodeId("we", id);
      const why = reason === "GONE" ? "it answered 410" : "it failed for days";
      return status === "DISABLED"
        ? warning(
            webhooks,
            `the endpoint ${name} is disabled, because ${why}`,
            `notify its owner; once it answers again: switchyard rpc WebhookEndpointService/EnableWebhookEndpoint '{"endpointId": "${name}"}' ${scope(merchantId)}`,
          )
        : warning(
            webhooks,
            `the endpoint ${name} has failed for ${Math.round(failingSeconds / 60)} minutes`,
            `see its responses: switchyard rpc WebhookDeliveryService/ListWebhookDeliveries '{"endpointId": "${name}"}' ${scope(merchantId)}`,
          );
    }),
    ...(connections.length === 0 ? [ok(gateways, "every account at a gateway was verified")] : []),
    ...connections.map(({ id, merchantId, gateway }) =>
      warning(
        gateways,
        `the account ${encodeId("gc", id)} at ${gateway} was never verified, and no payment uses it`,
        `switchyard rpc GatewayConnectionService/VerifyGatewayConnection '{"connectionId": "${encodeId("gc", id)}"}' ${scope(merchantId)}`,
      ),
    ),
  ];
}
