import { createServer } from "node:http";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { DomainErrorCode } from "../platform/errors.ts";
import { addProcessFigures, createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";
import { startMetrics } from "./start-metrics.ts";

/** Returns every series as it is shown, without its value. */
async function seriesOf({ registry }: ProcessMetrics): Promise<string[]> {
  const lines = (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
}

async function sampleOf(metrics: ProcessMetrics, series: string): Promise<number | undefined> {
  const line = (await metrics.registry.metrics()).split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ")));
}

// Values that an attacker or a mistake could put in place of a name.
const hostile = Array.from({ length: 300 }, (_, index) => [
  `ps_01hzy${index}`,
  `https://shop.example/${index}?card=4242424242424242`,
  `merchant ${index}"} 1\nswitchyard_forged 1`,
  `__proto__${index}`,
]).flat();
const anything = (value: string) => value as never;

function recordEverything(metrics: ProcessMetrics, values: readonly string[]): void {
  const meter = metrics.meterOf("public", ["CreatePaymentSession"]);
  const { gateway, payments } = metrics.observeEnvironment("test", {
    submissionsInFlight: () => 3,
    failingGateways: () => values,
  });
  for (const value of values) {
    meter.begin()(value, "4xx");
    meter.refused(anything(value));
    for (const operation of ["authorize", anything(value)] as const) {
      gateway({ gateway: anything(value), operation, outcome: value, reason: value, durationMs: 5 });
    }
    payments.settled(anything(value));
    payments.failedOver(value);
    payments.gaveUp(value, anything(value));
    metrics.vault.tokenized(value);
    metrics.vault.forwarded(value, value, 5);
    metrics.vault.setHeld(value, 1);
    metrics.vault.walletToken(value, value, value);
    metrics.appleSession(value, value, 5);
  }
}

describe("createProcessMetrics()", () => {
  it("has as many series after 1200 hostile values as after one, and shows none of them", async () => {
    const [few, many] = [createProcessMetrics("switchyard"), createProcessMetrics("switchyard")];
    recordEverything(few, hostile.slice(0, 1));
    recordEverything(many, hostile);
    const series = await seriesOf(many);
    expect(series.toSorted()).toEqual((await seriesOf(few)).toSorted());
    expect(series.join("\n")).not.toMatch(/ps_01|shop\.example|4242|merchant|forged|proto/);
    expect(await sampleOf(many, 'switchyard_requests_total{surface="public",route="other",end="4xx"}')).toBe(1_200);
    expect(await sampleOf(many, 'switchyard_circuits_open{environment="test",gateway="other"}')).toBe(1_200);
  });

  it("counts requests, gateways and sessions under its own name", async () => {
    const metrics = createProcessMetrics("brand");
    const meter = metrics.meterOf("grpc", ["CreatePaymentSession"]);
    const end = meter.begin();
    expect(await sampleOf(metrics, 'brand_requests_in_flight{surface="grpc"}')).toBe(1);
    end("CreatePaymentSession", "2xx");
    meter.refused("rate_limited");
    meter.refused("invalid_field" satisfies DomainErrorCode);
    const observer = metrics.observeEnvironment("live", {
      submissionsInFlight: () => 7,
      failingGateways: () => ["STRIPE"],
    });
    observer.gateway({
      gateway: "STRIPE",
      operation: "authorize",
      outcome: "unknown",
      reason: "TIMEOUT",
      durationMs: 2_000,
    });
    observer.gateway({ gateway: "ADYEN", operation: "capture", outcome: "done", reason: "none", durationMs: 200 });
    const lookedUp = { outcome: "cannotTell", reason: "none", durationMs: 5 };
    observer.gateway({ gateway: "ADYEN", operation: "look_up_refund", ...lookedUp });
    observer.payments.settled("SUCCEEDED");
    observer.payments.failedOver("STRIPE");
    observer.payments.gaveUp("STRIPE", "ABANDONED");
    const expected = {
      'brand_requests_in_flight{surface="grpc"}': 0,
      'brand_requests_total{surface="grpc",route="CreatePaymentSession",end="2xx"}': 1,
      'brand_request_duration_seconds_count{surface="grpc",route="CreatePaymentSession"}': 1,
      'brand_requests_refused_total{surface="grpc",reason="rate_limited"}': 1,
      'brand_attempts_total{environment="live",gateway="STRIPE",outcome="unknown",reason="TIMEOUT"}': 1,
      'brand_gateway_answers_total{environment="live",gateway="ADYEN",operation="capture",answer="done"}': 1,
      'brand_gateway_answers_total{environment="live",gateway="ADYEN",operation="look_up_refund",answer="cannotTell"}': 1,
      'brand_gateway_call_duration_seconds_sum{environment="live",gateway="STRIPE",operation="authorize"}': 2,
      'brand_failovers_total{environment="live",gateway="STRIPE"}': 1,
      'brand_actions_given_up_total{environment="live",gateway="STRIPE",reason="ABANDONED"}': 1,
      'brand_sessions_settled_total{environment="live",status="SUCCEEDED"}': 1,
      'brand_submissions_in_flight{environment="live"}': 7,
      'brand_circuits_open{environment="live",gateway="STRIPE"}': 1,
      'brand_circuits_open{environment="live",gateway="ADYEN"}': 0,
    };
    for (const [series, value] of Object.entries(expected)) {
      expect([series, await sampleOf(metrics, series)]).toEqual([series, value]);
    }
    expect((await seriesOf(metrics)).join("\n")).not.toContain("invalid_field");
  });

  it("shows the age of a loop's last good turn, and its failures", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const metrics = createProcessMetrics("brand");
    const observer = metrics.observeLoop("test", "recover", 2_000);
    const lasting = metrics.observeLoop("test", "event-intake", 1_000);
    vi.advanceTimersByTime(30_000);
    observer("ended");
    lasting("failed");
    vi.advanceTimersByTime(5_000);
    observer("failed");
    expect(await sampleOf(metrics, 'brand_loop_turn_age_seconds{environment="test",loop="recover"}')).toBe(5);
    expect(await sampleOf(metrics, 'brand_loop_interval_seconds{environment="test",loop="recover"}')).toBe(2);
    expect(await sampleOf(metrics, 'brand_loop_failures_total{environment="test",loop="recover"}')).toBe(1);
    expect(await sampleOf(metrics, 'brand_loop_failures_total{environment="test",loop="event-intake"}')).toBe(1);
    expect((await seriesOf(metrics)).join()).not.toContain(
      'loop_turn_age_seconds{environment="test",loop="event-intake',
    );
  });
  afterEach(() => vi.useRealTimers());
});

describe("startMetrics()", () => {
  afterEach(() => vi.useRealTimers());

  it("serves the process's own figures beside ours, and the readiness of every role", async () => {
    const metrics = createProcessMetrics("brand");
    metrics.setVersion("1.2.3");
    for (let calls = 0; calls < 2; calls++) metrics.serviceCall({ environment: "live", service: "deploy" });
    metrics.showPort("grpc", { isReady: async () => false, certificate: { validUntil: new Date(5_000) } });
    let line = { isReady: false, line: "test: event stream unchecked" };
    metrics.addReadiness(() => line);
    const read = await serveMetrics(metrics, vi.fn());
    const { text } = await read("/metrics");
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds [\d.e-]+$/m);
    expect(text).toMatch(/^nodejs_heap_size_used_bytes \d+$/m);
    expect(text).toContain('brand_build_info{version="1.2.3"} 1');
    expect(text).toContain('brand_service_calls_total{environment="live",service="deploy"} 2');
    expect(text).toContain('brand_ready{surface="grpc"} 0');
    expect(text).toContain('brand_certificate_expires_timestamp_seconds{surface="grpc"} 5');
    expect(await read("/ready")).toEqual({ status: 503, text: "test: event stream unchecked\n" });
    line = { isReady: true, line: "test: event stream in_order" };
    expect(await read("/ready")).toEqual({ status: 200, text: "test: event stream in_order\n" });
  });

  it("omits figures that cannot be read, counts and logs the failure, and shows the rest", async () => {
    const metrics = createProcessMetrics("brand");
    const figures = { ...noFigures, openItems: { CAPTURE_FAILED: 3 } } as never;
    let isTestDown = false;
    let requested = Promise.withResolvers<void>();
    for (const name of ["test", "live"]) {
      metrics.showRecovery(name, async () => {
        if (isTestDown && name === "test") throw new Error("connect ECONNREFUSED");
        return figures;
      });
    }
    metrics.beforeScrape("vault_cards", {
      work: async () => {
        requested.resolve();
        if (isTestDown) await new Promise<never>(() => {});
        metrics.vault.setHeld("live", 5);
      },
      forget: metrics.vault.forgetHeld,
    });
    const logged = vi.fn();
    const read = await serveMetrics(metrics, logged);
    const before = (await read("/metrics")).text;
    const ofTest = /^brand_(?!metrics_)\w+\{environment="test".*$/gm;
    expect(before.match(ofTest)).toHaveLength(
      before.match(new RegExp(ofTest.source.replace("test", "live"), "gm"))!.length - 1,
    );
    for (const failing of ["recovery_test", "recovery_live", "vault_cards"]) {
      expect(before).toContain(`brand_metrics_refresh_failures_total{of="${failing}"} 0\n`);
    }

    isTestDown = true;
    requested = Promise.withResolvers();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const reading = read("/metrics");
    await requested.promise;
    await vi.advanceTimersByTimeAsync(6_000);
    const { status, text } = await reading;
    expect(status).toBe(200);
    expect(text.match(ofTest)).toBeNull();
    expect(text).not.toContain("brand_vault_cards_held{");
    expect(text).toContain('brand_work_items_open{environment="live",kind="CAPTURE_FAILED"} 3\n');
    expect(text).toContain('brand_metrics_refresh_failures_total{of="recovery_test"} 1\n');
    expect(text).toContain('brand_metrics_refresh_failures_total{of="recovery_live"} 0\n');
    expect(text).toContain('brand_metrics_refresh_failures_total{of="vault_cards"} 1\n');
    expect(logged.mock.calls.map(([{ kind }]) => kind).toSorted()).toEqual(["recovery_test", "vault_cards"]);
  });
});

/** Serves the metrics on a free port until the end of the test; returns a function that reads a path of it. */
async function serveMetrics(metrics: ProcessMetrics, error: () => void) {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  const server = await startMetrics(metrics, { port, host: "127.0.0.1", log: { error } });
  onTestFinished(() => server.close());
  return async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
}

const noFigures = {
  violations: { final_event: 0 },
  openItems: {},
  alarms: { CAPTURE_FAILED: 1 },
  processing: 0,
  openAttempts: { UNKNOWN: { attempts: 0, oldestSeconds: 0 } },
  lapsedLeaseSeconds: 0,
  auditedSecondsAgo: 3,
  partitionsAhead: { payments: 90 },
  reconciliation: { finishedSecondsAgo: 1, read: 1, byNotifications: 0, inconclusive: 0, mismatches: 0, orphans: 0 },
};

describe("addProcessFigures()", () => {
  it("uses no name of ours", async () => {
    const metrics = createProcessMetrics("brand");
    const ours = metrics.registry.getMetricsAsArray().map(({ name }) => name);
    expect(ours.filter((name) => !name.startsWith("brand_"))).toEqual([]);
    addProcessFigures(metrics);
    const all = metrics.registry.getMetricsAsArray().map(({ name }) => name);
    expect(new Set(all).size).toBe(all.length);
  });
});
