/** A worker process's readiness on its metrics port, and webhooks that are sent whatever the state of NATS. */
import { connect, RetentionPolicy } from "nats";
import { describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { WebhookFixture } from "./webhook-fixture.ts";

// A worker waits three seconds for NATS before it continues without, on a busy machine.
const patience = { timeout: 30_000, interval: 100 };
// Past the 10 s after which the sweep processes what no message delivered (webhook-worker.ts).
const pastSweepS = 11;

const fixture = await forFile(() => WebhookFixture.open({ natsServers: 1 }));
const port = await freePortRange(1);

const startWorker = () => fixture.site.startWorker({ SWITCHYARD_METRICS_PORT: String(port) });
const read = async (path: string): Promise<[number, string]> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return [response.status, await response.text()];
};

async function readReady(): Promise<[number, string]> {
  await expect.poll(() => read("/ready"), patience).not.toEqual([503, "test: event stream unchecked\n"]);
  return read("/ready");
}

/** Returns the same, if it may have given NATS up at first: it checks again after a minute. */
async function readOnceNatsAnswers(): Promise<[number, string]> {
  await expect.poll(async () => (await read("/ready"))[1], { timeout: 80_000 }).not.toMatch(/unchecked|unreachable/);
  return read("/ready");
}

async function asNatsClient<Result>(work: (nats: Awaited<ReturnType<typeof connect>>) => Promise<Result>) {
  const { variables } = fixture.site;
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
  it("is not ready where NATS refuses its stream, names the remedy, and posts webhooks nevertheless", async () => {
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
    const act = await fixture.begin();
    await act.settle();
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    const refused = 'switchyard_event_stream_state{environment="test",state="refused"} 1';
    await expect.poll(async () => (await read("/metrics"))[1], patience).toContain(refused);
    await worker.close();
  });

  it("is ready when that is corrected", async () => {
    await asNatsClient(async (nats) => (await nats.jetstreamManager()).streams.delete("PAYMENTS_TEST_V1"));
    const worker = await startWorker();
    expect(await readOnceNatsAnswers()).toEqual([200, "test: event stream in_order\n"]);
    await worker.close();
  });

  it("is ready without NATS, which it does not need", async () => {
    await fixture.site.killNats({ losesStore: false });
    const worker = await startWorker();
    expect(await readReady()).toEqual([200, "test: event stream unreachable\n"]);
    await fixture.site.startNats();
    await worker.close();
  });
});
