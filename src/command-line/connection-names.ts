/** Reads a merchant's names for its gateway connections, for answers that hold only their ids. */
import type { DashboardClient } from "../client/dashboard-client.ts";

/** Returns the name of a connection by its id; undefined if the merchant has no such connection. */
export type ConnectionNames = (connectionId: string) => ConnectionName | undefined;

type ConnectionName = { readonly gateway: string; readonly account: string };
type Connections = DashboardClient["connections"];

export async function readConnectionNames(
  connections: Connections,
  scope: Parameters<Connections["listGatewayConnections"]>[0],
): Promise<ConnectionNames> {
  const { connections: rows = [] } = await connections.listGatewayConnections(scope);
  const names = new Map(
    rows.map(({ connectionId, gateway = "", account = "" }) => [connectionId, { gateway, account }]),
  );
  return (connectionId) => names.get(connectionId);
}
