/** The webhook worker of the straight payment: claims rows with SKIP LOCKED, posts them signed, and records the result. */
import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { Agent, request } from "undici";
import { answerParent, readUsage } from "../../../testing/child-process.ts";

type Claimed = { readonly id: string; readonly body: string; readonly url: string; readonly secret: string };
type Posted = { readonly id: string; readonly statusCode: number; readonly durationMs: number };

const batchMax = 50;
const pollEveryMs = 50;
const timeoutMs = 10_000;

const claim = {
  name: "claim_webhooks",
  text: `UPDATE webhook w SET tries = w.tries + 1, next_at = now() + interval '1 minute'
    FROM endpoint e
    WHERE e.merchant_id = w.merchant_id AND w.id IN (
      SELECT id FROM webhook WHERE status = 'PENDING' AND next_at <= now()
      ORDER BY next_at LIMIT ${batchMax} FOR UPDATE SKIP LOCKED)
    RETURNING w.id, w.body, e.url, e.secret`,
};
const record = {
  name: "record_webhooks",
  text: `WITH posted AS (SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[]) AS p (id, status_code, duration_ms)),
    logged AS (
      INSERT INTO webhook_attempt (webhook_id, started_at, duration_ms, status_code)
      SELECT id, now() - duration_ms * interval '1 ms', duration_ms, status_code FROM posted)
    UPDATE webhook w SET status = CASE WHEN p.status_code BETWEEN 200 AND 299 THEN 'DELIVERED' ELSE w.status END,
      delivered_at = CASE WHEN p.status_code BETWEEN 200 AND 299 THEN now() END,
      next_at = now() + least(power(2, w.tries), 3600) * interval '1 second'
    FROM posted p WHERE w.id = p.id`,
};

const agent = new Agent();

async function post({ id, body, url, secret }: Claimed): Promise<Posted> {
  const startedAt = performance.now();
  const at = Math.floor(Date.now() / 1_000);
  const mac = createHmac("sha256", Buffer.from(secret, "base64")).update(`evt_${id}.${at}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    "webhook-id": `evt_${id}`,
    "webhook-timestamp": String(at),
    "webhook-signature": `v1,${mac}`,
  };
  const options = { dispatcher: agent, method: "POST" as const, headers, body, signal: AbortSignal.timeout(timeoutMs) };
  // A webhook without an answer is sent again, like one that was refused.
  const statusCode = await request(url, options).then(
    (answer) => answer.body.dump().then(() => answer.statusCode),
    () => 0,
  );
  return { id, statusCode, durationMs: Math.round(performance.now() - startedAt) };
}

async function deliver(pool: Pool): Promise<number> {
  const { rows } = await pool.query<Claimed>(claim);
  if (rows.length === 0) return 0;
  const posted = await Promise.all(rows.map(post));
  const column = <Name extends keyof Posted>(name: Name) => posted.map((one) => one[name]);
  await pool.query({ ...record, values: [column("id"), column("statusCode"), column("durationMs")] });
  return rows.length;
}

async function run(pool: Pool): Promise<never> {
  for (;;) {
    if ((await deliver(pool)) === 0) await pause(pollEveryMs);
  }
}

answerParent({
  start({ databaseUrl }: { databaseUrl: string }) {
    void run(new Pool({ connectionString: databaseUrl, max: 2, idleTimeoutMillis: 0 }));
    return null;
  },
  usage: readUsage,
});
