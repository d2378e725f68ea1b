/**
 * VaultService over gRPC: authenticates the caller, validates the message, and returns protobuf. forward.ts, card-store.ts
 * and stored-cards.ts do the work.
 */
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createValidator, type Validator } from "@bufbuild/protovalidate";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  ActivateWalletKeyResponseSchema,
  CheckTokenResponse_State,
  CheckTokenResponseSchema,
  CreateWalletKeyResponseSchema,
  DropWalletKeyResponseSchema,
  EraseCardResponseSchema,
  ForgetResponseSchema,
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
  ForwardResponseSchema,
  KeepCardResponseSchema,
  ListWalletKeysResponseSchema,
  NeverSent_Reason,
  OpenCardRequest_Code,
  OpenCardResponseSchema,
  VaultService,
  Wallet,
  WalletKey_State,
  type WalletKeySchema,
} from "../../gen/vault/v1/vault_pb.ts";
import { DomainError, unreachable } from "../platform/errors.ts";
import { decodeMessage } from "../platform/grpc-message.ts";
import type { Logger } from "../platform/log.ts";
import { requestEndOf } from "../platform/request-meter.ts";
import { ServiceTokenVerifier, type TokenRefusal } from "../platform/service-token.ts";
import type { VerificationKey } from "../platform/signed-claims.ts";
import { untraced } from "../platform/telemetry.ts";
import { checkToken, forgetSessions, type TokenState } from "./card-store.ts";
import { type Forwarder, type ForwardResult, forward } from "./forward.ts";
import {
  type GrpcCall,
  readCallMessage,
  refuseOtherRequests,
  sendAnswer,
  sendError,
  unimplemented,
} from "./grpc-unary.ts";
import { isUnexpected, toConnectError } from "./public-error.ts";
import { eraseCard, openCard, storeCard } from "./stored-cards.ts";
import type { ForwardEnd, VaultEnvironment, VaultObserver } from "./vault-config.ts";
import { refusalLogEveryMs } from "./vault-limits.ts";
import type { WalletKey } from "./wallets/wallet-keys.ts";

export type VaultRpc = Forwarder & {
  readonly environments: readonly VaultEnvironment[];
  readonly serviceTokenKeys: readonly VerificationKey[];
  readonly logger: Logger;
  readonly observer?: VaultObserver | undefined;
  /** Time limit of a known caller's body; set by tests. */
  readonly bodyWithinMs?: number | undefined;
};

/**
 * Returns the handler for the gRPC port. The headers alone identify the caller: no body of a stranger is read, and any
 * other body only within a time limit.
 */
export function vaultRpcHandler(vault: VaultRpc): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  const rpcs = new Map(rpcsOf(vault));
  const tokens = new ServiceTokenVerifier(vault.serviceTokenKeys);
  const logRefusal = createRefusalLog(vault.logger);
  const answer = async (call: GrpcCall) => {
    const caller = authorize(vault, tokens, call.headers.authorization);
    if ("reason" in caller) {
      logRefusal(caller);
      throw unauthenticated();
    }
    if (refuseOtherRequests(call)) return;
    const rpc = rpcs.get(call.headers[":path"] ?? "");
    if (rpc === undefined) throw unimplemented();
    requireOpen(call);
    const message = await readCallMessage(call, vault.bodyWithinMs);
    // Checked behind the message, which may take time to arrive: no card is sent with a service token that has expired.
    if (caller.endsAt.getTime() <= Date.now()) throw unauthenticated();
    sendAnswer(call, await rpc(caller.environment, message, call.headers));
  };
  return (stream, headers) => {
    const call = { stream, headers };
    answer(call).catch((error: unknown) => {
      if (isUnexpected(error)) vault.logger.error({ err: error }, "an rpc of the vault failed");
      sendError(call, toConnectError(error));
    });
  };
}

// The dashboard may create the keys of wallets, and nothing else.
const dashboardCertificate = "vault-dashboard";
const dashboards = new WeakMap<Http2Session, boolean>();

/** Throws if the caller's client certificate does not open the rpc. */
function requireOpen({ stream, headers }: GrpcCall): void {
  const { session } = stream;
  if (session === undefined || /WalletKeys?$/.test(headers[":path"] ?? "")) return;
  // A certificate is read once for its connection: that costs more than the check of a token.
  if (!dashboards.has(session)) {
    const { subject } = (session.socket as TLSSocket).getPeerCertificate?.() ?? {};
    dashboards.set(session, subject?.CN === dashboardCertificate);
  }
  if (!dashboards.get(session)) return;
  throw new ConnectError("the dashboard's certificate opens the keys of wallets only", Code.PermissionDenied);
}

/** The environment for which a caller may act, and the expiry of its service token. */
type KnownCaller = { readonly environment: VaultEnvironment; readonly endsAt: Date };

/** Answers the encoding of a message with the encoding of a message. */
type Rpc = (environment: VaultEnvironment, message: Uint8Array, headers: IncomingHttpHeaders) => Promise<Uint8Array>;

