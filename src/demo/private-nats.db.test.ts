import { statSync } from "node:fs";
import { join } from "node:path";
import { connect, type NatsConnection } from "nats";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { startTestNats } from "../dev/testing/nats.ts";
import { testStateFolder } from "../dev/testing/test-run.ts";
import { type PrivateNats, startPrivateNats } from "./private-nats.ts";
import { markOf } from "./process-mark.ts";

async function enter(login: PrivateNats["urls"]["test"]): Promise<NatsConnection> {
  const connection = await connect({ ...login, reconnect: false });
  onTestFinished(() => connection.close());
  return connection;
}

describe("startPrivateNats()", () => {
  it("hides the streams and subjects of one environment from the other", async () => {
    const nats = await startTestNats();
    onTestFinished(() => nats.stop({ removeData: true }));
    const test = await enter(nats.urls.test);
    const live = await enter(nats.urls.live);
    const heard = live.subscribe(">");
    await (await test.jetstreamManager()).streams.add({ name: "PAYMENTS_TEST_V1", subjects: ["payments.test.>"] });
    await test.jetstream().publish("payments.test.v1.payment_session.succeeded");
    await live.flush();
    heard.unsubscribe();
    expect(heard.getReceived()).toBe(0);
    expect(await (await live.jetstreamManager()).streams.names().next()).toEqual([]);
    expect(await (await test.jetstreamManager()).streams.names().next()).toEqual(["PAYMENTS_TEST_V1"]);
  });

  it("has room for two streams of 1 GiB in an account and refuses more", async () => {
    const nats = await startTestNats();
    onTestFinished(() => nats.stop({ removeData: true }));
    const manager = await (await enter(nats.urls.test)).jetstreamManager();
    const add = (name: string) => manager.streams.add({ name, subjects: [`${name}.>`], max_bytes: 1024 ** 3 });
    await add("first");
    await add("second");
    await expect(add("third")).rejects.toThrow("insufficient storage");
  });

  it("refuses a login without its password", async () => {
    const nats = await startTestNats();
    onTestFinished(() => nats.stop({ removeData: true }));
    await expect(connect({ ...nats.urls.live, pass: "guess" })).rejects.toThrow("Authorization Violation");
    await expect(connect({ servers: nats.urls.live.servers })).rejects.toThrow("Authorization Violation");
  });

  it("keeps messages, port and passwords between starts, in files that only their owner can read", async () => {
    const dataName = `${inject("testRunName")}-kept-nats`;
    const first = await startPrivateNats({ stateFolder: testStateFolder, dataName });
    const connection = await connect({ ...first.urls.test });
    await (await connection.jetstreamManager()).streams.add({ name: "kept", subjects: ["kept"] });
    await connection.jetstream().publish("kept");
    await connection.close();
    await first.stop();
    expect(markOf(first.pid)).toBeUndefined();
    const second = await startPrivateNats({ stateFolder: testStateFolder, dataName });
    onTestFinished(() => second.stop({ removeData: true }));
    expect(second.urls).toEqual(first.urls);
    const manager = await (await enter(second.urls.test)).jetstreamManager();
    expect((await manager.streams.info("kept")).state.messages).toBe(1);
    for (const file of [`${dataName}.json`, join(dataName, "nats.conf")]) {
      expect(statSync(join(testStateFolder, file)).mode & 0o777).toBe(0o600);
    }
  });

  it("refuses a second start while the process that started the first is alive", async () => {
    const dataName = `${inject("testRunName")}-twice-nats`;
    const nats = await startPrivateNats({ stateFolder: testStateFolder, dataName });
    onTestFinished(() => nats.stop({ removeData: true }));
    await expect(startPrivateNats({ stateFolder: testStateFolder, dataName })).rejects.toThrow(
      `nats-server is already running (pid ${nats.pid})`,
    );
  });
});
