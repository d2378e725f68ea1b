import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { EventService, WatchEventsRequestSchema } from "../../gen/payments/v1/event_pb.ts";
import { frameMessage } from "../platform/grpc-message.ts";
import { Deadline } from "./deadline.ts";
import { answerStream, type StreamCall } from "./stream-call.ts";

/** A client that takes what is written, or nothing until its `drain`. */
class TakingStream extends EventEmitter {
  destroyed = false;
  writableNeedDrain = false;
}

function openCall(answers: () => AsyncIterable<{ cursor: string }>) {
  const stream = new TakingStream();
  const written: Buffer[] = [];
  let trailers: Record<string, string> = {};
  const ended = Promise.withResolvers<Record<string, string>>();
  const response = Object.assign(new EventEmitter(), {
    stream,
    headersSent: false,
    writeHead: () => {
      response.headersSent = true;
    },
    write: (bytes: Buffer) => written.push(bytes),
    addTrailers: (fields: Record<string, string>) => {
      trailers = fields;
    },
    end: () => ended.resolve(trailers),
  });
  const request = Readable.from([
    frameMessage(toBinary(WatchEventsRequestSchema, create(WatchEventsRequestSchema, {}))),
  ]);
  const call = {
    target: { service: EventService, method: EventService.method.watchEvents, implementation: answers },
    authenticate: async () => ({ type: "anonymous" }),
    check: () => {},
    refusal: () => new ConnectError("refused", Code.Unavailable),
    request: Object.assign(request, { headers: {}, rawHeaders: [] }),
    response,
    deadline: new Deadline(undefined),
    stopping: new AbortController().signal,
  };
  void answerStream(call as unknown as StreamCall);
  return { stream, written, ended: ended.promise };
}

async function* ready(count: number, made: (nth: number) => void = () => {}) {
  for (let nth = 1; nth <= count; nth++) {
    made(nth);
    yield { cursor: "x".repeat(1_000) };
  }
}

it("writes what is ready at one moment together, in parts of 64 KiB", async () => {
  const { written, ended } = openCall(() => ready(100));
  expect(await ended).toEqual({ "grpc-status": "0" });
  expect(written.length).toBe(2);
  expect(Buffer.concat(written).length).toBeGreaterThan(100 * 1_000);
});

it("writes a message at once that nothing follows", async () => {
  const { written } = openCall(async function* () {
    yield* ready(1);
    await new Promise(() => {});
  });
  await expect.poll(() => written.length).toBe(1);
});

it("asks for no further message while the client takes none", async () => {
  let asked = 0;
  const { stream, ended } = openCall(() =>
    ready(1_000, (nth) => {
      asked = nth;
      if (nth === 3) stream.writableNeedDrain = true;
    }),
  );
  await expect.poll(() => asked).toBe(3);
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(asked).toBe(3);
  stream.writableNeedDrain = false;
  stream.emit("drain");
  await ended;
  expect(asked).toBe(1_000);
});

it("ends with the status of a failure, behind what was ready before it", async () => {
  const { written, ended } = openCall(async function* () {
    yield* ready(2);
    throw new Error("failed");
  });
  expect(await ended).toMatchObject({ "grpc-status": String(Code.Unavailable) });
  expect(written).toHaveLength(1);
});