/** Logs refused service tokens: a wrong clock keeps every payment from its gateway, and only the vault can see why. */
function createRefusalLog(logger: Logger): (refusal: TokenRefusal) => void {
  const loggedAt = new Map<TokenRefusal["kind"], number>();
  return ({ kind, reason }) => {
    const now = performance.now();
    if (now - (loggedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < refusalLogEveryMs) return;
    loggedAt.set(kind, now);
    logger.warn({ kind, reason }, "a service token was refused");
  };
}

function unauthenticated(): ConnectError {
  return new ConnectError("the service token is not valid", Code.Unauthenticated);
}

function rpcsOf(vault: VaultRpc): [path: string, Rpc][] {
  const validator = createValidator();
  // CEL rules compile on first use: they compile here, so that no payment waits for it.
  validator.validate(ForwardRequestSchema, create(ForwardRequestSchema));
  const rpc = <Input extends DescMessage, Output extends DescMessage>(
    { parent, name, input, output }: DescMethodUnary<Input, Output>,
    answer: (
      environment: VaultEnvironment,
      request: MessageShape<Input>,
      headers: IncomingHttpHeaders,
    ) => Promise<MessageShape<Output>>,
  ): [string, Rpc] => [
    `/${parent.typeName}/${name}`,
    async (environment, message, headers) => {
      const request = decodeMessage(input, message);
      refuseMalformed(validator, input, request);
      return toBinary(output, await answer(environment, request, headers));
    },
  ];
  return [
    rpc(VaultService.method.forward, async (environment, request, headers) => {
      const traced = () => traceForward(vault, headers, request, () => forward(vault, environment, request));
      return toResponse(await observed(vault, environment, traced));
    }),
    rpc(VaultService.method.checkToken, async (environment, { sessionId, token }) => {
      const { state, card } = await checkToken(vault.database, environment, sessionId, token);
      const { fingerprint, wallet, ...beginning } = card ?? { brand: "" };
      const known = fingerprint && { fingerprint: [...fingerprint.versions], isCounted: fingerprint.isCounted };
      const ofWallet = wallet && { wallet: wallets[wallet.name], network: beginning.brand };
      return create(CheckTokenResponseSchema, { state: tokenStates[state], ...beginning, ...known, ...ofWallet });
    }),
    rpc(VaultService.method.forget, async (environment, { sessionId, moreSessionIds }) => {
      await forgetSessions(vault.database, environment, [sessionId, ...moreSessionIds]);
      return create(ForgetResponseSchema);
    }),
    rpc(VaultService.method.keepCard, async (environment, request) => {
      const card = await storeCard(vault.database, environment, request);
      if (card === undefined) return create(KeepCardResponseSchema);
      const { fingerprint, ...known } = card;
      const { versions, isCounted } = fingerprint;
      return create(KeepCardResponseSchema, { card: { ...known, fingerprint: [...versions], isCounted } });
    }),
    rpc(VaultService.method.openCard, async (environment, { code, ...request }) => {
      const needsCode = code !== OpenCardRequest_Code.NONE;
      const card = await openCard(vault.database, environment, { ...request, needsCode });
      if (card === undefined) return create(OpenCardResponseSchema);
      const expiresAt = timestampFromDate(card.expiresAt);
      return create(OpenCardResponseSchema, { card: { token: card.token.expose(), expiresAt } });
    }),
    rpc(VaultService.method.eraseCard, async (environment, request) => {
      await eraseCard(vault.database, environment, request);
      return create(EraseCardResponseSchema);
    }),
    rpc(VaultService.method.createWalletKey, async (environment, { merchantId, wallet: asked, recipient }) => {
      const { createWalletKey } = await import("./wallets/wallet-keys.ts");
      const wallet = asked === Wallet.APPLE_PAY ? "apple_pay" : "google_pay";
      const key = await createWalletKey(vault.database, environment, { merchantId, wallet, recipient });
      return create(CreateWalletKeyResponseSchema, { key: toWalletKey(key) });
    }),
    rpc(VaultService.method.activateWalletKey, async (environment, request) => {
      const { activateWalletKey } = await import("./wallets/wallet-keys.ts");
      const key = await activateWalletKey(vault.database, environment, request);
      return create(ActivateWalletKeyResponseSchema, { key: toWalletKey(key) });
    }),
    rpc(VaultService.method.listWalletKeys, async (environment, request) => {
      const { listWalletKeys } = await import("./wallets/wallet-keys.ts");
      const keys = await listWalletKeys(vault.database, environment, request);
      return create(ListWalletKeysResponseSchema, { keys: keys.map(toWalletKey) });
    }),
    rpc(VaultService.method.dropWalletKey, async (environment, request) => {
      const { dropWalletKey } = await import("./wallets/wallet-keys.ts");
      await dropWalletKey(vault.database, environment, request);
      return create(DropWalletKeyResponseSchema);
    }),
  ];
}

/** Traces a call below the caller's span; the caller has proved with a service token that it is ours. */
function traceForward(
  { tracing = untraced }: VaultRpc,
  headers: IncomingHttpHeaders,
  { connector, operation }: ForwardRequest,
  work: () => Promise<ForwardResult>,
): Promise<ForwardResult> {
  const of = { traceparent: headers.traceparent?.toString() };
  return tracing.span("vault.forward", { of, facts: () => ({ gateway: connector, operation }), kind: "server" }, work);
}

async function observed(
  { observer }: VaultRpc,
  { environment }: VaultEnvironment,
  work: () => Promise<ForwardResult>,
): Promise<ForwardResult> {
  const begunAt = performance.now();
  let end: ForwardEnd = "refused";
  try {
    const result = await work();
    end = endOf(result);
    return result;
  } finally {
    observer?.forwarded(environment, end, performance.now() - begunAt);
  }
}

function endOf(result: ForwardResult): ForwardEnd {
  if (result.type === "noCard") return "no_card";
  const { reply } = result;
  switch (reply.type) {
    case "answer":
      return requestEndOf(reply.status);
    case "neverSent":
      return "never_sent";
    case "noAnswer":
      return reply.timedOut ? "timed_out" : "no_answer";
    default:
      return unreachable(reply);
  }
}

/** Returns the environment that the caller's service token names; the other one's cards are inaccessible to it. */
function authorize(
  { environments }: VaultRpc,
  tokens: ServiceTokenVerifier,
  authorization: string | undefined,
): KnownCaller | TokenRefusal {
  const [, bearer] = /^Bearer ([\w.-]+)$/.exec(authorization ?? "") ?? [];
  if (bearer === undefined) return { kind: "malformed", reason: "the call has none" };
  const check = tokens.verify(bearer);
  if (check.type === "refused") return check;
  const environment = environments.find((candidate) => candidate.environment === check.environment);
  if (environment === undefined) return { kind: "unknown_key", reason: "the vault does not serve its environment" };
  return { environment, endsAt: check.endsAt };
}

function refuseMalformed<Desc extends DescMessage>(
  validator: Validator,
  schema: Desc,
  message: MessageShape<Desc>,
): void {
  const result = validator.validate(schema, message);
  if (result.kind === "error") throw result.error;
  const [violation] = result.kind === "invalid" ? result.violations : [];
  if (violation !== undefined) throw new DomainError("invalid_field", `A field is malformed: ${violation.message}.`);
}

const tokenStates: Record<TokenState, CheckTokenResponse_State> = {
  unused: CheckTokenResponse_State.UNUSED,
  not_found: CheckTokenResponse_State.NOT_FOUND,
  expired: CheckTokenResponse_State.EXPIRED,
  used: CheckTokenResponse_State.USED,
  code_missing: CheckTokenResponse_State.CODE_MISSING,
};

const noCardReasons = {
  not_found: NeverSent_Reason.TOKEN_NOT_FOUND,
  expired: NeverSent_Reason.TOKEN_EXPIRED,
  used_up: NeverSent_Reason.TOKEN_USED_UP,
  other_credential: NeverSent_Reason.OTHER_CREDENTIAL,
};

const wallets = { apple_pay: Wallet.APPLE_PAY, google_pay: Wallet.GOOGLE_PAY };

// A point is behind the algorithm, which is the same in every key.
const pointBytes = 65;

function toWalletKey({ publicKey, createdAt, ...key }: WalletKey): MessageInitShape<typeof WalletKeySchema> {
  const [activatedAt, retiresAt, certificateEndsAt] = [key.activatedAt, key.retiresAt, key.certificateEndsAt].map(
    (moment) => (moment === null ? undefined : timestampFromDate(moment)),
  );
  return {
    id: key.id,
    recipient: key.recipient,
    wallet: wallets[key.wallet],
    state: WalletKey_State[key.state],
    publicKey: publicKey.subarray(-pointBytes).toString("base64"),
    signingRequest: key.signingRequest ?? "",
    createdAt: timestampFromDate(createdAt),
    activatedAt,
    retiresAt,
    certificateEndsAt,
  };
}

function toResponse(result: ForwardResult): ForwardResponse {
  if (result.type === "noCard") {
    const of = result.reason === "other_credential" ? "of another kind than the destination's" : result.reason;
    const value = { reason: noCardReasons[result.reason], detail: `the token is ${of}` };
    return create(ForwardResponseSchema, { result: { case: "neverSent", value } });
  }
  const { reply, wallet } = result;
  const shown = { ...result.shown, ...(wallet && { wallet: wallets[wallet.name], network: wallet.network }) };
  switch (reply.type) {
    case "answer": {
      const { status, headers, body } = reply;
      return create(ForwardResponseSchema, { ...shown, result: { case: "answer", value: { status, headers, body } } });
    }
    case "neverSent": {
      const value = { reason: NeverSent_Reason.CONNECTION_REFUSED, detail: reply.reason };
      return create(ForwardResponseSchema, { ...shown, result: { case: "neverSent", value } });
    }
    case "noAnswer": {
      const value = { timedOut: reply.timedOut, detail: reply.reason };
      return create(ForwardResponseSchema, { ...shown, result: { case: "noAnswer", value } });
    }
    default:
      return unreachable(reply);
  }
}
