/** A merchant's accounts at gateways: proto ↔ gateways. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddGatewayConnectionResponseSchema,
  type GatewayConnectionService,
  ListGatewayConnectionsResponseSchema,
  VerifyGatewayConnectionResponseSchema,
} from "../../gen/dashboard/v1/gateway_connections_pb.ts";
import { findCredentialProblems } from "../gateways/check-credentials.ts";
import {
  type Connection,
  listConnections,
  loadNewestVersion,
  recordConnection,
  stageCredentials,
} from "../gateways/connections.ts";
import { verifyConnection } from "../gateways/verify-connection.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { type Scope, scopedVisitOf } from "./visit.ts";

/** The rpcs that connect a merchant's gateway accounts and verify their credentials. */
export function createGatewayConnectionService(parts: DashboardParts): ServiceImpl<typeof GatewayConnectionService> {
  return {
    async addGatewayConnection(request, context) {
      const { merchantId, environment, visit, change } = scopedVisitOf(context);
      const { gateway, account, credentials } = request;
      const problems = findCredentialProblems(requireConnector(environment, gateway).credentialFields, credentials);
      if (problems[0]) throw new DomainError(problems[0].code, "The credentials are not complete.", { problems });
      const connection = { id: parts.entropy.uuid(), merchantId, gateway, account };
      const connectionId = encodeId("gc", connection.id);
      await change(async (tx) => {
        const known = await listConnections(tx, merchantId);
        if (known.some((each) => each.gateway === gateway && each.account === account)) {
          throw new DomainError("invalid_field", "This account is connected already.", { field: "account" });
        }
        await recordConnection(tx, connection);
        await stageCredentials(tx, environment.core.sealing, { connectionId: connection.id, credentials });
        await visit.audit(tx, { subject: connectionId, after: { gateway, account } });
      });
      return create(AddGatewayConnectionResponseSchema, {
        connection: toMessage({ ...connection, credentialVersion: null, paused: false }),
        notificationUrl: `${parts.apiOrigin}/gateway-notifications/${environment.name}/${connectionId}`,
      });
    },

    async verifyGatewayConnection(request, context) {
      const { visit, ...scope } = scopedVisitOf(context);
      const { database, core } = scope.environment;
      const { id, gateway, credentialVersion: inUse } = await requireConnection(scope, request.connectionId);
      const credentialVersion = await loadNewestVersion(database, id);
      const { verified, rows } = await verifyConnection(
        {
          database,
          ring: core.sealing,
          connector: requireConnector(scope.environment, gateway),
          forwarding: core.vault.forwarding,
        },
        { connectionId: id, credentialVersion },
      );
      // The test call must not run inside a transaction, so this row comes after what it tells of.
      await visit.audit(database, {
        subject: request.connectionId,
        before: { credentialVersion: inUse },
        after: { credentialVersion: verified ? credentialVersion : inUse, tried: credentialVersion, verified },
      });
      return create(VerifyGatewayConnectionResponseSchema, {
        verified,
        checks: rows.map(({ check, state, required, detail }) => ({
          check,
          passed: state === "passed",
          required,
          detail,
        })),
      });
    },

    async listGatewayConnections(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const connections = await listConnections(environment.database, merchantId);
      return create(ListGatewayConnectionsResponseSchema, { connections: connections.map(toMessage) });
    },
  };
}

function requireConnector({ core, name }: DashboardEnvironment, gateway: string) {
  const connector = core.connectorOf(gateway);
  if (connector !== undefined) return connector;
  throw new DomainError("invalid_field", `This installation has no connector for the gateway in ${name}.`, {
    field: "gateway",
  });
}

async function requireConnection({ merchantId, environment }: Scope, publicId: string): Promise<Connection> {
  const id = decodeId("gc", publicId);
  const connection = (await listConnections(environment.database, merchantId)).find((each) => each.id === id);
  if (connection === undefined) throw new DomainError("not_found", "There is no gateway connection with this id.");
  return connection;
}

function toMessage({ id, gateway, account, credentialVersion, paused }: Connection) {
  return { connectionId: encodeId("gc", id), gateway, account, verified: credentialVersion !== null, paused };
}
