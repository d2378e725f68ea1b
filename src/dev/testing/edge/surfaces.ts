/** Sends one request over REST, Connect JSON and gRPC, and reports each answer in the same form. */
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { BadRequestSchema, ErrorInfoSchema } from "../../../../gen/google/rpc/error_details_pb.ts";
import {
  type CreatePaymentSessionRequestSchema,
  type ListPaymentSessionsRequestSchema,
  PaymentSessionService,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { RpcError } from "../../../client/rpc-error.ts";
import { type EdgeFixture, startEdgeFixture } from "../../../edge/edge.fixture.ts";
import { createGrpcServer, type GrpcServer } from "../../../edge/grpc-server.ts";
import { createGrpcClient, type GrpcClient } from "../../../platform/grpc-client.ts";
import { requireDocumented } from "./documented-answers.ts";

/** The result of a request. `code` is undefined when it was accepted; `params` names every refused field, sorted. */
export type Outcome = { readonly code: string | undefined; readonly params: readonly string[] };

export type ErrorBody = {
  readonly code?: string;
  readonly param?: string;
  readonly requestId?: string;
  readonly errors?: readonly { readonly param: string }[];
};

export type Order = MessageInitShape<typeof CreatePaymentSessionRequestSchema>;

/** Filters of the list as gRPC carries them. */
export type Filters = MessageInitShape<typeof ListPaymentSessionsRequestSchema>;

export class Surfaces {
  readonly edge: EdgeFixture;
  /** The origin of gRPC and Connect, as HTTP/2 without TLS. */
  readonly rpcOrigin: string;
  readonly #server: GrpcServer;
  readonly #http2: ClientHttp2Session;
  readonly #grpc: GrpcClient<typeof PaymentSessionService>;

  constructor(edge: EdgeFixture, server: GrpcServer, port: number) {
    this.edge = edge;
    this.#server = server;
    this.rpcOrigin = `http://127.0.0.1:${port}`;
    this.#http2 = connectHttp2(this.rpcOrigin);
    this.#grpc = createGrpcClient(PaymentSessionService, `127.0.0.1:${port}`);
  }

  /** POST /api/v1/payment-sessions with exactly these bytes. */
  createOverRest(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
    return this.edge.call("POST", "/payment-sessions", { body, headers });
  }

  /** A Connect call with exactly these bytes as its JSON. */
  async overConnect(
    method: "CreatePaymentSession" | "ListPaymentSessions" | "GetPaymentSession",
    body: string | Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Outcome & { readonly status: number }> {
    const stream = this.#http2.request({
      ":method": "POST",
      ":path": `/${PaymentSessionService.typeName}/${method}`,
      "content-type": "application/json",
      authorization: `Bearer ${this.edge.keys.secret}`,
      ...headers,
    });
    stream.end(body);
    const [answered] = await once(stream, "response");
    const text = await readText(stream);
    return { status: answered[":status"], ...connectOutcome(answered[":status"], text) };
  }

  createOverGrpc(order: Order, metadata: Record<string, string> = {}): Promise<Outcome> {
    return this.#overGrpc("createPaymentSession", order, metadata);
  }

  listOverGrpc(filters: Filters): Promise<Outcome> {
    return this.#overGrpc("listPaymentSessions", filters, {});
  }

  getOverGrpc(sessionId: string): Promise<Outcome> {
    return this.#overGrpc("getPaymentSession", { sessionId }, {});
  }

  /** Sends a whole HTTP/1.1 request as it is written; returns the answer's status and body, which are as documented. */
  async raw(request: string | Uint8Array): Promise<{ status: number; json: ErrorBody }> {
    const socket = connect(this.edge.port, "127.0.0.1").setEncoding("utf8");
    socket.write(request);
    let received = "";
    for await (const chunk of socket) received += chunk;
    const [head = "", text = "{}"] = received.split("\r\n\r\n");
    const [statusLine = "", ...lines] = head.split("\r\n");
    const status = Number(statusLine.split(" ")[1]);
    const [method = "", target = ""] = Buffer.from(request).toString("latin1").split(" ", 2);
    const headers = new Headers(lines.map((line) => line.split(": ", 2) as [string, string]));
    requireDocumented({ method, target, status, headers, text });
    return { status, json: JSON.parse(text) };
  }

  async close(): Promise<void> {
    this.#grpc.close();
    this.#http2.destroy();
    await this.#server.close();
    await this.edge.close();
  }

  async #overGrpc(
    method: "createPaymentSession" | "listPaymentSessions" | "getPaymentSession",
    message: object,
    metadata: Record<string, string>,
  ): Promise<Outcome> {
    const credentials = { authorization: `Bearer ${this.edge.keys.secret}` };
    try {
      await this.#grpc[method](message, { timeoutMs: 10_000, metadata: { ...credentials, ...metadata } });
      return { code: undefined, params: [] };
    } catch (error) {
      const { code, problems } = new RpcError(error as never);
      return { code, params: problems.map(({ param }) => param).sort() };
    }
  }
}

export async function startSurfaces(): Promise<Surfaces> {
  const edge = await startEdgeFixture();
  const server = createGrpcServer(edge.parts, { reflection: false });
  return new Surfaces(edge, server, await server.listen(0, "127.0.0.1"));
}

/** Converts a REST answer to the form of the other surfaces. */
export function restOutcome({ status, json }: { status: number; json: ErrorBody }): Outcome {
  if (status < 300) return { code: undefined, params: [] };
  const errors = json.errors ?? [];
  const params = errors.length === 0 && json.param !== undefined ? [json.param] : [];
  return { code: json.code, params: [...params, ...errors.map(({ param }) => param)].sort() };
}

function connectOutcome(status: number, text: string): Outcome {
  if (status < 300) return { code: undefined, params: [] };
  const { details = [], code } = JSON.parse(text) as { code: string; details?: { type: string; value: string }[] };
  const detailOf = (type: string) => details.find((detail) => detail.type === type)?.value;
  const info = detailOf(ErrorInfoSchema.typeName);
  const request = detailOf(BadRequestSchema.typeName);
  const violations = request ? fromBinary(BadRequestSchema, base64Decode(request)).fieldViolations : [];
  return {
    code: info ? fromBinary(ErrorInfoSchema, base64Decode(info)).reason.toLowerCase() : `connect ${code}`,
    params: violations.map(({ field }) => field).sort(),
  };
}
