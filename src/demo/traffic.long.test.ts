import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDemo, type TestDemo } from "../dev/e2e/demo.fixture.ts";
import { makeTraffic } from "./traffic.ts";

let demo: TestDemo;
let owner: Client;
let ends: Record<string, number>;
beforeAll(async () => {
  demo = await startTestDemo();
  const ownerUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
  owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  ends = await makeTraffic({ file: demo.file, seed: "long", ownerUrl, onMade: () => {} });
}, 600_000);
afterAll(async () => {
  await owner?.end();
  await demo?.close();
});

const one = async (text: string) => (await owner.query(text)).rows[0];

describe("makeTraffic()", () => {
  it("makes 600 payments of a week, most of which succeed and some by failover", async () => {
    const row = await one(`SELECT count(*)::int AS all, count(*) FILTER (WHERE failover)::int AS saved,
      extract(day FROM max(created_at) - min(created_at))::int AS days FROM payment_session`);
    expect(row).toMatchObject({ all: 600, days: 6 });
    expect(row.saved).toBeGreaterThan(20);
    expect(ends.SUCCEEDED).toBeGreaterThan(480);
  });

  it("makes refunds, holds of which some are cancelled, and authentications of which some fail, all in the past", async () => {
    const row = await one(`SELECT (SELECT count(*) FROM refund)::int AS refunds,
      count(*) FILTER (WHERE manual_capture AND status = 'SUCCEEDED')::int AS captured,
      count(*) FILTER (WHERE decline_code = 'capture_cancelled')::int AS cancelled,
      count(*) FILTER (WHERE authentications > 0 AND status = 'SUCCEEDED')::int AS authenticated,
      count(*) FILTER (WHERE decline_code = 'authentication_failed')::int AS failed,
      count(*) FILTER (WHERE held_at > created_at + interval '1 minute' OR held_at < created_at)::int AS apart FROM payment_session`);
    expect(row).toEqual({ refunds: 12, captured: 7, cancelled: 3, authenticated: 13, failed: 2, apart: 0 });
  });

  it("leaves payments in the order of their ids, complete, and with every guard enabled", async () => {
    const orders = "SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY created_at) AS same FROM payment_session";
    expect(await one(orders)).toEqual({ same: true });
    expect((await owner.query("SELECT rule FROM app.audit()")).rows).toEqual([]);
    const asleep = "SELECT count(*)::int AS asleep FROM pg_trigger WHERE tgenabled = 'D' AND NOT tgisinternal";
    expect(await one(asleep)).toEqual({ asleep: 0 });
  });
});
