/**
 * Answers unary calls with only the guard and the implementation: by gRPC, and by Connect with JSON, as the widget
 * calls. Connect's handlers, made for streams, would take as much CPU for the envelopes of gRPC as the creation of a
 * session takes in all (`npm run bench -- edge`), and for JSON a twentieth of the edge's CPU (docs/profiles.md).
 */
import type { Http2ServerResponse } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromJson,
  type MessageShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { ConnectError, type ContextValues } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import type { Shopper } from "../gateways/connector.ts";
import { frameMessage } from "../platform/grpc-message.ts";
import { type Call, type Invoke, openCall, type Target } from "../transcoder/call.ts";
import { readJsonMessage, refuseBody } from "../transcoder/connect-json.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import { callLimits, callLimitsOf, offerCompressions, readCallBody } from "./call-body.ts";
import { type Caller, callerKey, requestIdKey, shopperKey } from "./caller.ts";
import type { Deadline } from "./deadline.ts";
import { type AnyRequest, type AnyResponse, requestIdOf } from "./request-id.ts";
import { sendGrpcStatus } from "./rpc-form.ts";

/** A call: its target with the guard before it, its caller and its deadline. */
export type UnaryCall = {
  readonly target: Target;
  readonly form: keyof typeof forms;
  /** Runs before the body is read; rejects to refuse. */
  readonly authenticate: () => Promise<Caller>;
  readonly invoke: Invoke;
  readonly request: AnyRequest;
  readonly response: AnyResponse;
  readonly deadline: Deadline;
  /** Aborts when the process stops: a caller that waits for a payment gets its current state. */
  readonly stopping: AbortSignal;
  readonly shopper: Shopper | undefined;
};

/** Answers the call. Rejects with errors that are not rendered yet. */
export async function answerUnary(unary: UnaryCall): Promise<void> {
  const { target, invoke, request, response, deadline } = unary;
  const form = forms[unary.form];
  const signal = AbortSignal.any([deadline.signal, unary.stopping]);
  // node's HTTP/2 requests have the same shape, though not the same type.
  const call = openCall(target, request as never, response as never, { protocolName: form.protocolName, signal });
  const { values } = call.context;
  values.set(requestIdKey, requestIdOf(request)).set(shopperKey, unary.shopper);
  const leave = () => deadline.cancel();
  response.once("close", leave);
  try {
    const answer = await deadline.limit(async () => {
      values.set(callerKey, await unary.authenticate());
      const message = await form.read(target.method, request, response, values);
      // A call whose caller has disconnected does not begin.
      deadline.signal.throwIfAborted();
      return invoke(call, message);
    });
    form.send(response, call, answer);
  } catch (error) {
    if (deadline.isCancelled) return;
    if (!(error instanceof ConnectError)) throw error;
    form.refuse(response, error);
  } finally {
    response.off("close", leave);
  }
}

type Message = MessageShape<DescMessage>;

type UnaryForm = {
  readonly protocolName: string;
  /** Reads the message, or an empty one whose mistakes the guard reports later. */
  read(method: DescMethod, request: AnyRequest, response: AnyResponse, values: ContextValues): Promise<Message>;
  send(response: AnyResponse, call: Call, answer: Message): void;
  refuse(response: AnyResponse, error: ConnectError): void;
};

export const grpc: UnaryForm = {
  protocolName: "grpc",
  async read(method, request, response, values) {
    try {
      return (await readCallBody(method, request, "grpc", callLimitsOf(method, response))).message;
    } catch (error) {
      offerCompressions(response, "grpc", error);
      refuseBody(values, error);
      return create(method.input);
    }
  },
  // Answers are a few KiB and their readers are near: compressing them would cost more than it saves.
  send(response, call, answer) {
    const http2 = response as Http2ServerResponse;
    if (http2.stream.destroyed) return;
    for (const [name, value] of call.headersSet() ?? []) http2.setHeader(name, value);
    http2.addTrailers({ ...Object.fromEntries(call.trailersSet() ?? []), "grpc-status": "0" });
    const message = toBinary(call.target.method.output, answer);
    http2.writeHead(200, { "content-type": "application/grpc+proto" }).end(frameMessage(message));
  },
  refuse: (response, error) => sendGrpcStatus(response as Http2ServerResponse, error),
};

const json: UnaryForm = {
  protocolName: "connect",
  async read(method, request, _, values) {
    // Used only by the public port, which is HTTP/1.1.
    return fromJson(method.input, await readJsonMessage(method, request as never, { values, limits: callLimits }));
  },
  send(response, call, answer) {
    const trailers = [...(call.trailersSet() ?? [])].map(([name, value]) => [`trailer-${name}`, value]);
    const headers = Object.fromEntries([...(call.headersSet() ?? []), ...trailers]);
    sendJson(response, 200, toJsonString(call.target.method.output, answer), headers);
  },
  refuse(response, error) {
    sendJson(response, codeToHttpStatus(error.code), JSON.stringify(errorToJson(error, undefined)));
  },
};

function sendJson(response: AnyResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  sendAnswer(response as Parameters<typeof sendAnswer>[0], { status, headers, body });
}

const forms = { grpc, json } as const;
