import { afterEach, describe, expect, it, vi } from "vitest";
import { startTestNats } from "../testing/nats.ts";
import { type NatsLink, openNats } from "./nats.ts";

const log = { error: vi.fn() };
let link: NatsLink | undefined;
afterEach(() => link?.close());

describe("openNats()", () => {
  it("gives a connection once there is one, and says so until then", async () => {
    const nats = await startTestNats();
    link = openNats({ login: nats.urls.test, name: "test", log });
    expect(() => link?.connection()).toThrow("no connection to NATS yet");
    await link.connected;
    await link.connection().flush();
    await nats.stop({ removeData: true });
  });

  it("opens and closes without a server", async () => {
    const failed = Promise.withResolvers<void>();
    const login = { servers: "nats://127.0.0.1:1", user: "nobody", pass: "nothing" };
    link = openNats({ login, name: "test", log: { error: () => failed.resolve() } });
    await failed.promise;
    await link.close();
  });
});
