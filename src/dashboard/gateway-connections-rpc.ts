/** A merchant's accounts at gateways: proto ↔ gateways. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AcquirerData as AcquirerDataMessage,
  type AcquirerExemption,
  AcquirerExemption_Kind,
  AddGatewayConnectionResponseSchema,
  type GatewayConnectionService,
  RotateGatewayCredentialsResponseSchema,
  VerifyGatewayConnectionResponseSchema,
} from "../../gen/dashboard/v1/gateway_connections_pb.ts";
import { listUnclassifiedCodes, type UnclassifiedCode } from "../core/record/unclassified-codes.ts";
import type { AcquirerData } from "../gateways/authentication-provider.ts";
import { findCredentialProblems } from "../gateways/check-credentials.ts";
import {
  type Connection,
  listConnections,
  loadNewestVersion,
  recordConnection,
  setAcquirerData,
  setConnectionPaused,
  stageCredentials,
} from "../gateways/connections.ts";
import type { VerifyRow } from "../gateways/connector.ts";
import {
  rotateCredentials,
  type Verifiable,
  type VerifyContext,
  verifyConnection,
} from "../gateways/verify-connection.ts";
import { isCountry } from "../platform/countries.ts";
import type { Queryable, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type MerchantId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { applyRoutingAnswer, routingAnswer } from "./route-verified.ts";
import { exemptionsOf } from "./routing-messages.ts";
import { type RpcContext, type ScopedContext, scopedContextOf } from "./rpc-context.ts";

type Methods = ServiceImpl<typeof GatewayConnectionService>;

/**
 * The rpcs that connect a merchant's gateway accounts, verify and rotate their credentials, pause them and list the
 * codes that they answered with.
 */
export function createGatewayConnectionService(parts: DashboardParts): Methods {
  return { ...credentialMethods(parts), ...accountMethods };
}

type WithCredentials = "addGatewayConnection" | "verifyGatewayConnection" | "rotateGatewayCredentials";

function credentialMethods(parts: DashboardParts): Pick<Methods, WithCredentials> {
  return {
    async addGatewayConnection(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const { gateway, account, credentials } = request;
      refuseMisshapen(requireVerifiable(environment, gateway), credentials);
      const connection = { id: environment.core.runtime.uuid(), merchantId, gateway, account };
      const connectionId = encodeId("gc", connection.id);
      await change(async (tx) => {
        const known = await listConnections(tx, merchantId);
        if (known.some((each) => each.gateway === gateway && each.account === account)) {
          throw new DomainError("invalid_field", "This account is already connected.", { field: "account" });
        }
        await recordConnection(tx, connection);
        await stageCredentials(tx, environment.core.sealing, { connectionId: connection.id, credentials });
        await rpcContext.audit(tx, { subject: connectionId, after: { gateway, account } });
      });
      return create(AddGatewayConnectionResponseSchema, {
        connection: toMessage(environment, {
          ...connection,
          credentialVersion: null,
          paused: false,
          acquirer: null,
        }),
        notificationUrl: `${parts.apiOrigin}/gateway-notifications/${environment.name}/${connectionId}`,
      });
    },

    async verifyGatewayConnection(request, context) {
      const { rpcContext, change, ...scope } = scopedContextOf(context);
      const { database } = scope.environment;
      const connection = await requireConnection(database, scope.merchantId, request.connectionId);
      const routes = routingAnswer(scope.environment, connection, request.routePayments);
      const credentialVersion = await loadNewestVersion(database, connection.id);
      const { verified, rows } = await verifyConnection(
        await verifyContext(rpcContext, scope.environment, { connection, apiOrigin: parts.apiOrigin }),
        { connectionId: connection.id, credentialVersion },
        { change, also: recordOutcome({ rpcContext, environment: scope.environment, connection, routes }) },
      );
      const now = await requireConnection(database, scope.merchantId, request.connectionId);
      const inUse = now.credentialVersion === credentialVersion;
      return create(VerifyGatewayConnectionResponseSchema, { verified, inUse, checks: rows.map(checkMessage) });
    },

    async rotateGatewayCredentials({ connectionId, credentials }, context) {
      const { rpcContext, change, ...scope } = scopedContextOf(context);
      const connection = await requireConnection(scope.environment.database, scope.merchantId, connectionId);
      refuseMisshapen(requireVerifiable(scope.environment, connection.gateway), credentials);
      // If the account was never verified, its new credentials need no confirmation, so live payments stay away.
      const routes = routingAnswer(
        scope.environment,
        connection,
        scope.environment.name === "live" ? false : undefined,
      );
      const { verified, rows } = await rotateCredentials(
        await verifyContext(rpcContext, scope.environment, { connection, apiOrigin: parts.apiOrigin }),
        { connectionId: connection.id, credentials },
        { change, also: recordOutcome({ rpcContext, environment: scope.environment, connection, routes }) },
      );
      return create(RotateGatewayCredentialsResponseSchema, { verified, checks: rows.map(checkMessage) });
    },
  };
}

