import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import {
  EventService,
  WatchEventsResponse_Ending_Reason as Reason,
  WatchEventsRequestSchema,
  type WatchEventsResponse,
} from "../../gen/payments/v1/event_pb.ts";
import { addKey, generateKey } from "../accounts/api-keys.ts";
import { addService, parseServices } from "../accounts/services-file.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { recordEvent, writeEventBody } from "../events/outbox.ts";
import { frameMessage } from "../platform/grpc-message.ts";
import { encodeId } from "../platform/ids.ts";
import { signInternalServiceToken } from "../platform/internal-service-token.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";
import { createServiceAuthenticate } from "./service-callers.ts";

const edge = await forFile(startEdgeFixture);
const { database } = edge.core.core;
const { merchantId } = edge.core.owner;
const merchant = encodeId("mer", merchantId);
const other = systemRuntime.uuid();

const added = addService("[]", { name: "books", environment: "test", merchants: "*", rights: ["events.read"] });
const books = { kid: "books", privateKey: createPrivateKey(added.privateKey) };
const all = parseServices(added.file);
let services = all;
const authenticate = createServiceAuthenticate(
  edge.parts.authenticate,
  { environments: edge.parts.environments, accounts: database },
  { entries: () => services, onCall: () => {} },
);
const draining = new AbortController();
const eventStreams = { heartbeatMs: 100, ageMs: 60_000, idleMs: 1_000 };
const server = await forFile(() =>
  createGrpcServer({ ...edge.parts, authenticate, draining: draining.signal }, { reflection: false, eventStreams }),
);
const baseUrl = `http://127.0.0.1:${await server.listen(0, "127.0.0.1")}`;
const client = createClient(EventService, createGrpcTransport({ baseUrl }));

const headersOf = (credential: string) => ({ headers: { authorization: `Bearer ${credential}` } });
const token = (claim: { merchant?: string } = {}) => signInternalServiceToken(books, { environment: "test", ...claim });

async function emit(of = merchantId): Promise<string> {
  const { id: sessionId } = await edge.core.newSession();
  const { eventId } = await database.transaction((tx) =>
    recordEvent(tx, edge.core.core.outbox, {
      sessionId,
      merchantId: of,
      type: "payment_session.succeeded",
      body: (envelope, sequence) => writeEventBody(envelope, { sequence }),
    }),
  );
  return encodeId("evt", eventId);
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error) => ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason,
  );

/** Watches until the test ends, and collects the messages. */
function watch(credential: string, request: Parameters<Client<typeof EventService>["watchEvents"]>[0] = {}) {
  const leaving = new AbortController();
  const messages: WatchEventsResponse[] = [];
  const ended = (async () => {
    const options = { ...headersOf(credential), signal: leaving.signal };
    for await (const message of client.watchEvents(request, options)) messages.push(message);
  })();
  ended.catch(() => {});
  onTestFinished(() => leaving.abort());
  const contents = () => messages.map(({ message }) => message);
  return {
    messages,
    ended,
    leave: () => leaving.abort(),
    events: () => contents().flatMap((one) => (one.case === "event" ? one.value : [])),
    beats: () => contents().flatMap((one) => (one.case === "heartbeat" ? one.value : [])),
    endings: () => contents().flatMap((one) => (one.case === "ending" ? one.value.reason : [])),
  };
}

const soon = () => new Promise<undefined>((resolve) => setTimeout(resolve, 20));
const isFollowing = (stream: ReturnType<typeof watch>) => expect.poll(() => stream.beats().at(-1)?.caughtUp).toBe(true);

const isAdmitted = (stream: ReturnType<typeof watch>) =>
  Promise.race([
    isFollowing(stream).then(() => true),
    stream.ended.then(
      () => false,
      () => false,
    ),
  ]);

async function restrictedKey(rights: string[]) {
  const secret = generateKey(systemRuntime, { brand: "switchyard", environment: "test", kind: "restricted" });
  const id = systemRuntime.uuid();
  const restrictions = { name: "Books", rights, expiresAt: null, refundCap: null };
  await database.transaction((tx) =>
    addKey(tx, { id, keyId: id, merchantId, kind: "restricted", secret, restrictions }),
  );
  const revoke = () =>
    edge.core.asOwner.query(
      { name: "revoke_books", text: "UPDATE api_key SET revoked_at = app.clock() WHERE id = $1" },
      [id],
    );
  return { key: secret.expose(), revoke };
}

