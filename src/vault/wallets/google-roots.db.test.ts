import { Pool } from "pg";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { createTestDatabase } from "../../dev/testing/postgres.ts";
import { Database } from "../../platform/database.ts";
import type { GatewayReply, GatewayRequest } from "../../platform/outbound-http.ts";
import { GoogleAuthority } from "../../sandbox/wallets/google-authority.ts";
import { GoogleRoots } from "./google-roots.ts";

const { url } = await forFile(() => createTestDatabase("vault"), "drop");
const pool = await forFile(() => new Pool({ connectionString: url, max: 2, pipeline: true }), "end");
const database = new Database(pool);
beforeEach(() => pool.query("UPDATE wallet_root SET body = '{}'"));

const hour = 3_600_000;
const [first, second] = [new GoogleAuthority(), new GoogleAuthority()];
const answer = (body: object | string, status = 200): GatewayReply => ({
  type: "answer",
  status,
  headers: {},
  body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
});
const silent: GatewayReply = { type: "noAnswer", timedOut: true, reason: "no answer" };

/** Google, answering as told, with the requests that it got. */
function google(reply: GatewayReply) {
  const served = { reply, requests: [] as GatewayRequest[] };
  const send = async (request: GatewayRequest) => {
    served.requests.push(request);
    return served.reply;
  };
  return { served, roots: (environment: "test" | "live" = "live") => new GoogleRoots(database, { send }, environment) };
}

function later(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
  onTestFinished(() => void vi.useRealTimers());
}

it("are read from one address of each environment", async () => {
  const { served, roots } = google(answer(first.keys));
  await roots("live").current();
  await roots("test").current();
  expect(served.requests.map(({ method, url: address }) => `${method} ${address}`)).toEqual([
    "GET https://payments.developers.google.com/paymentmethodtoken/keys.json",
    "GET https://payments.developers.google.com/paymentmethodtoken/test/keys.json",
  ]);
});

it("are read hourly, and once for many tokens", async () => {
  const { served, roots } = google(answer(first.keys));
  const known = roots();
  expect(await known.current()).toHaveLength(1);
  await known.current();
  expect(served.requests).toHaveLength(1);
  served.reply = answer({ keys: [...first.keys.keys, ...second.keys.keys] });
  later(hour);
  // Nobody waits for Google while a root is valid.
  const many = await Promise.all([known.current(), known.current()]);
  expect(many.map((roots) => roots.length)).toEqual([1, 1]);
  await vi.waitFor(async () => expect(await known.current()).toHaveLength(2));
  expect(served.requests).toHaveLength(2);
});

it("are waited for while none is valid", async () => {
  const { served, roots } = google(answer(new GoogleAuthority({ endsAt: new Date(Date.now() + hour / 2) }).keys));
  const known = roots();
  expect(await known.current()).toHaveLength(1);
  served.reply = answer({ keys: [...first.keys.keys, ...second.keys.keys] });
  later(hour);
  expect(await known.current()).toHaveLength(2);
});

/** A database of which the first statement of a name fails. */
const failingOnce = (name: string) => {
  let hasFailed = false;
  const query = (statement: { name: string }, values: unknown[]) => {
    if (hasFailed || statement.name !== name) return database.query(statement as never, values as never);
    hasFailed = true;
    return Promise.reject(new Error("the database failed"));
  };
  return { query } as unknown as Database;
};

it("are used also where they could not be stored", async () => {
  const { served } = google(answer(first.keys));
  const send = async () => served.reply;
  expect(await new GoogleRoots(failingOnce("vault_store_wallet_roots"), { send }, "live").current()).toHaveLength(1);
});

it("are read from the database by the next token where it failed once", async () => {
  const { served, roots } = google(answer(first.keys));
  await roots().current();
  served.reply = silent;
  const send = async () => served.reply;
  const known = new GoogleRoots(failingOnce("vault_read_wallet_roots"), { send }, "live");
  await expect(known.current()).rejects.toThrow("failed");
  expect(await known.current()).toHaveLength(1);
});

it("stay as they were last read where Google is silent, also for a vault that starts then", async () => {
  const { served, roots } = google(answer(first.keys));
  const known = roots();
  await known.current();
  served.reply = silent;
  later(2 * hour);
  expect(await known.current()).toHaveLength(1);
  expect(await roots().current()).toHaveLength(1);
  expect(await roots("test").current()).toEqual([]);
  // Not asked again by each customer.
  const asked = served.requests.length;
  await known.current();
  expect(served.requests).toHaveLength(asked);
  later(60_000);
  served.reply = answer({ keys: [...first.keys.keys, ...second.keys.keys] });
  await vi.waitFor(async () => expect(await known.current()).toHaveLength(2));
});

it.each([
  ["an error", answer(first.keys, 500)],
  ["a redirect", answer("", 302)],
  ["a page", answer("<html>")],
  ["no key", answer({ keys: [] })],
  ["keys that have ended", answer(new GoogleAuthority({ endsAt: new Date(Date.now() - 1) }).keys)],
  ["too much", answer(JSON.stringify(second.keys) + " ".repeat(70_000))],
])("are not replaced by %s", async (_, reply) => {
  const { served, roots } = google(answer(first.keys));
  const known = roots();
  const [root] = await known.current();
  served.reply = reply;
  later(hour);
  expect(await known.current()).toEqual([root]);
  expect(await roots().current()).toHaveLength(1);
});
