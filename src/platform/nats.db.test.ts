import { Events } from "nats";
import { afterEach, describe, expect, it, vi } from "vitest";
import { startTestNats } from "../dev/testing/nats.ts";
import { type NatsLink, openNats } from "./nats.ts";

const log = { error: vi.fn() };
let link: NatsLink | undefined;
afterEach(() => link?.close());

describe("openNats()", () => {
  it("returns a connection once there is one, and throws until then", async () => {
    const nats = await startTestNats();
    link = openNats({ login: nats.urls.test, name: "test", log });
    expect(() => link?.connection()).toThrow("no connection to NATS");
    await link.connected;
    await link.connection().flush();
    await nats.stop({ removeData: true });
  });

  it("throws while the connection is broken", async () => {
    const nats = await startTestNats();
    link = openNats({ login: nats.urls.test, name: "test", log });
    await link.connected;
    const broken = Promise.withResolvers<void>();
    (async () => {
      for await (const { type } of link.connection().status()) if (type === Events.Disconnect) broken.resolve();
    })();
    await nats.stop({ removeData: true });
    await broken.promise;
    expect(() => link?.connection()).toThrow("no connection to NATS");
  });

  it("opens and closes without a server", async () => {
    const failed = Promise.withResolvers<void>();
    const login = { servers: "nats://127.0.0.1:1", user: "nobody", pass: "nothing" };
    link = openNats({ login, name: "test", log: { error: () => failed.resolve() } });
    await failed.promise;
    await link.close();
  });
});