describe("ListEvents", () => {
  it("lists by REST what follows a cursor, with the bodies of webhooks", async () => {
    const { json: start } = await edge.call("GET", "/events");
    expect(start).toEqual({ events: [], nextCursor: expect.any(String), caughtUp: true });
    const eventId = await emit();
    await expect
      .poll(async () => (await edge.call("GET", `/events?cursor=${start.nextCursor}`)).json)
      .toMatchObject({
        events: [{ eventId, type: "payment_session.succeeded", merchantId: merchant, sequence: 1 }],
      });
    const { json } = await edge.call("GET", `/events?cursor=${start.nextCursor}&eventTypes=payment_session.succeeded`);
    expect(JSON.parse(json.events[0].body)).toMatchObject({ id: eventId, data: { sequence: 1 } });
    expect((await edge.call("GET", `/events?cursor=${json.nextCursor}`)).json.events).toEqual([]);
    const since = json.events[0].occurredAt;
    const found = (await edge.call("GET", `/events?since=${since}`)).json.events;
    expect(found).toEqual(expect.arrayContaining([expect.objectContaining({ eventId })]));
  });

  it.each([
    ["cursor=AAAA", "invalid_parameter", "cursor"],
    ["cursor=AQ&since=2026-01-01T00:00:00Z", "invalid_parameter", "since"],
    ["eventTypes=payment_session.lost", "invalid_parameter", "eventTypes"],
    [`merchantIds=${encodeId("mer", other)}`, "invalid_parameter", "merchantIds"],
  ])("refuses %s", async (query, code, param) => {
    expect((await edge.call("GET", `/events?${query}`)).json).toMatchObject({ code, param });
  });
});

