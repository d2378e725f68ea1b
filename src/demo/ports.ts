/** The demo's addresses: eleven consecutive loopback ports, easy to remember and to move. */
import { createServer } from "node:net";
import { CannotStart } from "./detached-server.ts";

/** The address of each part of the demo. The merchant's page is on another host name, so it is another site. */
export type DemoAddresses = ReturnType<typeof addressesFrom>;

export function addressesFrom(port: number) {
  const at = (offset: number) => port + offset;
  return {
    ports: {
      public: at(0),
      grpc: at(1),
      vault: at(2),
      vaultGrpc: at(3),
      sandbox: at(4),
      shop: at(5),
      metrics: at(6),
      dashboard: at(7),
      edgeMetrics: at(8),
      vaultMetrics: at(9),
      dashboardMetrics: at(10),
    },
    apiOrigin: `http://localhost:${at(0)}`,
    grpcAddress: `127.0.0.1:${at(1)}`,
    vaultOrigin: `http://localhost:${at(2)}`,
    vaultGrpcAddress: `127.0.0.1:${at(3)}`,
    sandboxOrigin: `http://127.0.0.1:${at(4)}`,
    shopUrl: `http://127.0.0.1:${at(5)}`,
    dashboardOrigin: `http://localhost:${at(7)}`,
    metricsUrl: `http://127.0.0.1:${at(6)}/metrics`,
  };
}

/** Throws CannotStart if one of the ports is in use, with its name and a way to choose others. */
export async function requireFreePorts(ports: Readonly<Record<string, number>>): Promise<void> {
  for (const [part, port] of Object.entries(ports)) {
    if (await isFree(port)) continue;
    throw new CannotStart(
      `Port ${port} (${part}) is in use by another program. If another demo is running, stop it; otherwise choose other ports: npm start -- --port ${port + 100}`,
    );
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
