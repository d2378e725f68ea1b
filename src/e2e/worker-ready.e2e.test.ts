/** What a worker process says of itself on its metrics port, and that webhooks go out whatever it has to say of NATS. */
import { connect, RetentionPolicy } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePortRange } from "../testing/free-port-range.ts";
import { WebhookScene } from "./webhook-scene.ts";

// A worker gives NATS three seconds before it goes on without, on a busy machine.
const patience = { timeout: 30_000, interval: 100 };
// Past the 10 s after which the sweep takes what no message brought (fan-out.ts).
const pastSweepS = 11;

let scene: WebhookScene;
let port: number;
beforeAll(async () => {
  scene = await WebhookScene.open({ natsServers: 1 });
  port = await freePortRange(1);
});
afterAll(() => scene?.close());

const startWorker = () => scene.site.startWorker({ SWITCHYARD_METRICS_PORT: String(port) });
const read = async (path: string): Promise<[number, string]> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return [response.status, await response.text()];
};

/** What the worker says once it has looked. */
async function readReady(): Promise<[number, string]> {
  await expect.poll(() => read("/ready"), patience).not.toEqual([503, "test: event stream unchecked\n"]);
  return read("/ready");
}

/** The same, where it may have given NATS up at first: it looks again after a minute. */
async function readOnceNatsAnswers(): Promise<[number, string]> {
  await expect.poll(async () => (await read("/ready"))[1], { timeout: 80_000 }).not.toMatch(/unchecked|unreachable/);
  return read("/ready");
}

async function asNatsClient<Result>(work: (nats: Awaited<ReturnType<typeof connect>>) => Promise<Result>) {
  const { variables } = scene.site;
  const nats = await connect({
    servers: variables.SWITCHYARD_TEST_NATS_SERVERS!,
    user: variables.SWITCHYARD_TEST_NATS_USER!,
    pass: variables.SWITCHYARD_TEST_NATS_PASSWORD!,
  });
  try {
    return await work(nats);
  } finally {
    await nats.close();
  }
}

describe("a worker", { timeout: 120_000 }, () => {
  it("is not ready where NATS refuses its stream, says what to do, and posts webhooks all the same", async () => {
    await asNatsClient(async (nats) => {
      const { streams } = await nats.jetstreamManager();
      await streams.add({
        name: "PAYMENTS_TEST_V1",
        subjects: ["payments.test.v1.>"],
        retention: RetentionPolicy.Interest,
      });
    });
    const worker = await startWorker();
    const [status, text] = await readOnceNatsAnswers();
    expect(status).toBe(503);
    expect(text).toMatch(
      /^test: the stream PAYMENTS_TEST_V1 has retention "interest" .* run `nats stream rm PAYMENTS_TEST_V1`/,
    );
    const act = await scene.begin();
    await act.settle();
    await scene.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    const refused = 'switchyard_event_stream_state{environment="test",state="refused"} 1';
    await expect.poll(async () => (await read("/metrics"))[1], patience).toContain(refused);
    await worker.close();
  });

  it("is ready when that is put in order", async () => {
    await asNatsClient(async (nats) => (await nats.jetstreamManager()).streams.delete("PAYMENTS_TEST_V1"));
    const worker = await startWorker();
    expect(await readOnceNatsAnswers()).toEqual([200, "test: event stream in_order\n"]);
    await worker.close();
  });

  it("is ready without NATS, which it does not need", async () => {
    await scene.site.killNats({ losesStore: false });
    const worker = await startWorker();
    expect(await readReady()).toEqual([200, "test: event stream unreachable\n"]);
    await scene.site.startNats();
    await worker.close();
  });
});
