/**
 * Answers unary gRPC calls with only the guard and the implementation. Connect's handler, made for streams, would take
 * as much CPU for its envelopes as the creation of a session takes in all (`npm run bench -- edge`).
 */
import type { Http2ServerResponse } from "node:http2";
import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues } from "@connectrpc/connect";
import { frameMessage } from "../platform/grpc-message.ts";
import { type Call, type Invoke, openCall, type Target } from "../transcoder/call.ts";
import { offerCompressions, readCallBody } from "./call-body.ts";
import { type Caller, callerKey, requestIdKey } from "./caller.ts";
import type { Deadline } from "./deadline.ts";
import { type AnyRequest, type AnyResponse, requestIdOf } from "./request-id.ts";
import { sendGrpcStatus } from "./rpc-form.ts";
import { refuseBody } from "./strict-connect-json.ts";

/** One call: its target with the guard before it, its caller and its deadline. */
export type GrpcUnaryCall = {
  readonly target: Target;
  /** Runs before the body is read; rejects to refuse. */
  readonly authenticate: () => Promise<Caller>;
  readonly invoke: Invoke;
  readonly request: AnyRequest;
  readonly response: AnyResponse;
  readonly deadline: Deadline;
  /** Aborts when the process stops: a caller that waits for a payment gets its current state. */
  readonly stopping: AbortSignal;
};

/**
 * Answers the call. Rejects with errors that are not rendered yet: a refused caller, a deadline, or a bug of ours
 * before the guard.
 */
export async function answerGrpcUnary(grpc: GrpcUnaryCall): Promise<void> {
  const { target, invoke, request, response, deadline } = grpc;
  const signal = AbortSignal.any([deadline.signal, grpc.stopping]);
  // node's HTTP/2 requests have the same shape, though not the same type.
  const call = openCall(target, request as never, response as never, { protocolName: "grpc", signal });
  const { values } = call.context;
  values.set(requestIdKey, requestIdOf(request));
  const leave = () => deadline.cancel();
  response.once("close", leave);
  try {
    const answer = await deadline.limit(async () => {
      values.set(callerKey, await grpc.authenticate());
      const message = await readMessage(target, request, response, values);
      // Nothing begins for a caller that has disconnected.
      deadline.signal.throwIfAborted();
      return invoke(call, message);
    });
    sendMessage(response, call, toBinary(target.method.output, answer));
  } catch (error) {
    if (deadline.isCancelled) return;
    if (!(error instanceof ConnectError)) throw error;
    sendGrpcStatus(response as Http2ServerResponse, error);
  } finally {
    response.off("close", leave);
  }
}

/** Reads the message, or an empty one whose mistakes the guard reports later. */
async function readMessage(
  { method }: Target,
  request: AnyRequest,
  response: AnyResponse,
  values: ContextValues,
): Promise<MessageShape<DescMessage>> {
  try {
    return (await readCallBody(method, request, "grpc")).message;
  } catch (error) {
    offerCompressions(response, "grpc", error);
    refuseBody(values, error);
    return create(method.input);
  }
}

// Answers are a few KiB and their readers are near: compressing them would cost more than it saves.
function sendMessage(response: AnyResponse, call: Call, message: Uint8Array): void {
  const http2 = response as Http2ServerResponse;
  if (http2.stream.destroyed) return;
  for (const [name, value] of call.headersSet() ?? []) http2.setHeader(name, value);
  http2.addTrailers({ ...Object.fromEntries(call.trailersSet() ?? []), "grpc-status": "0" });
  http2.writeHead(200, { "content-type": "application/grpc+proto" }).end(frameMessage(message));
}
