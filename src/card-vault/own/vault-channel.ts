/**
 * Unary gRPC calls to the vault over one HTTP/2 connection, which opens when it is needed. grpc-js would take three times the CPU
 * for a call, and 17 MiB of each process (docs/profiles.md).
 */
import { type ClientHttp2Session, connect, constants, type SecureClientSessionOptions } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { frameMessage, unframeMessage } from "../../platform/grpc-message.ts";

/** The codes of gRPC that are told apart (https://github.com/grpc/grpc/blob/master/doc/statuscodes.md). */
export const statusCodes = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call without an answer. `code` is the vault's refusal, or the end of the call as this side knows it. */
export class CallFailed extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`the call to the vault ended with the status ${code} of gRPC`);
    this.code = code;
  }
}

/** The bounds of a call, and its metadata. */
export type CallOptions = {
  readonly timeoutMs: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
};

// A vault that is back is found soon. TCP and TLS take milliseconds; a name's further addresses are tried within this time.
const reconnectAfterMs = 100;
const connectWithinMs = 5_000;
// A gateway's answer has a MiB at most.
const answerBytesMax = 4 * 1024 * 1024;

/** The connection to one vault, or to any of several behind one name. */
export class VaultChannel {
  readonly #authority: string;
  readonly #tls: SecureClientSessionOptions | undefined;
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<void> | undefined;
  #wantedUntil = 0;
  #isClosed = false;

  /** `address` is `host:port`. Without `tls` the connection is not encrypted. No proxy variable changes the way there. */
  constructor(address: string, tls?: SecureClientSessionOptions) {
    this.#authority = `${tls ? "https" : "http"}://${address}`;
    this.#tls = tls;
  }

  /** Reports whether there is a connection, waiting up to `waitMs` for one. Without it a call is not sent. */
  async isConnected(waitMs: number): Promise<boolean> {
    if (this.#isUsable()) return true;
    this.#wantedUntil = performance.now() + waitMs;
    this.#connecting ??= this.#connect();
    await Promise.race([this.#connecting, pause(waitMs, undefined, { ref: false })]);
    return this.#isUsable();
  }

  /**
   * Calls the vault once, and once more where it has refused the call unseen, as a stopping one does. A call that it may have begun
   * is never repeated. Rejects with CallFailed.
   */
  async call<Input extends DescMessage, Output extends DescMessage>(
    { parent, name, input, output }: DescMethodUnary<Input, Output>,
    message: MessageInitShape<Input>,
    options: CallOptions,
  ): Promise<MessageShape<Output>> {
    const endsAt = performance.now() + options.timeoutMs;
    const call = { path: `/${parent.typeName}/${name}`, bytes: frameMessage(toBinary(input, create(input, message))) };
    for (let isRepeat = false; ; isRepeat = true) {
      const leftMs = endsAt - performance.now();
      if (!(await this.isConnected(leftMs))) throw new CallFailed(statusCodes.unavailable);
      const answer = await send(this.#session!, call, { ...options, timeoutMs: leftMs });
      if (answer !== "refused unseen") return fromBinary(output, unframeMessage(answer).bytes);
      if (isRepeat) throw new CallFailed(statusCodes.unavailable);
    }
  }

  /** Lets running calls finish. */
  close(): void {
    this.#isClosed = true;
    this.#session?.close();
  }

  #isUsable(): boolean {
    return this.#session !== undefined && !this.#session.closed && !this.#session.destroyed;
  }

  async #connect(): Promise<void> {
    while (!(await this.#open()) && performance.now() < this.#wantedUntil && !this.#isClosed)
      await pause(reconnectAfterMs);
    this.#connecting = undefined;
  }

  /** A port that only accepts connections is no vault, so its settings are waited for. */
  #open(): Promise<boolean> {
    const session = connect(this.#authority, { ...this.#tls, settings: { enablePush: false } });
    const timer = setTimeout(() => session.destroy(), connectWithinMs).unref();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        if (this.#session === session) this.#session = undefined;
        resolve(false);
      };
      session.on("error", () => {}).on("close", end);
      // Its calls may finish; the next one opens another connection.
      session.on("goaway", end);
      session.once("remoteSettings", () => {
        clearTimeout(timer);
        this.#session = session;
        // A call's timer keeps the process for as long as the call takes.
        session.unref();
        if (this.#isClosed) session.close();
        resolve(true);
      });
    });
  }
}

/** Returns the framed answer. `refused unseen`: the vault has stated that it did nothing. */
function send(
  session: ClientHttp2Session,
  { path, bytes }: { readonly path: string; readonly bytes: Uint8Array },
  { timeoutMs, metadata, signal }: CallOptions,
): Promise<Buffer | "refused unseen"> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc+proto",
      te: "trailers",
      "grpc-timeout": `${Math.max(1, Math.ceil(timeoutMs))}m`,
      ...metadata,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    let status: string | undefined;
    let stopped: number | undefined;
    const stop = (code: number) => {
      stopped ??= code;
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const cancel = () => stop(statusCodes.cancelled);
    const timer = setTimeout(() => stop(statusCodes.deadlineExceeded), timeoutMs);
    signal?.addEventListener("abort", cancel, { once: true });
    const readStatus = (headers: { "grpc-status"?: string | string[] | undefined }) => {
      status ??= headers["grpc-status"]?.toString();
    };
    stream.on("response", readStatus).on("trailers", readStatus);
    stream.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > answerBytesMax) stop(statusCodes.resourceExhausted);
    });
    stream
      .on("error", () => {})
      .on("close", () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        if (stopped !== undefined) reject(new CallFailed(stopped));
        else if (status === "0") resolve(Buffer.concat(chunks));
        else if (status === undefined && stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) resolve("refused unseen");
        else reject(new CallFailed(Number(status ?? statusCodes.unavailable)));
      });
    stream.end(bytes);
    if (signal?.aborted) cancel();
  });
}
