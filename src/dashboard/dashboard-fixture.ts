/** The dashboard's rpcs on a real gRPC port over databases of its own, with a merchant, an operator and a pretend acquirer. */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Pool } from "pg";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { grantRole, insertMember, type MemberRole } from "../accounts/members.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { generateOperatorToken, insertOperatorToken, revokeOperatorTokens } from "../accounts/operator-tokens.ts";
import { hashPassword } from "../accounts/passwords.ts";
import { selfHostedForwarding } from "../client/self-hosted-vault.ts";
import { usualTiming } from "../core/core.ts";
import { requestIdKey } from "../edge/caller.ts";
import { toConnectError, toDomainError } from "../edge/error-mapping.ts";
import { deliverOnce } from "../events/deliver.ts";
import { fanOut } from "../events/fan-out.ts";
import { openEventsBed } from "../events/testing/events-bed.ts";
import { GatewayHttp } from "../gateways/gateway-http.ts";
import { SandboxAConnector } from "../gateways/sandbox/a/connector.ts";
import { startSandbox } from "../gateways/sandbox/main.ts";
import { Database } from "../platform/database.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Mailer } from "../platform/mail.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import { TestForwarder } from "../testing/forwarder.ts";
import { Mailbox } from "../testing/mailbox.ts";
import { createTestDatabase } from "../testing/postgres.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { createDashboardRoutes } from "./routes.ts";

const brand = "switchyard";

/** Of every member that a test adds. */
export const memberPassword = "correct horse battery";

/** A served dashboard, its merchant and its operators. */
export type DashboardFixture = Awaited<ReturnType<typeof startDashboardFixture>>;

/** Close it when the file's tests are done. With members it is served as on the dashboard's own port; mail goes to a mailbox. */
export async function startDashboardFixture(options: { members?: boolean; mail?: boolean } = {}) {
  const bed = await openEventsBed();
  const accountsDatabase = await createTestDatabase("accounts");
  const accounts = new Database(new Pool({ connectionString: accountsDatabase.url, max: 4 }));
  const sandbox = await startSandbox({ port: 0 });
  const http = new GatewayHttp();
  const forwarder = new TestForwarder(http, "4242424242424242");
  const connector = new SandboxAConnector({ http, forwarder, origin: sandbox.origin, environment: "test" });
  const { database, sealing } = bed.context;
  const core = {
    sealing,
    connectorOf: (gateway: string) => (gateway === "SANDBOX_A" ? connector : undefined),
    pageTokenKey: [new Secret("page")] as const,
    timing: usualTiming,
    vault: { forwarding: selfHostedForwarding },
  };
  const mailbox = await Mailbox.start();
  const mailServer = { host: "127.0.0.1", port: mailbox.port, tls: "if_offered", login: undefined } as const;
  const server = await serveDashboard({
    environments: { test: { name: "test", core, database, reads: database, endpoints: bed.context } },
    accounts,
    entropy: systemEntropy,
    brand,
    apiOrigin: "https://pay.example.com",
    dashboardOrigin: "https://dashboard.example.com",
    mailer: options.mail === false ? undefined : new Mailer({ ...mailServer, from: "pay@example.com" }),
    signIns: options.members ? { sealing, addressOf: () => "127.0.0.1" } : undefined,
    requestIdOf: (values) => values.get(requestIdKey),
    toConnectError: (error, requestId) =>
      toConnectError({ brand, errorDocsUrl: "https://pay.example.com/errors" }, toDomainError(error), requestId),
  });
  const merchant = { id: systemEntropy.uuid(), name: "Corner Coffee" };
  const maker = { entropy: systemEntropy, brand, environment: "test" };
  const { secretKey } = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchant.id));
  await createMerchant(accounts, merchant);
  return {
    address: server.address,
    sandboxOrigin: sandbox.origin,
    merchantId: encodeId("mer", merchant.id),
    secretKey,
    mailbox,
    sealing,
    /** A new operator's token, which is let in from now on. */
    async hireOperator(label: string): Promise<Secret> {
      const token = generateOperatorToken(systemEntropy, brand);
      await insertOperatorToken(accounts, { id: systemEntropy.uuid(), label, token });
      return token;
    },
    /** Revokes every token with this label. */
    dismissOperator: (label: string) => revokeOperatorTokens(accounts, label),
    ...openers(database, merchant.id),
    ...(await teamOf(accounts, merchant.id)),
    /** Tells an event of a new session, or of this one, and makes its deliveries. */
    async tellEvent(of?: string): Promise<{ eventId: string; sessionId: string; sessionUuid: string }> {
      const { eventId, sessionId } = await bed.tell({ merchantId: merchant.id, ...(of && { sessionId: of }) });
      await fanOut(database, [{ sessionId, sequence: 99 }]);
      return { eventId: encodeId("evt", eventId), sessionId: encodeId("ps", sessionId), sessionUuid: sessionId };
    },
    /** Posts what is due, as a worker would. */
    deliver: () => deliverOnce(bed.context),
    setClockAhead: bed.setClockAhead,
    rows: bed.rows,
    database,
    async close(): Promise<void> {
      await server.close();
      await Promise.all([sandbox.close(), http.close(), accounts.pool.end(), mailbox.close()]);
      await Promise.all([bed.close(), accountsDatabase.drop()]);
    },
  };
}

