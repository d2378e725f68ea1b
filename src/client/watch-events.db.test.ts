import { afterAll, expect, it, onTestFinished } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { startEdgeFixture } from "../edge/edge.fixture.ts";
import { createGrpcServer, type GrpcServer } from "../edge/grpc-server.ts";
import { recordEvent, writeEventBody } from "../events/outbox.ts";
import { encodeId } from "../platform/ids.ts";
import { watchEvents } from "./watch-events.ts";

const edge = await forFile(startEdgeFixture);
const { database, outbox } = edge.core.core;
afterAll(() => expect(edge.bugs).toEqual([]));

async function emit(): Promise<string> {
  const { id: sessionId } = await edge.core.newSession();
  const { merchantId } = edge.core.owner;
  const body = (envelope: Parameters<typeof writeEventBody>[0], sequence: number) =>
    writeEventBody(envelope, { sequence });
  const event = { sessionId, merchantId, type: "payment_session.succeeded", body } as const;
  return encodeId("evt", (await database.transaction((tx) => recordEvent(tx, outbox, event))).eventId);
}

async function serve(port = 0): Promise<{ server: GrpcServer; draining: AbortController; port: number }> {
  const draining = new AbortController();
  const server = createGrpcServer({ ...edge.parts, draining: draining.signal }, { reflection: false });
  return { server, draining, port: await server.listen(port, "127.0.0.1") };
}

function follow(port: number, options: { credential?: string; cursor?: string } = {}) {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const [events, cursors] = [[] as string[], [] as string[]];
  const done = (async () => {
    const credential = () => options.credential ?? edge.keys.secret;
    const { cursor } = options;
    const signal = leaving.signal;
    for await (const one of watchEvents({ address: `127.0.0.1:${port}`, credential, cursor, signal })) {
      cursors.push(one.cursor);
      if (one.event) events.push(one.event.eventId);
    }
  })();
  return { events, cursors, done, leave: () => leaving.abort() };
}

it("goes on where it was when the server stops and another one is there", async () => {
  const first = await serve();
  const stream = follow(first.port);
  await expect.poll(() => stream.cursors.length).toBeGreaterThan(1);
  const before = await emit();
  await expect.poll(() => stream.events).toEqual([before]);
  first.draining.abort();
  await first.server.close();
  const between = await emit();
  const second = await serve(first.port);
  onTestFinished(() => second.server.close());
  await expect.poll(() => stream.events, { timeout: 15_000 }).toEqual([before, between]);
  const after = await emit();
  await expect.poll(() => stream.events).toEqual([before, between, after]);
  stream.leave();
  await stream.done;
});

it("rejects what a repeat would not change", async () => {
  const { server, port } = await serve();
  onTestFinished(() => server.close());
  await expect(follow(port, { credential: "wrong" }).done).rejects.toMatchObject({ code: "invalid_key" });
  await expect(follow(port, { cursor: "AAAA" }).done).rejects.toMatchObject({ code: "invalid_parameter" });
});