const accountMethods: Omit<Methods, WithCredentials> = {
  async pauseGatewayConnection({ connectionId }, context) {
    const connection = await setPaused(scopedContextOf(context), connectionId, true);
    return { connection };
  },

  async resumeGatewayConnection({ connectionId }, context) {
    const connection = await setPaused(scopedContextOf(context), connectionId, false);
    return { connection };
  },

  async setAcquirerData({ connectionId, acquirer }, context) {
    const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
    const data = acquirer === undefined ? null : acquirerOf(acquirer);
    const connection = await change(async (tx) => {
      const found = await requireConnection(tx, merchantId, connectionId);
      if (environment.core.connectorOf(found.gateway)?.importsProof !== true) {
        throw new DomainError("invalid_field", "Only a gateway that imports a proof has these data.", {
          field: "connectionId",
        });
      }
      await setAcquirerData(tx, found.id, data);
      await rpcContext.audit(tx, {
        subject: connectionId,
        before: { acquirer: found.acquirer },
        after: { acquirer: data },
      });
      return { ...found, acquirer: data };
    });
    return { connection: toMessage(environment, connection) };
  },

  async listUnclassifiedCodes(_request, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const codes = await listUnclassifiedCodes(environment.database, merchantId);
    return { codes: codes.map(codeMessage) };
  },

  async listGatewayConnections(_request, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const connections = await listConnections(environment.database, merchantId);
    return {
      connections: connections.map((connection) => toMessage(environment, connection)),
    };
  },
};

export function requireVerifiable({ core, name }: DashboardEnvironment, gateway: string): Verifiable {
  const connector = core.connectorOf(gateway) ?? core.providerOf(gateway);
  if (connector !== undefined) return connector;
  throw new DomainError("invalid_field", `This installation has no connector for the gateway in ${name}.`, {
    field: "gateway",
  });
}

/** Throws if credentials are missing, malformed or unknown; the error repeats no value. */
export function refuseMisshapen({ credentialFields }: Verifiable, credentials: Readonly<Record<string, string>>): void {
  const problems = findCredentialProblems(credentialFields, credentials);
  if (problems[0]) throw new DomainError(problems[0].code, "Some credentials are missing or invalid.", { problems });
}

async function verifyContext(
  rpcContext: RpcContext,
  environment: DashboardEnvironment,
  { connection, apiOrigin }: { connection: Connection; apiOrigin: string },
): Promise<VerifyContext> {
  const { core } = environment;
  const { gateway, merchantId } = connection;
  const isProvider = core.providerOf(gateway) !== undefined;
  return {
    database: rpcContext.transactingIn(environment),
    ring: core.sealing,
    connector: requireVerifiable(environment, gateway),
    forwarding: core.vault.forwarding,
    ...(isProvider && {
      ownChecks: providerChecks({
        connections: await listConnections(environment.database, merchantId),
        environment,
        apiOrigin,
      }),
    }),
  };
}

/**
 * Returns the checks of a provider that only the service can make: the acquirers' data, and the address to which a bank
 * returns customers. In test, where banks are pretend, both are advice.
 */
function providerChecks(given: {
  readonly connections: readonly Connection[];
  readonly environment: DashboardEnvironment;
  readonly apiOrigin: string;
}): VerifyRow[] {
  const { connections, environment, apiOrigin } = given;
  const importing = connections.filter(({ gateway }) => environment.core.connectorOf(gateway)?.importsProof);
  const missing = importing.filter(({ acquirer }) => acquirer === null);
  const networks = new Set(importing.flatMap(({ acquirer }) => Object.keys(acquirer?.networks ?? {})));
  const isSecure = apiOrigin.startsWith("https://");
  const required = environment.name === "live";
  return [
    {
      check: "acquirer_data",
      state: networks.size > 0 ? "passed" : "failed",
      required: true,
      detail:
        networks.size === 0
          ? "No gateway connection has the data of its acquirer, which banks are told. Set them first."
          : `Cards of ${[...networks].join(", ")} can be authenticated.${
              missing.length === 0
                ? ""
                : ` Without data: ${missing.map(({ gateway, account }) => `${gateway} (${account})`).join(", ")}.`
            }`,
    },
    {
      check: "return_address",
      state: isSecure ? "passed" : "failed",
      required,
      detail: isSecure
        ? `Banks return customers to ${apiOrigin}.`
        : `Banks return customers to ${apiOrigin}, which is not HTTPS; a bank refuses it.`,
    },
  ];
}

