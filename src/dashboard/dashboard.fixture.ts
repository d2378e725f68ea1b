/** The dashboard's rpcs on a real gRPC port, with a merchant, an operator and a sandbox acquirer. */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Pool } from "pg";
import type { IdentityProvider } from "../accounts/identity-providers-file.ts";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { grantRoles, insertMember, type LiveRole, type MemberRole } from "../accounts/members.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { generateOperatorToken, insertOperatorToken, revokeOperatorTokens } from "../accounts/operator-tokens.ts";
import { hashPassword } from "../accounts/passwords.ts";
import type { InternalService } from "../accounts/services-file.ts";
import { selfHostedForwarding } from "../card-vault/own/vault-rpc.ts";
import { defaultTiming } from "../core/core.ts";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { TestForwarder } from "../dev/testing/forwarder.ts";
import { Mailbox } from "../dev/testing/mailbox.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { requestIdKey } from "../edge/caller.ts";
import { toConnectError, toDomainError } from "../edge/error-mapping.ts";
import { describeForEvent } from "../edge/session-messages.ts";
import { createBinder } from "../gateways/connections.ts";
import { SandboxAConnector } from "../gateways/sandbox/a/connector.ts";
import { Database } from "../platform/database.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Mailer } from "../platform/mail.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import { untraced } from "../platform/telemetry.ts";
import { startSandbox } from "../sandbox/main.ts";
import { IdentityProviders } from "./company-sign-in/identity-providers.ts";
import type { ServedParts } from "./dashboard-parts.ts";
import { createDashboardRoutes } from "./routes.ts";

const brand = "switchyard";

export const memberPassword = "correct horse battery";

export type DashboardFixture = Awaited<ReturnType<typeof startDashboardFixture>>;

/**
 * Starts a dashboard; close it when the file's tests are done. With members it is served as on the dashboard's own
 * port, and mail goes to a mailbox.
 */
export async function startDashboardFixture(
  options: {
    members?: boolean;
    mail?: boolean;
    live?: boolean | "besideTest";
    secondFactor?: boolean;
    identityProviders?: IdentityProvider[];
    services?: InternalService[];
  } = {},
) {
  const harness = await openEventsHarness();
  const accountsDatabase = await createTestDatabase("accounts");
  const accounts = new Database(new Pool({ connectionString: accountsDatabase.url, max: 4 }));
  const sandbox = await startSandbox({ port: 0 });
  const http = new GatewayHttp();
  const forwarder = new TestForwarder(http, "4242424242424242");
  const connector = new SandboxAConnector({ http, forwarder, origin: sandbox.origin, environment: "test" });
  const { database, sealing, log } = harness.context;
  const connectorOf = (gateway: string) => (gateway === "SANDBOX_A" ? connector : undefined);
  const core = {
    sealing,
    providerOf: () => undefined,
    connectorOf,
    bind: createBinder({ database, ring: sealing, connectorOf }),
    log,
    tracing: untraced,
    pageTokenKey: [new Secret("page")] as const,
    timing: defaultTiming,
    runtime: systemRuntime,
    vault: { forwarding: selfHostedForwarding, forget: () => {} },
    outbox: { ...harness.context, publish: () => {} },
    describeSession: describeForEvent,
  };
  const mailbox = await Mailbox.start();
  const mailServer = { host: "127.0.0.1", port: mailbox.port, tls: "if_offered", login: undefined } as const;
  const serviceCalls: { environment: string; service: string }[] = [];
  const parts: ServedParts = {
    environments: servedAs(options.live, { core, database, reads: database, endpoints: harness.context }),
    accounts,
    runtime: systemRuntime,
    brand,
    apiOrigin: "https://pay.example.com",
    emulatorOrigins: { test: {}, live: {} },
    dashboardOrigin: "https://dashboard.example.com",
    mailer: options.mail === false ? undefined : new Mailer({ ...mailServer, from: "pay@example.com" }),
    signIns: options.members
      ? {
          sealing,
          addressOf: () => "127.0.0.1",
          requiresSecondFactor: options.secondFactor ?? false,
          identityProviders: new IdentityProviders(() => options.identityProviders ?? [], http),
        }
      : undefined,
    services: { entries: () => options.services ?? [], onCall: (admitted) => serviceCalls.push(admitted) },
    requestIdOf: (values) => values.get(requestIdKey),
    toConnectError: (error, requestId) =>
      toConnectError({ brand, errorDocsUrl: "https://pay.example.com/errors" }, toDomainError(error), requestId),
  };
  const server = await serveDashboard(parts);
  const merchant = { id: systemRuntime.uuid(), name: "Corner Coffee" };
  const maker = { runtime: systemRuntime, brand, environment: "test" };
  const { secretKey } = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchant.id));
  await createMerchant(accounts, merchant);
  return {
    ...server,
    parts,
    serviceCalls,
    accountsOwnerUrl: accountsDatabase.ownerUrl,
    sandboxOrigin: sandbox.origin,
    merchantId: encodeId("mer", merchant.id),
    scope: { merchantId: encodeId("mer", merchant.id), environment: "ENVIRONMENT_TEST" as const },
    secretKey,
    mailbox,
    sealing,
    connector,
    async hireOperator(label: string): Promise<Secret> {
      const token = generateOperatorToken(systemRuntime, brand);
      await insertOperatorToken(accounts, { id: systemRuntime.uuid(), label, token });
      return token;
    },
    dismissOperator: (label: string) => revokeOperatorTokens(accounts, label),
    ...openers(database, merchant.id),
    ...(await teamOf(accounts, merchant.id)),
    /** Emits an event of a new session, or of the given one, and creates its deliveries. */
    async emitEvent(of?: string): Promise<{ eventId: string; sessionId: string; sessionUuid: string }> {
      const { eventId, sessionId } = await harness.emit({ merchantId: merchant.id, ...(of && { sessionId: of }) });
      await fanOut(database, [{ sessionId, sequence: 99 }]);
      return { eventId: encodeId("evt", eventId), sessionId: encodeId("ps", sessionId), sessionUuid: sessionId };
    },
    deliver: () => deliverOnce(harness.context),
    setClockAhead: harness.setClockAhead,
    rows: harness.rows,
    database,
    async close(): Promise<void> {
      await server.close();
      await Promise.all([sandbox.close(), http.close(), accounts.pool.end(), mailbox.close()]);
      await Promise.all([harness.close(), accountsDatabase.drop()]);
    },
  };
}

