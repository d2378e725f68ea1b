/** An edge and a worker that serve test in two cells; the way to the second cell's database can be cut. */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { generateOperatorToken, insertOperatorToken } from "../accounts/operator-tokens.ts";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { readConfig } from "../config/config.ts";
import { addressesFrom } from "../demo/ports.ts";
import { roleVariables } from "../demo/role-variables.ts";
import { freePortRange } from "../dev/testing/free-port-range.ts";
import { startTestNats } from "../dev/testing/nats.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { TcpGate } from "../dev/testing/tcp-gate.ts";
import { testStateFolder } from "../dev/testing/test-run.ts";
import { createLogger } from "../platform/log.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { openInstallation, startEdge, startWorker } from "./installation.ts";

const nowhere = { host: "127.0.0.1", port: 1 };

/** Starts the installation with two cells; close it at the file's end. */
export async function startCellsFixture() {
  await using starting = new AsyncDisposableStack();
  const folder = mkdtempSync(join(testStateFolder, "cells-"));
  starting.defer(() => rm(folder, { recursive: true }));
  const nats = await startTestNats();
  starting.defer(() => nats.stop({ removeData: true }));
  const [first, second, accounts] = await Promise.all(
    (["environment", "environment", "accounts"] as const).map(async (kind) => {
      const database = await createTestDatabase(kind);
      starting.defer(() => database.drop());
      return database;
    }),
  );
  const server = new URL(second!.url);
  const place = { host: server.hostname, port: Number(server.port) };
  const gate = await TcpGate.open(place);
  starting.defer(() => gate.close());
  server.hostname = "127.0.0.1";
  server.port = String(gate.port);
  const addresses = addressesFrom(await freePortRange(2));
  const databases = { test: first!.url, live: first!.url, accounts: accounts!.url, vault: accounts!.url };
  const variables = {
    ...roleVariables(folder, addresses, { databases, nats: nats.urls }),
    SWITCHYARD_ENVIRONMENTS: "test",
    SWITCHYARD_TEST_CELL_2_DATABASE_URL: server.href,
  };
  const config = readConfig(["edge"], variables);
  const log = createLogger({ name: "edge", level: "silent" });
  const open = (brand = config.brand) => openInstallation({ ...config, brand, service: config.service! }, log);
  const installation = await open();
  starting.defer(() => installation.close());
  const edge = await startEdge(installation);
  starting.defer(() => edge.close());
  const worker = await startWorker(installation);
  starting.defer(() => worker.close());
  const token = generateOperatorToken(systemRuntime, "switchyard");
  await insertOperatorToken(installation.accounts, { id: systemRuntime.uuid(), label: "cells", token });
  const stack = starting.move();
  const origin = `http://127.0.0.1:${addresses.ports.public}`;
  return {
    installation,
    /** Starts another installation on the same databases. */
    open,
    origin,
    owner: { first: first!.ownerUrl, second: second!.ownerUrl },
    /** Makes the second cell's database unreachable, or reachable again. */
    cutSecond: () => gate.leadTo(nowhere),
    restoreSecond: () => gate.leadTo(place),
    /** Calls the dashboard's rpcs as an operator, in a cell or in the merchant's own. */
    async operate<Answer>(call: (client: ReturnType<typeof createDashboardClient>) => Promise<Answer>, cell?: number) {
      const client = createDashboardClient(addresses.grpcAddress, token, cell === undefined ? undefined : String(cell));
      return call(client).finally(() => client.close());
    },
    isReady: async () => (await fetch(`${origin}/readyz`)).status,
    async call(key: string, path: string, body?: object, idempotencyKey?: string) {
      const response = await fetch(`${origin}/api/v1/payment-sessions${path}`, {
        headers: {
          authorization: `Bearer ${key}`,
          ...(body && { "content-type": "application/json" }),
          ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
        },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, json: await response.json() };
    },
    close: () => stack.disposeAsync(),
  };
}
