import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { type DashboardFixture, startDashboardFixture } from "../dashboard/dashboard-fixture.ts";
import { type Followed, type Following, followEvents } from "./follow-events.ts";

let dashboard: DashboardFixture;
let line: Line;
let client: DashboardClient;
beforeAll(async () => {
  dashboard = await startDashboardFixture();
  line = await Line.open(dashboard.address);
  client = createDashboardClient(line.address, await dashboard.hireOperator("ada"));
});
afterAll(async () => {
  client?.close();
  await line?.cut();
  await dashboard?.close();
});

/** The way to the service, which can be cut and mended as a restart would. */
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

/** Resolves once no transaction of other tests on the same server keeps the event from being shown. */
async function shown(eventId: string): Promise<void> {
  const end = async () => (await client.deliveries.listWebhookEvents({ ...scope(), fromNow: true })).lastEventId;
  while ((await end()) !== eventId);
}

const auditRows = async () =>
  (await dashboard.rows("SELECT FROM audit_entry WHERE action = 'ListWebhookEvents'")).length;

describe("followEvents()", () => {
  it("begins now, and goes on where it was after the service was away", async () => {
    const { eventId: past } = await dashboard.tellEvent();
    await shown(past);
    const following = follow();
    expect(await following.next()).toEqual({ place: past });
    const first = await dashboard.tellEvent();
    expect(await following.next()).toMatchObject({ event: { eventId: first.eventId }, place: first.eventId });
    await line.cut();
    const second = await dashboard.tellEvent();
    const third = await dashboard.tellEvent();
    const later = following.next();
    await following.troubled;
    expect(following.troubles).toEqual([expect.stringMatching(/./)]);
    await line.mend();
    expect((await later).event?.eventId).toBe(second.eventId);
    expect((await following.next()).event?.eventId).toBe(third.eventId);
    expect(following.troubles.at(-1)).toBeUndefined();
    following.close();
  });

  it("moves on past events that are not wanted, and leaves no audit row for looks that bring nothing", async () => {
    const told = await dashboard.tellEvent();
    const following = follow({ eventTypes: ["payment_session.declined"], after: told.eventId });
    expect(await following.next()).toEqual({ place: told.eventId });
    const unwanted = await dashboard.tellEvent();
    expect(await following.next()).toEqual({ place: unwanted.eventId });
    const rows = await auditRows();
    const look = await client.deliveries.listWebhookEvents({ ...scope(), afterEventId: unwanted.eventId });
    expect(look).toEqual({ events: [], lastEventId: unwanted.eventId, more: false });
    expect(await auditRows()).toBe(rows);
    const waiting = following.next();
    following.close();
    expect(await waiting).toBeUndefined();
  });

  it("ends when the service refuses", async () => {
    const nobody = follow({ after: "evt_01h455vb4pex5vsknk084sn02q" });
    await nobody.next();
    await expect(nobody.next()).rejects.toMatchObject({ code: "not_found" });
  });
});
