/** The dashboard's RPCs over a core that really pays at both sandbox gateways, for tests of pages about payments. */
import { Pool } from "pg";
import { openEnvironmentTo } from "../../../accounts/issue-keys.ts";
import { createMerchant } from "../../../accounts/merchants.ts";
import { generateOperatorToken, insertOperatorToken } from "../../../accounts/operator-tokens.ts";
import { createDashboardClient } from "../../../client/dashboard-client.ts";
import { startCoreFixture } from "../../../core/scenarios/core.fixture.ts";
import { serveDashboard } from "../../../dashboard/dashboard.fixture.ts";
import { requestIdKey } from "../../../edge/caller.ts";
import { toConnectError, toDomainError } from "../../../edge/error-mapping.ts";
import type { EndpointContext } from "../../../events/endpoints.ts";
import { Database } from "../../../platform/database.ts";
import { encodeId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { createTestDatabase } from "../postgres.ts";

const brand = "switchyard";

/** Close it when the file's tests are done. Webhook endpoints are not served. */
export async function startPayingDashboard() {
  const [payments, accountsDatabase] = await Promise.all([startCoreFixture(), createTestDatabase("accounts")]);
  const accounts = new Database(new Pool({ connectionString: accountsDatabase.url, max: 2, pipeline: true }));
  const { database } = payments.core;
  const { merchantId } = payments.owner;
  await createMerchant(accounts, { id: merchantId, name: "Corner Coffee" });
  await database.transaction((tx) =>
    openEnvironmentTo(tx, { runtime: systemRuntime, brand, environment: "test" }, merchantId),
  );
  const server = await serveDashboard({
    environments: {
      test: { name: "test", cell: 1, core: payments.core, database, reads: database, endpoints: {} as EndpointContext },
    },
    accounts,
    runtime: systemRuntime,
    brand,
    apiOrigin: "https://pay.example.com",
    emulatorOrigins: { test: { ADYEN: "http://127.0.0.1:4404" }, live: {} },
    dashboardOrigin: undefined,
    signIns: undefined,
    mailer: undefined,
    requestIdOf: (values) => values.get(requestIdKey),
    toConnectError: (error, requestId) => {
      const style = { brand, errorDocsUrl: "https://pay.example.com/errors" };
      return toConnectError(style, toDomainError(error), requestId);
    },
  });
  const clients: { close(): void }[] = [];
  return {
    payments,
    scope: { merchantId: encodeId("mer", merchantId), environment: "ENVIRONMENT_TEST" as const },
    /** SANDBOX_A's and SANDBOX_B's, as the RPCs name them. */
    connectionIds: payments.connectionIds.map((id) => encodeId("gc", id)),
    /** The RPCs as a new operator calls them. */
    async callAs(label: string) {
      const token = generateOperatorToken(systemRuntime, brand);
      await insertOperatorToken(accounts, { id: systemRuntime.uuid(), label, token });
      const client = createDashboardClient(server.address, token);
      clients.push(client);
      return client;
    },
    async close(): Promise<void> {
      for (const client of clients) client.close();
      await server.close();
      await Promise.all([payments.close(), accounts.pool.end()]);
      await accountsDatabase.drop();
    },
  };
}
