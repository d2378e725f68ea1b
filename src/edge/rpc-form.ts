/** The forms of a call, distinguished by its content type, and the refusal of a call in its own form. */
import type { Http2ServerResponse } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { DomainError } from "../platform/errors.ts";
import { appearances, type ErrorStyle, toConnectError } from "./error-mapping.ts";
import { type AnyRequest, type AnyResponse, requestIdOf } from "./request-id.ts";

export type RpcForm = "grpc" | "grpc-web" | "json" | "proto" | "stream";

// JSON inside gRPC and Connect's streams would be read by Connect's own reader, which is not strict.
const forms: readonly (readonly [RpcForm, RegExp])[] = [
  ["grpc", /^application\/grpc(\+proto)?$/i],
  ["grpc-web", /^application\/grpc-web(\+proto)?$/i],
  ["json", /^application\/json[ \t]*(;|$)/i],
  ["proto", /^application\/proto$/i],
  ["stream", /^application\/connect\+proto$/i],
];

/**
 * Returns the form of a call to this method. Throws DomainError for any other: Connect by GET, and JSON where it is not
 * read strictly.
 */
export function requireForm(method: DescMethod, request: AnyRequest, servesGrpc: boolean): RpcForm {
  if (request.method !== "POST") {
    throw new DomainError("method_not_allowed", "A call is a POST; calls by GET are not served.", { allow: ["POST"] });
  }
  const type = request.headers["content-type"] ?? "";
  const form = forms.find(([, pattern]) => pattern.test(type))?.[0];
  const fits = method.methodKind === "unary" ? form !== "stream" : form !== "json" && form !== "proto";
  if (form === undefined || !fits || (form === "grpc" && !servesGrpc)) {
    const named = method.methodKind === "unary" ? "application/proto or application/json" : "application/connect+proto";
    const grpc = servesGrpc ? "application/grpc, " : "";
    throw new DomainError("unsupported_media_type", `This call takes ${grpc}application/grpc-web, ${named}.`);
  }
  return form;
}

/** Answers a call with an error without Connect's handler. Nothing may have been written before. */
export function sendRefusal(
  style: ErrorStyle,
  request: AnyRequest,
  response: AnyResponse,
  error: DomainError,
  requestId = requestIdOf(request),
): void {
  const connectError = toConnectError(style, error, requestId);
  const [, web] = /^application\/grpc(-web)?\b/i.exec(request.headers["content-type"] ?? "") ?? ["none"];
  const { status } = appearances[error.code];
  const send = (code: number, headers: Record<string, string>, body?: string) =>
    // node's two versions of writeHead have the same shape, though not the same type.
    (response as Extract<AnyResponse, { stream: unknown }>).writeHead(code, headers).end(body ?? "");
  if (!/^application\/grpc/i.test(request.headers["content-type"] ?? "")) {
    const allow = error.allow.length > 0 ? { allow: error.allow.join(", ") } : {};
    send(
      status,
      { ...allow, "content-type": "application/json" },
      JSON.stringify(errorToJson(connectError, undefined)),
    );
    return;
  }
  const type = web === undefined ? "application/grpc" : "application/grpc-web+proto";
  if (web === undefined && "stream" in response) sendGrpcStatus(response, connectError);
  else send(200, { "content-type": type, ...statusOf(connectError) });
}

/**
 * Answers a gRPC call with only an error, as Trailers-Only: headers that end the stream, because clients look for a
 * status in no others. Nothing may have been written before.
 */
export function sendGrpcStatus(response: Http2ServerResponse, error: ConnectError): void {
  // Its caller has disconnected: node's HTTP/2 throws where HTTP/1.1 drops the bytes.
  if (response.stream.destroyed) return;
  const headers = { ":status": 200, ...response.getHeaders(), "content-type": "application/grpc+proto" };
  response.stream.respond({ ...headers, ...statusOf(error) }, { endStream: true });
}

export function statusOf(error: ConnectError): Record<string, string> {
  return Object.fromEntries(setTrailerStatus(new Headers(), error));
}