function servedAs(
  live: boolean | "besideTest" = false,
  environment: Omit<NonNullable<ServedParts["environments"]["test"]>, "name" | "cell">,
): ServedParts["environments"] {
  return {
    ...(live !== false && { live: { ...environment, name: "live", cell: 1 } }),
    ...(live !== true && { test: { ...environment, name: "test", cell: 1 } }),
  };
}

/** The merchant's people. They share one password, as hashing takes long. */
async function teamOf(accounts: Database, merchantId: string) {
  const passwordHash = await hashPassword(new Secret(memberPassword));
  return {
    accounts,
    async addMember(
      name: string,
      role?: MemberRole,
      liveRole: LiveRole | undefined = role,
    ): Promise<{ memberId: string; email: string }> {
      const member = { id: systemRuntime.uuid(), name, email: `${name.toLowerCase()}@example.com` };
      await insertMember(accounts, member, passwordHash);
      if (role && liveRole)
        await accounts.transaction((tx) => grantRoles(tx, merchantId, member.id, { role, liveRole }));
      return { memberId: encodeId("mbr", member.id), email: member.email };
    },
    /** Waits until `count` statements with this text wait for a lock. */
    async waitForLock(text: string, count = 1): Promise<void> {
      const waiting = {
        name: "test_waiting",
        text: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE $1",
      };
      while ((await accounts.query(waiting, [`%${text}%`])).length < count);
    },
    accountRows: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      accounts.query<Row>({ name: `test ${sha256(text).toString("hex").slice(0, 40)}`, text }, values),
  };
}

function openers(database: Database, merchantId: string) {
  return {
    async openItem(detail: string, of = merchantId): Promise<{ workItemId: string; sessionId: string }> {
      const [id, sessionId] = [systemRuntime.uuid(), systemRuntime.uuid()];
      const text = `INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, detail)
        VALUES ($1, 'ORPHANED_AUTHORIZATION', $2, $3, $1, $4)`;
      await database.query({ name: "open_item", text }, [id, of, sessionId, detail]);
      return { workItemId: encodeId("wi", id), sessionId: encodeId("ps", sessionId) };
    },
    async openAlert(endpointId: string): Promise<string> {
      const id = systemRuntime.uuid();
      const text = `INSERT INTO alert (id, merchant_id, endpoint_id, kind, since, status_code)
        VALUES ($1, $2, $3, 'FAILING_24_HOURS', app.clock() - interval '25 hours', 503)`;
      await database.query({ name: "open_alert", text }, [id, merchantId, decodeId("we", endpointId)]);
      return encodeId("ntc", id);
    },
  };
}

/** Serves the rpcs on a free port; `route` adds the same rpcs to another server. */
export async function serveDashboard(parts: ServedParts) {
  const route = createDashboardRoutes(parts);
  const server = createServer(
    connectNodeAdapter({
      routes: route,
      contextValues: () => createContextValues().set(requestIdKey, encodeId("req", systemRuntime.uuid())),
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    route,
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