describe("WatchEvents", () => {
  it("sends each new event of the key's merchant, and goes on behind a cursor", async () => {
    const stream = watch(edge.keys.secret);
    await isFollowing(stream);
    await emit(other);
    const ids = [await emit(), await emit()];
    await expect.poll(() => stream.events().map(({ eventId }) => eventId)).toEqual(ids);
    const { cursor } = stream.messages.find(({ message }) => message.case === "event")!;
    const resumed = watch(edge.keys.secret, { cursor });
    await expect.poll(() => resumed.events().map(({ eventId }) => eventId)).toEqual(ids.slice(1));
    expect(resumed.messages[0]?.message).toMatchObject({ case: "heartbeat", value: { caughtUp: false } });
  });

  it("shows a service the events of its merchants, and no others", async () => {
    const everything = watch(await token());
    const one = watch(await token(), { merchantIds: [merchant] });
    const named = watch(await token({ merchant }));
    for (const stream of [everything, one, named]) await isFollowing(stream);
    const [foreign, own] = [await emit(other), await emit()];
    await expect.poll(() => everything.events().map(({ eventId }) => eventId)).toEqual([foreign, own]);
    for (const stream of [one, named]) {
      await expect.poll(() => stream.events().map(({ eventId }) => eventId)).toEqual([own]);
    }
    services = all.map((service) => ({ ...service, merchants: [merchantId] }));
    onTestFinished(() => {
      services = all;
    });
    expect(await codeOf(client.listEvents({ merchantIds: [encodeId("mer", other)] }, headersOf(await token())))).toBe(
      "INVALID_PARAMETER",
    );
    // What it may read has changed, so the stream of everything ends.
    await expect.poll(everything.endings).toEqual([Reason.SCOPE]);
  });

  it("refuses wrong fields before it begins", async () => {
    expect(await codeOf(watch(edge.keys.secret, { cursor: "" }).ended)).toBe("INVALID_FIELD");
    expect(await codeOf(watch(edge.keys.secret, { eventTypes: ["payment_session.lost"] }).ended)).toBe(
      "INVALID_PARAMETER",
    );
    const { key } = await restrictedKey(["ledger.read"]);
    expect(await codeOf(watch(key).ended)).toBe("RIGHT_NOT_GRANTED");
    expect(await codeOf(watch(edge.keys.publishable).ended)).toBe("KEY_TYPE_NOT_ALLOWED");
  });

  it("ends with the next heartbeat once the key is revoked", async () => {
    const { key, revoke } = await restrictedKey(["events.read"]);
    const stream = watch(key);
    await isFollowing(stream);
    await revoke();
    expect(await codeOf(stream.ended)).toBe("INVALID_KEY");
  });

  it("ends with the next heartbeat once the service has left the file", async () => {
    const stream = watch(await token());
    await isFollowing(stream);
    services = [];
    onTestFinished(() => {
      services = all;
    });
    expect(await codeOf(stream.ended)).toBe("INVALID_KEY");
  });

  it("has ten streams for a key, and one more after one ends", async () => {
    const streams = Array.from({ length: 10 }, () => watch(edge.keys.secret));
    for (const stream of streams) await isFollowing(stream);
    expect(await codeOf(watch(edge.keys.secret).ended)).toBe("RATE_LIMITED");
    streams[0]!.leave();
    const retry = async (): Promise<void> => {
      const next = watch(edge.keys.secret);
      while (next.messages.length === 0) {
        if ((await Promise.race([codeOf(next.ended), soon()])) !== undefined) return retry();
      }
    };
    await retry();
  });

  describe("for a client that takes nothing", () => {
    /** Begins a stream of more than HTTP/2's flow control lets through, and reads nothing of it. */
    async function stall(contentType: string) {
      const { nextCursor } = await client.listEvents({}, headersOf(edge.keys.secret));
      const body = (envelope: Parameters<typeof writeEventBody>[0], sequence: number) =>
        writeEventBody(envelope, { sequence, long: "x".repeat(60_000) });
      for (let count = 0; count < 20; count++) {
        const { id: sessionId } = await edge.core.newSession();
        const event = { sessionId, merchantId, type: "payment_session.succeeded", body } as const;
        await database.transaction((tx) => recordEvent(tx, edge.core.core.outbox, event));
      }
      const session = connect(baseUrl);
      onTestFinished(() => session.close());
      const stuck = session.request({
        ":method": "POST",
        ":path": "/payments.v1.EventService/WatchEvents",
        "content-type": contentType,
        te: "trailers",
        authorization: `Bearer ${edge.keys.secret}`,
        ...(contentType.includes("connect") && { "connect-protocol-version": "1" }),
      });
      stuck.on("error", () => {});
      stuck.end(
        frameMessage(toBinary(WatchEventsRequestSchema, create(WatchEventsRequestSchema, { cursor: nextCursor }))),
      );
      await once(stuck, "response");
      return { session, stuck };
    }

    const protocols = ["application/grpc+proto", "application/grpc-web+proto", "application/connect+proto"];

    it.each(protocols)("hangs up, and keeps no place for it (%s)", async (contentType) => {
      const { stuck } = await stall(contentType);
      await once(stuck, "close");
      expect(stuck.rstCode).toBe(constants.NGHTTP2_CANCEL);
      const streams = Array.from({ length: 10 }, () => watch(edge.keys.secret));
      for (const stream of streams) await isFollowing(stream);
    });

    const departures = protocols.flatMap((contentType) =>
      ["cancels the call", "loses the connection"].map((departure) => ({ contentType, departure })),
    );

    it.each(departures)("keeps no place for one that $departure ($contentType)", async ({ contentType, departure }) => {
      const { session, stuck } = await stall(contentType);
      if (departure === "cancels the call") stuck.close(constants.NGHTTP2_CANCEL);
      else session.destroy();
      for (let place = 1; place <= 10; place++) await expect.poll(() => isAdmitted(watch(edge.keys.secret))).toBe(true);
    });
  });

  it("ends when the server is about to stop", async () => {
    const stream = watch(edge.keys.secret);
    await isFollowing(stream);
    draining.abort();
    await stream.ended;
    expect(stream.endings()).toEqual([Reason.STOPPING]);
  });
});
