import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { startDashboardFixture } from "../dashboard/dashboard.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { type Followed, type Following, followEvents } from "./follow-events.ts";

afterAll(() => line.cut());

/** The connection to the service. It can be cut and restored, as by a restart. */
class Line {
  readonly #to: string;
  #server: Server | undefined;
  #port = 0;
  readonly #sockets = new Set<Socket>();

  static async open(to: string): Promise<Line> {
    const line = new Line(to);
    await line.mend();
    return line;
  }

  private constructor(to: string) {
    this.#to = to;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async mend(): Promise<void> {
    const [host = "", port = ""] = this.#to.split(":");
    const server = createServer((near) => {
      const far = connect(Number(port), host);
      for (const socket of [near, far]) this.#sockets.add(socket.on("error", () => {}));
      near.pipe(far).pipe(near);
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

const dashboard = await forFile(startDashboardFixture);
const line = await Line.open(dashboard.address);
const client = await forFile(async () => createDashboardClient(line.address, await dashboard.hireOperator("ada")));

function follow(more: Partial<Following> = {}) {
  const troubles: (string | undefined)[] = [];
  const closing = new AbortController();
  const cut = Promise.withResolvers<void>();
  const events = followEvents(client.deliveries, {
    scope: scope(),
    eventTypes: [],
    after: undefined,
    onTrouble: (trouble) => {
      troubles.push(trouble);
      cut.resolve();
    },
    closing: closing.signal,
    ...more,
  });
  const next = async () => (await events.next()).value as Followed;
  return { next, troubles, troubled: cut.promise, close: () => closing.abort(), events };
}

const scope = () => ({ merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" }) as const;

/** Resolves once no transaction of another test on the same server keeps the event from being listed. */
async function shown(eventId: string): Promise<void> {
  const end = async () => (await client.deliveries.listWebhookEvents({ ...scope(), fromNow: true })).lastEventId;
  while ((await end()) !== eventId);
}

const auditRows = async () =>
  (await dashboard.rows("SELECT FROM audit_entry WHERE action = 'ListWebhookEvents'")).length;

describe("followEvents()", () => {
  it("begins now, and continues where it was after the service was unavailable", async () => {
    const { eventId: past } = await dashboard.emitEvent();
    await shown(past);
    const following = follow();
    expect(await following.next()).toEqual({ position: past });
    const first = await dashboard.emitEvent();
    expect(await following.next()).toMatchObject({ event: { eventId: first.eventId }, position: first.eventId });
    await line.cut();
    const second = await dashboard.emitEvent();
    const third = await dashboard.emitEvent();
    const later = following.next();
    await following.troubled;
    expect(following.troubles).toEqual([expect.stringMatching(/./)]);
    await line.mend();
    expect((await later).event?.eventId).toBe(second.eventId);
    expect((await following.next()).event?.eventId).toBe(third.eventId);
    expect(following.troubles.at(-1)).toBeUndefined();
    following.close();
  });

  it("moves past events that are not wanted, and writes no audit row for requests without results", async () => {
    const emitted = await dashboard.emitEvent();
    const following = follow({ eventTypes: ["payment_session.declined"], after: emitted.eventId });
    expect(await following.next()).toEqual({ position: emitted.eventId });
    const unwanted = await dashboard.emitEvent();
    expect(await following.next()).toEqual({ position: unwanted.eventId });
    const rows = await auditRows();
    const look = await client.deliveries.listWebhookEvents({ ...scope(), afterEventId: unwanted.eventId });
    expect(look).toEqual({ events: [], lastEventId: unwanted.eventId, more: false });
    expect(await auditRows()).toBe(rows);
    const waiting = following.next();
    following.close();
    expect(await waiting).toBeUndefined();
  });

  it("ends when the service refuses", async () => {
    const unknown = follow({ after: "evt_01h455vb4pex5vsknk084sn02q" });
    await unknown.next();
    await expect(unknown.next()).rejects.toMatchObject({ code: "not_found" });
  });
});