/** The merchant's people. Their password is always the same, as it takes long to hash. */
async function teamOf(accounts: Database, merchantId: string) {
  const passwordHash = await hashPassword(new Secret(memberPassword));
  return {
    accounts,
    /** A new member, with a role for the merchant or with none. */
    async addMember(name: string, role?: MemberRole): Promise<{ memberId: string; email: string }> {
      const member = { id: systemEntropy.uuid(), name, email: `${name.toLowerCase()}@example.com` };
      await insertMember(accounts, member, passwordHash);
      if (role) await accounts.transaction((tx) => grantRole(tx, merchantId, member.id, role));
      return { memberId: encodeId("mbr", member.id), email: member.email };
    },
    /** Until a statement of this text waits for a lock. */
    async waitForLock(text: string): Promise<void> {
      const waiting = {
        name: "test_waiting",
        text: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE $1",
      };
      while ((await accounts.query(waiting, [`%${text}%`])).length === 0);
    },
    /** Rows of the accounts' database. */
    accountRows: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      accounts.query<Row>({ name: `test ${sha256(text).toString("hex").slice(0, 40)}`, text }, values),
  };
}

/** Opens what a person has to look at. */
function openers(database: Database, merchantId: string) {
  return {
    /** A new item in the work list, about the merchant. */
    async openItem(detail: string): Promise<{ workItemId: string; sessionId: string }> {
      const [id, sessionId] = [systemEntropy.uuid(), systemEntropy.uuid()];
      const text = `INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, detail)
        VALUES ($1, 'STRAY_HOLD', $2, $3, $1, $4)`;
      await database.query({ name: "open_item", text }, [id, merchantId, sessionId, detail]);
      return { workItemId: encodeId("wi", id), sessionId: encodeId("ps", sessionId) };
    },
    /** A new notice about an endpoint of the merchant. */
    async openNotice(endpointId: string): Promise<string> {
      const id = systemEntropy.uuid();
      const text = `INSERT INTO endpoint_notice (id, merchant_id, endpoint_id, kind, failing_since, status_code)
        VALUES ($1, $2, $3, 'FAILING_24_HOURS', app.clock() - interval '25 hours', 503)`;
      await database.query({ name: "open_notice", text }, [id, merchantId, decodeId("we", endpointId)]);
      return encodeId("ntc", id);
    },
  };
}

/** Serves the rpcs on a free port. */
export async function serveDashboard(parts: DashboardParts) {
  const server = createServer(
    connectNodeAdapter({
      routes: createDashboardRoutes(parts),
      contextValues: () => createContextValues().set(requestIdKey, encodeId("req", systemEntropy.uuid())),
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
