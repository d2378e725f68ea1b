/**
 * VaultService over gRPC: authenticates the caller, validates the message, and returns protobuf. forward.ts and
 * card-store.ts do the work.
 */
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { createValidator, type Validator } from "@bufbuild/protovalidate";
import {
  Code,
  ConnectError,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  CheckTokenRequestSchema,
  CheckTokenResponse_State,
  CheckTokenResponseSchema,
  ForgetRequestSchema,
  ForgetResponseSchema,
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
  ForwardResponseSchema,
  NeverSent_Reason,
  VaultService,
} from "../../gen/vault/v1/vault_pb.ts";
import { DomainError, unreachable } from "../platform/errors.ts";
import type { Logger } from "../platform/log.ts";
import { requestEndOf } from "../platform/request-meter.ts";
import { type TokenRefusal, type VerificationKey, verifyServiceToken } from "../platform/service-token.ts";
import { untraced } from "../platform/telemetry.ts";
import { checkToken, forgetSession, type TokenState } from "./card-store.ts";
import { type Forwarder, type ForwardResult, forward } from "./forward.ts";
import { isUnexpected, toConnectError } from "./public-error.ts";
import type { ForwardEnd, VaultEnvironment, VaultObserver } from "./vault-config.ts";
import { callBodyWithinMs, forwardBytesMax, refusalLogEveryMs } from "./vault-limits.ts";

/** The dependencies of the vault's rpcs. */
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
export function vaultRpcHandler(vault: VaultRpc): (request: Http2ServerRequest, response: Http2ServerResponse) => void {
  const callers = new WeakMap<object, KnownCaller>();
  const logRefusal = createRefusalLog(vault.logger);
  const serve = connectNodeAdapter({
    connect: false,
    grpcWeb: false,
    readMaxBytes: forwardBytesMax,
    contextValues: (request) => createContextValues().set(callerKey, callers.get(request)),
    routes: (router) => void router.service(VaultService, implementation(vault)),
  });
  return (request, response) => {
    authorize(vault, request.headers.authorization).then(
      (caller) => {
        if ("reason" in caller) {
          logRefusal(caller);
          return refuse(response, Code.Unauthenticated, "the service token is not valid");
        }
        callers.set(request, caller);
        limitBody(request, response, vault.bodyWithinMs ?? callBodyWithinMs);
        serve(request, response);
      },
      (error: unknown) => {
        vault.logger.error({ err: error }, "a service token could not be verified");
        refuse(response, Code.Internal, "the call cannot be authenticated");
      },
    );
  };
}

/** The environment for which a caller may act, and the expiry of its service token. */
type KnownCaller = { readonly environment: VaultEnvironment; readonly tokenEndsAt: Date };

/** Set before a method runs. */
const callerKey = createContextKey<KnownCaller | undefined>(undefined, { description: "caller" });

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

/** Answers a call with nothing but a status, as Trailers-Only. */
function refuse({ stream }: Http2ServerResponse, code: Code, message: string): void {
  if (stream.destroyed || stream.headersSent) return;
  const status = Object.fromEntries(setTrailerStatus(new Headers(), new ConnectError(message, code)));
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto", ...status }, { endStream: true });
}

function limitBody(request: Http2ServerRequest, response: Http2ServerResponse, withinMs: number): void {
  const late = setTimeout(() => {
    if (!request.complete) refuse(response, Code.DeadlineExceeded, "the message did not arrive in time");
  }, withinMs);
  request.once("end", () => clearTimeout(late));
  response.stream.once("close", () => clearTimeout(late));
}

function implementation(vault: VaultRpc): ServiceImpl<typeof VaultService> {
  const validator = createValidator();
  // CEL rules compile on first use: they compile here, so that no payment waits for it.
  validator.validate(ForwardRequestSchema, create(ForwardRequestSchema));
  return {
    forward: (request, context) =>
      guarded(vault, async () => {
        const environment = environmentOf(context);
        refuseMalformed(validator, ForwardRequestSchema, request);
        const traced = () => traceForward(vault, context, request, () => forward(vault, environment, request));
        return toResponse(await observed(vault, environment, traced));
      }),
    checkToken: (request, context) =>
      guarded(vault, async () => {
        const environment = environmentOf(context);
        refuseMalformed(validator, CheckTokenRequestSchema, request);
        const state = await checkToken(vault.database, environment, request.sessionId, request.token);
        return create(CheckTokenResponseSchema, { state: tokenStates[state] });
      }),
    forget: (request, context) =>
      guarded(vault, async () => {
        const environment = environmentOf(context);
        refuseMalformed(validator, ForgetRequestSchema, request);
        await forgetSession(vault.database, environment, request.sessionId);
        return create(ForgetResponseSchema);
      }),
  };
}

/** Traces a call below the caller's span; the caller has proved with a service token that it is ours. */
function traceForward(
  { tracing = untraced }: VaultRpc,
  { requestHeader }: HandlerContext,
  { connector, operation }: ForwardRequest,
  work: () => Promise<ForwardResult>,
): Promise<ForwardResult> {
  const of = { traceparent: requestHeader.get("traceparent") ?? undefined };
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
async function authorize(vault: VaultRpc, authorization: string | undefined): Promise<KnownCaller | TokenRefusal> {
  const [, bearer] = /^Bearer ([\w.-]+)$/.exec(authorization ?? "") ?? [];
  if (bearer === undefined) return { kind: "malformed", reason: "the call has none" };
  const check = await verifyServiceToken(vault.serviceTokenKeys, bearer);
  if (check.type === "refused") return check;
  const environment = vault.environments.find((candidate) => candidate.environment === check.environment);
  if (environment === undefined) return { kind: "unknown_key", reason: "the vault does not serve its environment" };
  return { environment, tokenEndsAt: check.endsAt };
}

/** Checked after the message, which may take time to arrive: no card is sent with a service token that has expired. */
function environmentOf({ values }: HandlerContext): VaultEnvironment {
  const caller = values.get(callerKey);
  if (caller === undefined || caller.tokenEndsAt.getTime() <= Date.now()) {
    throw new ConnectError("the service token is not valid", Code.Unauthenticated);
  }
  return caller.environment;
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

async function guarded<Response>(vault: VaultRpc, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (isUnexpected(error)) vault.logger.error({ err: error }, "an rpc of the vault failed");
    throw toConnectError(error);
  }
}

const tokenStates: Record<TokenState, CheckTokenResponse_State> = {
  unused: CheckTokenResponse_State.UNUSED,
  not_found: CheckTokenResponse_State.NOT_FOUND,
  expired: CheckTokenResponse_State.EXPIRED,
  used: CheckTokenResponse_State.USED,
};

const noCardReasons = {
  not_found: NeverSent_Reason.TOKEN_NOT_FOUND,
  expired: NeverSent_Reason.TOKEN_EXPIRED,
  used_up: NeverSent_Reason.TOKEN_USED_UP,
};

function toResponse(result: ForwardResult): ForwardResponse {
  if (result.type === "noCard") {
    const value = { reason: noCardReasons[result.reason], detail: `the token is ${result.reason}` };
    return create(ForwardResponseSchema, { result: { case: "neverSent", value } });
  }
  const { reply, shown } = result;
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
