import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { afterAll, describe, expect, it } from "vitest";
import { closeWorkItem, listWorkItems, openWorkItem, workItemKinds } from "../core/record/work-items.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createBinder } from "../gateways/connections.ts";
import { observeConnector } from "../gateways/observed-connector.ts";
import { auditRules } from "../oversight/audit-sessions.ts";
import { raiseAlarmsOnce } from "../oversight/raise-alarms.ts";
import { reconcileOnce } from "../oversight/reconcile.ts";
import { loadRecoveryFigures } from "../oversight/recovery-figures.ts";
import { createMetricsServer } from "./metrics-server.ts";
import { createProcessMetrics } from "./process-metrics.ts";
import { createRecoveryMetrics } from "./recovery-metrics.ts";

let isDown = false;
const bugs: unknown[] = [];
const registry = new Registry();
const recovery = createRecoveryMetrics(registry, "switchyard");
const server = createMetricsServer({
  registry,
  async refresh() {
    if (isDown) throw new Error("the database is down");
    recovery.set("test", await loadRecoveryFigures(fixture.core.database));
  },
  readiness: () => ({ isReady: true, lines: [] }),
  reportBug: (error) => bugs.push(error),
  reportUnread: () => {},
});

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
server.listen(0, "127.0.0.1");
await once(server, "listening");
const origin: string = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(async () => {
  server.closeAllConnections();
  server.close();
});

/** Returns every sample, by its name and labels as they are written. */
async function scrape(): Promise<Record<string, number>> {
  const response = await fetch(`${origin}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const samples = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    samples.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

const named = (name: string, labels = "") => `switchyard_${name}{environment="test"${labels && `,${labels}`}}`;

describe("GET /metrics", () => {
  it("has a number for every rule and every kind from the start, and they are 0", async () => {
    const samples = await scrape();
    for (const rule of auditRules) expect(samples[named("invariant_violations", `rule="${rule}"`)]).toBe(0);
    for (const kind of workItemKinds) {
      expect(samples[named("work_items_open", `kind="${kind}"`)]).toBe(0);
      expect(samples[named("alarms_total", `kind="${kind}"`)]).toBe(0);
    }
  });

  it("counts alarms permanently, and work items until a person closes them", async () => {
    const session = await fixture.newSession();
    await fixture.submit(session, cards.allDown);
    await Promise.all(fixture.core.inFlight);
    await fixture.setClockAhead(62);
    await raiseAlarmsOnce(fixture.core);
    const kind = 'kind="VOID_UNANSWERED"';
    const before = await scrape();
    expect(before[named("work_items_open", kind)]).toBe(1);
    expect(before[named("alarms_total", kind)]).toBe(1);
    expect(before[named("sessions_processing")]).toBe(1);
    expect(before[named("attempts_open", 'status="VOIDING"')]).toBe(1);
    expect(before[named("attempts_open_age_seconds", 'status="VOIDING"')]).toBeGreaterThan(3_000);
    expect(before[named("attempts_open_age_seconds", 'status="UNKNOWN"')]).toBe(0);
    expect(before[named("lapsed_lease_age_seconds")]).toBeGreaterThan(3_000);
    const [item] = await listWorkItems(fixture.core.database, { includeClosed: false, after: undefined, count: 1 });
    await closeWorkItem(fixture.core.database, { id: item!.id, by: "ada", note: "seen" });
    const after = await scrape();
    expect(after[named("work_items_open", kind)]).toBe(0);
    expect(after[named("alarms_total", kind)]).toBe(1);
    expect(Object.keys(after).toSorted()).toEqual(Object.keys(before).toSorted());
  });

  it("shows a broken rule until it holds again, also if its row is closed", async () => {
    const session = await fixture.newSession();
    const item = { kind: "INVARIANT_VIOLATED", sessionId: session.id, rule: "final_event", detail: "made up" } as const;
    await openWorkItem(fixture.core.database, fixture.core, item);
    const [open] = await listWorkItems(fixture.core.database, { includeClosed: false, after: undefined, count: 1 });
    await closeWorkItem(fixture.core.database, { id: open!.id, by: "ada", note: "seen" });
    expect((await scrape())[named("invariant_violations", 'rule="final_event"')]).toBe(1);
  });

  it("shows how much the last reconciliation could see", async () => {
    expect(Object.keys(await scrape()).join()).not.toContain("reconciliation_attempts");
    while (await reconcileOnce(fixture.core));
    const samples = await scrape();
    expect(samples[named("reconciliation_attempts", 'seen="read"')]).toBe(1);
    expect(samples[named("reconciliation_attempts", 'seen="nothing"')]).toBe(1);
    expect(samples[named("reconciliation_findings", 'found="mismatch"')]).toBe(0);
    expect(samples[named("reconciliation_age_seconds")]).toBeLessThan(60);
  });

  it("counts a payment once it is durable: its attempts, its failovers, and its end", async () => {
    const { core } = fixture;
    const own = createProcessMetrics("brand");
    const state = { submissionsInFlight: () => core.inFlight.size, failingGateways: () => [] };
    const observer = own.observeEnvironment("test", state);
    const connectorOf = (gateway: string) => observeConnector(core.connectorOf(gateway)!, observer.gateway);
    const bind = createBinder({ database: core.database, ring: core.sealing, connectorOf });
    const session = await fixture.newSession();
    await fixture.submit(session, cards.failover, "tok_1", { ...core, bind, observer: observer.payments });
    await Promise.all(core.inFlight);
    const text = await own.registry.metrics();
    for (const series of [
      'attempts_total{environment="test",gateway="SANDBOX_A",outcome="declined",reason="HARD_DECLINE"} 1',
      'attempts_total{environment="test",gateway="SANDBOX_B",outcome="held",reason="none"} 1',
      'gateway_answers_total{environment="test",gateway="SANDBOX_B",operation="capture",answer="accepted"} 1',
      'gateway_call_duration_seconds_count{environment="test",gateway="SANDBOX_A",operation="authorize"} 1',
      'failovers_total{environment="test",gateway="SANDBOX_A"} 1',
      'sessions_settled_total{environment="test",status="SUCCEEDED"} 1',
      'sessions_settled_total{environment="test",status="DECLINED"} 0',
    ]) {
      expect(text).toContain(`brand_${series}\n`);
    }
    expect(text).not.toMatch(/brand_failovers_total\{.*SANDBOX_B"\} [1-9]/);
  });

  it("answers 503 while the figures cannot be read, and reports the reason only in the log", async () => {
    isDown = true;
    const response = await fetch(`${origin}/metrics`);
    isDown = false;
    expect([response.status, await response.text()]).toEqual([503, ""]);
    expect(bugs).toHaveLength(1);
  });

  it("has nothing at any other address", async () => {
    const { status, headers } = await fetch(`${origin}/`);
    expect([status, headers.get("x-content-type-options")]).toEqual([404, "nosniff"]);
    expect((await fetch(`${origin}/metrics`, { method: "POST" })).status).toBe(404);
  });
});