function acquirerOf(message: AcquirerDataMessage): AcquirerData {
  const { mcc, country, merchantName, networks, acceptsOwnOnly, exemptions } = message;
  if (!isCountry(country)) {
    throw new DomainError("invalid_field", "There is no country with this code.", { field: "acquirer.country" });
  }
  return {
    mcc,
    country,
    merchantName,
    networks: Object.fromEntries(
      networks.map(({ network, acquirerBin, acquirerMerchantId }) => [network, { acquirerBin, acquirerMerchantId }]),
    ),
    ...(acceptsOwnOnly && { acceptsOwnOnly }),
    ...(exemptions.length > 0 && { exemptions: exemptions.map(exemptionOf) }),
  };
}

function exemptionOf({ kind, currency, upToMinor }: AcquirerExemption) {
  const [named] = exemptionsOf([kind]);
  return { kind: named!, currency, amountMinor: Number(upToMinor) };
}

/** Returns the writes beside a verification: its audit row and, once it has passed, the answer about routing. */
function recordOutcome(about: {
  readonly rpcContext: RpcContext;
  readonly environment: DashboardEnvironment;
  readonly connection: Connection;
  readonly routes: boolean | undefined;
}) {
  const { rpcContext, environment, connection, routes } = about;
  return async (tx: Tx, tried: { credentialVersion: number; verified: boolean }) => {
    await rpcContext.audit(tx, verificationFact(connection, tried));
    if (!tried.verified || routes === undefined) return;
    await applyRoutingAnswer(tx, environment, rpcContext, { connection, routes });
  };
}

/** Returns the audit fact of verified credentials: their versions, and whether they are now in use. */
function verificationFact(
  { id, credentialVersion: inUse }: Connection,
  { credentialVersion, verified }: { credentialVersion: number; verified: boolean },
) {
  return {
    subject: encodeId("gc", id),
    before: { credentialVersion: inUse },
    after: { credentialVersion: verified ? credentialVersion : inUse, tried: credentialVersion, verified },
  };
}

async function setPaused(
  { merchantId, environment, rpcContext, change }: ScopedContext,
  connectionId: string,
  paused: boolean,
) {
  return change(async (tx) => {
    const connection = await requireConnection(tx, merchantId, connectionId);
    await setConnectionPaused(tx, connection.id, paused);
    await rpcContext.audit(tx, { subject: connectionId, before: { paused: connection.paused }, after: { paused } });
    return toMessage(environment, { ...connection, paused });
  });
}

async function requireConnection(queryable: Queryable, merchantId: MerchantId, publicId: string): Promise<Connection> {
  const id = decodeId("gc", publicId);
  const connection = (await listConnections(queryable, merchantId)).find((each) => each.id === id);
  if (connection === undefined) throw new DomainError("not_found", "There is no gateway connection with this id.");
  return connection;
}

function checkMessage({ check, state, required, detail }: VerifyRow) {
  return { check, passed: state === "passed", required, detail };
}

function codeMessage({ attempts, attemptId, sessionId, firstSeenAt, lastSeenAt, ...code }: UnclassifiedCode) {
  return {
    ...code,
    attempts: BigInt(attempts),
    firstSeenAt: timestampFromDate(firstSeenAt),
    lastSeenAt: timestampFromDate(lastSeenAt),
    attemptId: encodeId("att", attemptId),
    sessionId: encodeId("ps", sessionId),
  };
}

function toMessage({ core }: DashboardEnvironment, connection: Connection) {
  const { id, gateway, account, credentialVersion, paused, acquirer } = connection;
  return {
    connectionId: encodeId("gc", id),
    gateway,
    account,
    verified: credentialVersion !== null,
    paused,
    isProvider: core.providerOf(gateway) !== undefined,
    ...(acquirer && { acquirer: acquirerMessage(acquirer) }),
  };
}

function acquirerMessage({ networks, acceptsOwnOnly = false, exemptions = [], ...data }: AcquirerData) {
  return {
    ...data,
    acceptsOwnOnly,
    exemptions: exemptions.map(({ kind, currency, amountMinor }) => ({
      kind: AcquirerExemption_Kind[kind],
      currency,
      upToMinor: BigInt(amountMinor),
    })),
    networks: Object.entries(networks).map(([network, known]) => ({ network, ...known })),
  };
}
