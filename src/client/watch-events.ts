/** Follows events over gRPC, through restarts of the server and lost connections. */
import { setTimeout as pause } from "node:timers/promises";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { type Event, EventService } from "../../gen/payments/v1/event_pb.ts";
import { createGrpcClient } from "../platform/grpc-client.ts";
import { channelOf, type TlsParts } from "./payment-sessions-client.ts";
import { RpcError } from "./rpc-error.ts";

export type WatchEventsOptions = {
  /** `host:port` of the gRPC port. */
  readonly address: string;
  /** Returns the key, or a service's token, which is signed anew for each call. */
  readonly credential: () => string | Promise<string>;
  /** Without this option, the connection is not encrypted. `{}` trusts the system's authorities. */
  readonly tls?: TlsParts | undefined;
  /** The last cursor that was processed. Without cursor and since: from now on. */
  readonly cursor?: string | undefined;
  readonly since?: Date | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  readonly merchantIds?: readonly string[] | undefined;
  /** Called with the problem when the server does not answer, and with undefined once it answers again. */
  readonly onTrouble?: ((problem: string | undefined) => void) | undefined;
  /** Ends the generator. */
  readonly signal?: AbortSignal | undefined;
};

/** An event, or undefined if only the cursor has moved. Store the cursor once the event is processed. */
export type WatchedEvent = { readonly cursor: string; readonly event: Event | undefined };

// Full jitter between these: a restarted server is not called by all at once.
const pausesMs = { first: 250, longest: 5_000 } as const;
// Three heartbeats.
const silenceMs = 30_000;
// Another call would be refused in the same way.
const refusals: readonly number[] = [
  ...[status.INVALID_ARGUMENT, status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.OUT_OF_RANGE],
  ...[status.UNIMPLEMENTED, status.FAILED_PRECONDITION, status.NOT_FOUND],
];

/**
 * Yields events, each at least once and each session's in sequence, until `signal` aborts. Rejects with RpcError when the
 * server refuses, such as `cursor_not_found`, and calls again by the last cursor after everything else.
 */
export async function* watchEvents(options: WatchEventsOptions): AsyncGenerator<WatchedEvent> {
  const { address, tls, credential, since, eventTypes = [], merchantIds = [], signal, onTrouble } = options;
  const client = createGrpcClient(EventService, address, channelOf(tls));
  const scope = { eventTypes: [...eventTypes], merchantIds: [...merchantIds] };
  let { cursor } = options;
  let pauseMs: number = pausesMs.first;
  let isTroubled = false;
  try {
    while (!signal?.aborted) {
      const start = cursor === undefined ? since && { since: timestampFromDate(since) } : { cursor };
      const silence = new AbortController();
      const ends = AbortSignal.any([silence.signal, ...(signal ? [signal] : [])]);
      const metadata = { authorization: `Bearer ${await credential()}` };
      const listen = () => setTimeout(() => silence.abort(), silenceMs);
      let timer = listen();
      try {
        for await (const message of client.watchEvents({ ...scope, ...start }, { metadata, signal: ends })) {
          pauseMs = pausesMs.first;
          if (isTroubled) onTrouble?.(undefined);
          isTroubled = false;
          cursor = message.cursor;
          const { message: content } = message;
          // The time that the caller takes is not the server's.
          clearTimeout(timer);
          if (content.case !== "ending") yield { cursor, event: content.case === "event" ? content.value : undefined };
          timer = listen();
        }
      } catch (error) {
        if (signal?.aborted) return;
        const { code } = error as ServiceError;
        if (status[code] === undefined) throw error;
        const refusal = new RpcError(error as ServiceError, address);
        if (refusals.includes(code)) throw refusal;
        if (!isTroubled) onTrouble?.(refusal.message);
        isTroubled = true;
      } finally {
        clearTimeout(timer);
      }
      await pause(Math.random() * pauseMs, undefined, { signal }).catch(() => {});
      pauseMs = Math.min(2 * pauseMs, pausesMs.longest);
    }
  } finally {
    client.close();
  }
}
