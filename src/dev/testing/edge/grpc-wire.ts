/** Calls as their bytes: requests that no client library would send, and the server's answers. */
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from "node:http2";
import { create, fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { type Any, AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../../gen/google/rpc/status_pb.ts";
import { frameMessage } from "../../../platform/grpc-message.ts";

export type WireAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The `reason` of ErrorInfo in lower case, from any form of answer; undefined for an answer without an error. */
  readonly reason: string | undefined;
  /** gRPC's status, from trailers or headers. */
  readonly grpcStatus: number | undefined;
  readonly body: Buffer;
};

export function grpcFrame(message: Uint8Array, flags = 0): Buffer {
  const framed = frameMessage(message);
  framed[0] = flags;
  return framed;
}

export class WireClient {
  readonly session: ClientHttp2Session;

  constructor(port: number) {
    this.session = connect(`http://127.0.0.1:${port}`);
    this.session.on("error", () => {});
  }

  /** Without a body, the request's stream has no data and no end. */
  async call(path: string, headers: OutgoingHttpHeaders, body?: Uint8Array): Promise<WireAnswer> {
    const bodyless = headers[":method"] === "GET";
    const stream = this.session.request({ ":method": "POST", ":path": path, ...headers }, { endStream: bodyless });
    // An answer may arrive before everything is sent; cutting off the rest is no failure of the call.
    stream.on("error", () => {});
    if (!bodyless && body !== undefined) stream.end(body);
    let received: Record<string, unknown> = {};
    stream.on("response", (head) => {
      received = head;
    });
    let trailers: Record<string, unknown> = {};
    stream.on("trailers", (last) => {
      trailers = last;
    });
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    await new Promise((resolve) => stream.on("close", resolve));
    const bytes = Buffer.concat(chunks);
    const inBody = webTrailersOf(String(received["content-type"]), bytes);
    const all = { ...received, ...trailers, ...inBody };
    return {
      status: Number(received[":status"]),
      headers: received,
      reason: reasonOf(all, String(received["content-type"]), bytes),
      grpcStatus: all["grpc-status"] === undefined ? undefined : Number(all["grpc-status"]),
      body: bytes,
    };
  }

  close(): void {
    this.session.destroy();
  }
}

function webTrailersOf(type: string, body: Buffer): Record<string, string> {
  if (!type.startsWith("application/grpc-web")) return {};
  for (let at = 0; at + 5 <= body.length; at += 5 + body.readUInt32BE(at + 1)) {
    if (body[at] !== 0x80) continue;
    const lines = body
      .subarray(at + 5)
      .toString()
      .trim()
      .split("\r\n");
    return Object.fromEntries(
      lines.map((line) => [line.split(":", 1)[0]!.toLowerCase(), line.replace(/^[^:]*: ?/, "")]),
    );
  }
  return {};
}

function reasonOf(headers: Record<string, unknown>, type: string, body: Buffer): string | undefined {
  const details = headers["grpc-status-details-bin"];
  if (typeof details === "string") return reasonIn(fromBinary(StatusSchema, base64Decode(details)).details);
  if (!type.startsWith("application/json")) return undefined;
  const { details: listed = [] } = JSON.parse(body.toString()) as { details?: { type: string; value: string }[] };
  return reasonIn(
    listed.map(({ type: name, value }) =>
      create(AnySchema, { typeUrl: `type.googleapis.com/${name}`, value: base64Decode(value) }),
    ),
  );
}

function reasonIn(details: readonly Any[]): string | undefined {
  const infos = details.map((detail) => anyUnpack(detail, ErrorInfoSchema));
  return infos.find((info) => info !== undefined)?.reason.toLowerCase();
}
