/**
 * Answers gRPC calls whose answer is a stream, with only the guard and the implementation. Connect's handler waits for the
 * network after each message, and hands each through seven generators: half of a processor sends 1,500 events a second.
 */
import { constants, type Http2ServerResponse } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { frameMessage } from "../platform/grpc-message.ts";
import { openCall, type Target } from "../transcoder/call.ts";
import { callerKey, hangUpKey, requestIdKey } from "./caller.ts";
import { type AnyRequest, requestIdOf } from "./request-id.ts";
import { sendGrpcStatus, statusOf } from "./rpc-form.ts";
import { grpc, type UnaryCall } from "./unary-call.ts";

// Messages that are ready together are written together, up to this size.
const batchBytes = 64 * 1024;

export type StreamCall = Pick<UnaryCall, "target" | "authenticate" | "deadline" | "stopping"> & {
  readonly request: AnyRequest;
  readonly response: Http2ServerResponse;
  /** Throws if the message breaks a rule. */
  readonly check: (checked: CheckedMessage) => void;
  readonly refusal: (error: unknown) => ConnectError;
};

type CheckedMessage = {
  readonly method: Target["method"];
  readonly contextValues: ReturnType<typeof openCall>["context"]["values"];
  readonly message: Awaited<ReturnType<typeof grpc.read>>;
};

export async function answerStream(stream: StreamCall): Promise<void> {
  const { target, request, response, deadline } = stream;
  const { method } = target;
  const signal = AbortSignal.any([deadline.signal, stream.stopping]);
  // node's HTTP/2 requests have the same shape, though not the same type.
  const { context } = openCall(target, request as never, response as never, { protocolName: "grpc", signal });
  const { values } = context;
  values.set(requestIdKey, requestIdOf(request)).set(hangUpKey, () => response.stream.close(constants.NGHTTP2_CANCEL));
  response.once("close", () => deadline.cancel());
  const frames = new FrameWriter(response);
  try {
    const message = await deadline.limit(async () => {
      values.set(callerKey, await stream.authenticate());
      return grpc.read(method, request, response, values);
    });
    stream.check({ method, contextValues: values, message });
    deadline.signal.throwIfAborted();
    const answers = target.implementation(message, context) as unknown as AsyncIterable<typeof message>;
    for await (const answer of answers) {
      await frames.write(frameMessage(toBinary(method.output, create(method.output, answer))));
      if (deadline.isCancelled) return;
    }
    frames.end({ "grpc-status": "0" });
  } catch (error) {
    if (deadline.isCancelled) return;
    const refused = stream.refusal(error);
    if (response.headersSent || frames.isWaiting) frames.end(statusOf(refused));
    else sendGrpcStatus(response, refused);
  }
}

/** Writes the frames of an answer, and waits while the client takes none. */
class FrameWriter {
  readonly #response: Http2ServerResponse;
  #frames: Buffer[] = [];
  #bytes = 0;
  #flushing: NodeJS.Immediate | undefined;

  constructor(response: Http2ServerResponse) {
    this.#response = response;
  }

  get isWaiting(): boolean {
    return this.#frames.length > 0;
  }

  async write(frame: Buffer): Promise<void> {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#bytes >= batchBytes) this.#flush();
    // Messages that are ready together are written together; by then the implementation waits for something else.
    else this.#flushing ??= setImmediate(() => this.#flush());
    const { stream } = this.#response;
    if (stream.writableNeedDrain && !stream.destroyed) await drained(stream);
  }

  end(trailers: Record<string, string>): void {
    this.#flush();
    if (this.#response.stream.destroyed) return;
    this.#begin();
    this.#response.addTrailers(trailers);
    this.#response.end();
  }

  #begin(): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "application/grpc+proto" });
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const frames = this.#frames;
    this.#frames = [];
    this.#bytes = 0;
    if (frames.length === 0 || this.#response.stream.destroyed) return;
    this.#begin();
    this.#response.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
  }
}

function drained(stream: Http2ServerResponse["stream"]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stream.off("drain", end);
      stream.off("close", end);
      resolve();
    };
    stream.on("drain", end);
    stream.on("close", end);
  });
}
