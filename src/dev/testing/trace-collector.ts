/** A collector of traces for tests: accepts OTLP over HTTP, and keeps the spans with all bytes of the requests. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { LoopbackServer } from "./loopback-server.ts";

export type CollectedSpan = {
  readonly role: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly string[];
};

export class TraceCollector extends LoopbackServer {
  readonly spans: CollectedSpan[] = [];
  readonly #bodies: string[] = [];

  static start(): Promise<TraceCollector> {
    return new TraceCollector().listen();
  }

  protected override async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    if (request.method !== "POST" || request.url !== "/v1/traces") return void response.writeHead(404).end();
    this.#bodies.push(body.toString("latin1"));
    this.spans.push(...readSpans(body));
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }

  /** Every byte that arrived, as Latin-1. */
  get text(): string {
    return this.#bodies.join("\n");
  }
}

type Field = Uint8Array | bigint | number;

// https://github.com/open-telemetry/opentelemetry-proto/blob/v1.9.0/opentelemetry/proto/trace/v1/trace.proto
function readSpans(request: Uint8Array): CollectedSpan[] {
  return parts(request, 1).flatMap((resourceSpans) => {
    const [resource = new Uint8Array()] = parts(resourceSpans, 1);
    const role = String(readAttributes(resource, 1)["switchyard.role"]);
    return parts(resourceSpans, 2).flatMap((scopeSpans) => parts(scopeSpans, 2).map((span) => readSpan(role, span)));
  });
}

function readSpan(role: string, span: Uint8Array): CollectedSpan {
  const hex = (field: number) => Buffer.from(parts(span, field)[0] ?? []).toString("hex");
  return {
    role,
    name: Buffer.from(parts(span, 5)[0] ?? []).toString(),
    traceId: hex(1),
    spanId: hex(2),
    parentId: hex(4),
    attributes: readAttributes(span, 9),
    links: parts(span, 13).map((link) => Buffer.from(parts(link, 1)[0] ?? []).toString("hex")),
  };
}

function readAttributes(message: Uint8Array, field: number): Record<string, string | number> {
  const entries = parts(message, field).map((pair) => {
    const [key = new Uint8Array()] = parts(pair, 1);
    const value = fieldsOf(parts(pair, 2)[0] ?? new Uint8Array())[0]?.[1] ?? "";
    return [Buffer.from(key).toString(), value instanceof Uint8Array ? Buffer.from(value).toString() : Number(value)];
  });
  return Object.fromEntries(entries);
}

function parts(message: Uint8Array, field: number): Uint8Array[] {
  return fieldsOf(message).flatMap(([number, value]) =>
    number === field && value instanceof Uint8Array ? [value] : [],
  );
}

function fieldsOf(message: Uint8Array): [number: number, value: Field][] {
  const reader = new BinaryReader(message);
  const fields: [number, Field][] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) fields.push([number, reader.bytes()]);
    else if (type === WireType.Varint) fields.push([number, BigInt(reader.uint64())]);
    else reader.skip(type, number);
  }
  return fields;
}
