/** VaultService over gRPC: who calls, is the message well-formed, and our answers as protobuf. The work is in forward.ts and card-store.ts. */

import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { createValidator, type Validator } from "@bufbuild/protovalidate";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
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
import { type VerificationKey, verifyServiceToken } from "../platform/service-token.ts";
import { untraced } from "../platform/telemetry.ts";
import { forgetSession } from "./card-store.ts";
import { type Forwarder, type ForwardResult, forward } from "./forward.ts";
import { isUnexpected, toConnectError } from "./public-error.ts";
import type { ForwardEnd, VaultEnvironment, VaultWatch } from "./vault-config.ts";
import { forwardBytesMax } from "./vault-limits.ts";

/** What the vault's rpcs are built from. */
export type VaultRpc = Forwarder & {
  readonly environments: readonly VaultEnvironment[];
  readonly serviceTokenKeys: readonly VerificationKey[];
  readonly logger: Logger;
  readonly watch?: VaultWatch | undefined;
};

/** The handler for the gRPC port. */
export function vaultRpcHandler(vault: VaultRpc): ReturnType<typeof connectNodeAdapter> {
  return connectNodeAdapter({
    connect: false,
    grpcWeb: false,
    readMaxBytes: forwardBytesMax,
    routes: (router) => void router.service(VaultService, implementation(vault)),
  });
}

function implementation(vault: VaultRpc): ServiceImpl<typeof VaultService> {
  const validator = createValidator();
  // CEL rules compile on first use: here, so that no payment waits for it.
  validator.validate(ForwardRequestSchema, create(ForwardRequestSchema));
  return {
    forward: (request, context) =>
      guarded(vault, async () => {
        const environment = await authorize(vault, context);
        refuseMalformed(validator, ForwardRequestSchema, request);
        const traced = () => traceForward(vault, context, request, () => forward(vault, environment, request));
        return toResponse(await watched(vault, environment, traced));
      }),
    forget: (request, context) =>
      guarded(vault, async () => {
        const environment = await authorize(vault, context);
        refuseMalformed(validator, ForgetRequestSchema, request);
        await forgetSession(vault.database, environment, request.sessionId);
        return create(ForgetResponseSchema);
      }),
  };
}

/** Below the span of whoever proved with a service token that it is ours. */
function traceForward(
  { tracing = untraced }: VaultRpc,
  { requestHeader }: HandlerContext,
  { connector, operation }: ForwardRequest,
  work: () => Promise<ForwardResult>,
): Promise<ForwardResult> {
  const of = { traceparent: requestHeader.get("traceparent") ?? undefined };
  return tracing.span("vault.forward", { of, facts: () => ({ gateway: connector, operation }), kind: "server" }, work);
}

async function watched(
  { watch }: VaultRpc,
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
    watch?.forwarded(environment, end, performance.now() - begunAt);
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

/** The environment that the caller's service token names; the other one's cards are out of its reach. */
async function authorize(vault: VaultRpc, context: HandlerContext): Promise<VaultEnvironment> {
  const [, bearer] = /^Bearer ([\w.-]+)$/.exec(context.requestHeader.get("authorization") ?? "") ?? [];
  const name = bearer === undefined ? undefined : await verifyServiceToken(vault.serviceTokenKeys, bearer);
  const environment = vault.environments.find((candidate) => candidate.environment === name);
  if (environment === undefined) throw new ConnectError("the service token is not valid", Code.Unauthenticated);
  return environment;
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
    if (isUnexpected(error)) vault.logger.error({ err: error }, "a call failed");
    throw toConnectError(error);
  }
}

const noCardReasons = {
  not_found: NeverSent_Reason.TOKEN_NOT_FOUND,
  expired: NeverSent_Reason.TOKEN_EXPIRED,
  used_up: NeverSent_Reason.TOKEN_USED_UP,
};

function toResponse(result: ForwardResult): ForwardResponse {
  if (result.type === "noCard") {
    const value = { reason: noCardReasons[result.because], detail: `the token is ${result.because}` };
    return create(ForwardResponseSchema, { result: { case: "neverSent", value } });
  }
  const { reply, shown } = result;
  switch (reply.type) {
    case "answer": {
      const { status, headers, body } = reply;
      return create(ForwardResponseSchema, { ...shown, result: { case: "answer", value: { status, headers, body } } });
    }
    case "neverSent": {
      const value = { reason: NeverSent_Reason.CONNECTION_REFUSED, detail: reply.detail };
      return create(ForwardResponseSchema, { ...shown, result: { case: "neverSent", value } });
    }
    case "noAnswer": {
      const value = { timedOut: reply.timedOut, detail: reply.detail };
      return create(ForwardResponseSchema, { ...shown, result: { case: "noAnswer", value } });
    }
    default:
      return unreachable(reply);
  }
}
