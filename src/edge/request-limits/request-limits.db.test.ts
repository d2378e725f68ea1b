import { randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import type { ServiceError } from "@grpc/grpc-js";
import { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { PaymentSessionService } from "../../../gen/payments/v1/payment_session_pb.ts";
import { generateKey, recordKey } from "../../accounts/api-keys.ts";
import { recordSettings } from "../../accounts/merchant-settings.ts";
import { createRestrictedKey } from "../../accounts/restricted-keys.ts";
import { setClockAhead } from "../../dev/testing/database-clock.ts";
import { requireDocumented } from "../../dev/testing/edge/documented-answers.ts";
import { WireClient } from "../../dev/testing/edge/grpc-wire.ts";
import { type LimitedEdge, startLimitedEdge } from "../../dev/testing/edge/limited-edge.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { createTestDatabase } from "../../dev/testing/postgres.ts";
import { requestLimitBounds } from "../../limits.ts";
import { Database } from "../../platform/database.ts";
import { createGrpcClient } from "../../platform/grpc-client.ts";
import type { RequestLimit } from "../../platform/request-counter.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { EdgeEnvironment } from "../caller.ts";
import { type EdgeKeys, startEdgeFixture } from "../edge.fixture.ts";

// One request in five thousand seconds: a test ends before the bucket refills, and a computed
// wait differs from a constant.
const few: RequestLimit = { perSecond: 0.0002, burst: 4 };
const defaultLimit: RequestLimit = {
  perSecond: requestLimitBounds.perSecond.default,
  burst: requestLimitBounds.burst.default,
};

let keys: EdgeKeys;
const started: { close(): Promise<void> }[] = [];
const edge = await forFile(startEdgeFixture);
beforeEach(async () => {
  keys = await edge.addMerchant();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.close()));
  expect(edge.bugs).toEqual([]);
});

async function open(limit: RequestLimit, others: readonly EdgeEnvironment[] = []): Promise<LimitedEdge> {
  const limited = await startLimitedEdge(edge, limit, { others });
  started.push(limited);
  return limited;
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** Sends a list request over REST and returns the answer's status, code and fields; the answer is as documented. */
async function list({ publicOrigin }: LimitedEdge, secret = keys.secret) {
  const answer = await fetch(`${publicOrigin}/api/v1/payment-sessions`, { headers: bearer(secret) });
  const { status, headers } = answer;
  const text = await answer.text();
  requireDocumented({ method: "GET", target: "/api/v1/payment-sessions", status, headers, text });
  const { code } = JSON.parse(text) as { code?: string };
  return { status, code, fields: fieldsOf((name) => answer.headers.get(name)) };
}

function create({ publicOrigin }: LimitedEdge, idempotencyKey: string, secret = keys.secret): Promise<Response> {
  return fetch(`${publicOrigin}/api/v1/payment-sessions`, {
    method: "POST",
    headers: { ...bearer(secret), "content-type": "application/json", "idempotency-key": idempotencyKey },
    body: JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "order-1" }),
  });
}

type Created = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: { publishableKey: string };
};

function getCheckout({ publicOrigin }: LimitedEdge, { sessionId, clientSecret, vault }: Created) {
  return fetch(`${publicOrigin}/payments.v1.CheckoutService/GetCheckout`, {
    method: "POST",
    headers: {
      ...bearer(clientSecret),
      "publishable-key": vault.publishableKey,
      "content-type": "application/json",
      origin: "https://shop.example",
    },
    body: JSON.stringify({ sessionId }),
  });
}

function fieldsOf(header: (name: string) => unknown) {
  const [policy, limit, retryAfter] = ["ratelimit-policy", "ratelimit", "retry-after"].map((name) => header(name));
  return { policy: policy ?? undefined, limit: limit ?? undefined, retryAfter: retryAfter ?? undefined };
}

async function useUp(limited: LimitedEdge, limit: RequestLimit, secret = keys.secret): Promise<void> {
  for (let request = 0; request < limit.burst; request++) await list(limited, secret);
}

describe("a merchant's requests", () => {
  it("are not used up by calls that a restricted key may not make", async () => {
    const limited = await open(few);
    const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
    const fields = { name: "Reports", rights: ["ledger.read"], expiresAt: null, refundCap: null };
    const { merchantId } = edge.core.owner;
    const { secret } = await edge.core.core.database.transaction((tx) =>
      createRestrictedKey(tx, maker, { merchantId, ...fields }),
    );
    for (let request = 0; request < 5; request++)
      expect(await list(limited, secret.expose())).toMatchObject({ status: 403, code: "right_not_granted" });
    expect(await list(limited, edge.keys.secret)).toMatchObject({ status: 200 });
  });

  it("report what is left, and are refused with the same code and fields on REST, Connect and gRPC", async () => {
    const limited = await open(few);
    expect(await list(limited)).toEqual({
      status: 200,
      code: undefined,
      fields: { policy: '"api";q=4;w=20000', limit: '"api";r=3;t=5000', retryAfter: undefined },
    });
    await useUp(limited, few);
    const overRest = await list(limited);
    expect(overRest).toMatchObject({ status: 429, code: "rate_limited" });
    expect(overRest.fields).toEqual({
      policy: '"api";q=4;w=20000',
      limit: '"api";r=0;t=20000',
      retryAfter: expect.stringMatching(/^(4[5-9]\d\d|5000)$/),
    });
    const client = new WireClient(limited.grpcPort);
    const path = "/payments.v1.PaymentSessionService/ListPaymentSessions";
    for (const [type, body] of [
      ["application/json", Buffer.from("{}")],
      ["application/grpc", Buffer.alloc(5)],
    ] as const) {
      const answer = await client.call(path, { "content-type": type, te: "trailers", ...bearer(keys.secret) }, body);
      expect([type, answer.reason, fieldsOf((name) => answer.headers[name])]).toEqual([
        type,
        "rate_limited",
        { ...overRest.fields, retryAfter: expect.stringMatching(/^(4[5-9]\d\d|5000)$/) },
      ]);
    }
    client.session.close();
  });

  it("carry the fields on accepted calls of Connect and gRPC too", async () => {
    const limited = await open(few);
    const client = new WireClient(limited.grpcPort);
    const path = "/payments.v1.PaymentSessionService/ListPaymentSessions";
    const call = (type: string, body: Buffer) =>
      client.call(path, { "content-type": type, te: "trailers", ...bearer(keys.secret) }, body);
    expect((await call("application/json", Buffer.from("{}"))).headers.ratelimit).toBe('"api";r=3;t=5000');
    expect((await call("application/grpc", Buffer.alloc(5))).headers.ratelimit).toBe('"api";r=2;t=10000');
    client.session.close();
  });

  it("get on gRPC the time to wait, to the millisecond, as RetryInfo", async () => {
    const limited = await open(few);
    await useUp(limited, few);
    const client = createGrpcClient(PaymentSessionService, `127.0.0.1:${limited.grpcPort}`);
    const refused = client.listPaymentSessions({}, { timeoutMs: 5_000, metadata: bearer(keys.secret) });
    const { metadata } = await refused.then(
      () => expect.unreachable(),
      (error: ServiceError) => error,
    );
    const { details } = fromBinary(StatusSchema, metadata.get("grpc-status-details-bin")[0] as Uint8Array);
    const [retry] = details.flatMap((detail) => anyUnpack(detail, RetryInfoSchema) ?? []);
    const waitMs = durationMs(retry!.retryDelay!);
    expect(waitMs).toBeGreaterThan(4_500_000);
    expect(waitMs).toBeLessThanOrEqual(5_000_000);
    client.close();
  });

  it("take nothing from another merchant while the first is refused a thousand times", async () => {
    const limited = await open(few);
    const other = await edge.addMerchant();
    await useUp(limited, few);
    // Fifty at a time: a thousand connections of one busy process would send their headers too late.
    const twenty = async () => {
      const codes: unknown[] = [];
      while (codes.length < 20) codes.push((await list(limited)).code);
      return codes;
    };
    const refused = Promise.all(Array.from({ length: 50 }, twenty));
    for (let request = 0; request < few.burst; request++) {
      expect(await list(limited, other.secret)).toMatchObject({ status: 200 });
    }
    expect((await refused).flat()).toEqual(Array(1_000).fill("rate_limited"));
  });

  it("by a restricted key use up nothing of the merchant's", async () => {
    const limited = await open(few);
    const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
    const restrictions = { name: "Report", rights: ["sessions.read"], expiresAt: null, refundCap: null };
    const { merchantId } = edge.core.owner;
    const { secret } = await edge.core.core.database.transaction((tx) =>
      createRestrictedKey(tx, maker, { merchantId, ...restrictions }),
    );
    for (let request = 0; request < few.burst; request++) await list(limited, secret.expose());
    expect(await list(limited, secret.expose())).toMatchObject({ status: 429 });
    expect(await list(limited, edge.keys.secret)).toMatchObject({ status: 200 });
  });

  it("cost no statement once they are refused", async () => {
    const limited = await open(few);
    await useUp(limited, few);
    await list(limited);
    const before = limited.statements.length;
    await Promise.all(Array.from({ length: 200 }, () => list(limited)));
    expect(limited.statements.slice(before)).toEqual([]);
  });

  it("cost at most one statement for ten of them while they are admitted", async () => {
    const limited = await open(defaultLimit);
    for (let request = 0; request < defaultLimit.burst; request++)
      expect(await list(limited)).toMatchObject({ status: 200 });
    const taken = limited.statements.filter((name) => name === "take_from_request_bucket");
    expect(taken.length).toBeLessThanOrEqual(defaultLimit.burst / 10);
    expect(taken.length).toBeGreaterThan(1);
  });

  it("are counted when they repeat an Idempotency-Key", async () => {
    const limited = await open(few);
    const answers = [];
    for (let request = 0; request <= few.burst; request++) answers.push(await create(limited, "order-1-1"));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 429]);
    expect(answers[3]?.headers.get("idempotent-replayed")).toBe("true");
  });

  it("are admitted again when the database's clock says so, and not before", async () => {
    await useUp(await open(few), few);
    expect(await list(await open(few))).toMatchObject({ status: 429 });
    await setClockAhead(edge.core.asOwner, 100);
    expect(await list(await open(few))).toMatchObject({ status: 200 });
    await setClockAhead(edge.core.asOwner, 0);
  });

  it("continue uncounted while they cannot be counted", async () => {
    const { pool } = edge.core.asOwner;
    const limited = await open(few);
    await pool.query("ALTER TABLE request_bucket RENAME TO request_bucket_gone");
    const answers = [];
    for (let request = 0; request < 2 * few.burst; request++) answers.push(await list(limited));
    await pool.query("ALTER TABLE request_bucket_gone RENAME TO request_bucket");
    const fields = { policy: undefined, limit: undefined, retryAfter: undefined };
    expect(answers).toEqual(answers.map(() => ({ status: 200, code: undefined, fields })));
  });
});

describe("requests outside of a merchant's limit", () => {
  it("are meta, probes, and requests that are refused for their key", async () => {
    const limited = await open(few);
    for (let request = 0; request < 2 * few.burst; request++) {
      const meta = await fetch(`${limited.publicOrigin}/api/v1/meta`, { headers: bearer(keys.secret) });
      expect([meta.status, meta.headers.get("ratelimit")]).toEqual([200, null]);
      await fetch(`${limited.publicOrigin}/healthz`);
      expect(await list(limited, keys.publishable)).toMatchObject({ code: "key_type_not_allowed" });
      expect(await list(limited, `${keys.secret.slice(0, -1)}_`)).toMatchObject({ code: "invalid_key" });
    }
    expect((await list(limited)).fields.limit).toBe('"api";r=3;t=5000');
  });
});

describe("customers' calls", () => {
  it("have a bucket of their own, so that neither side can block the other", async () => {
    const limited = await open(few);
    const session = (await (await create(limited, "order-1-1")).json()) as Created;
    await useUp(limited, few);
    expect(await list(limited)).toMatchObject({ status: 429 });
    const first = await getCheckout(limited, session);
    expect([first.status, first.headers.get("ratelimit")]).toEqual([200, '"checkout";r=3;t=5000']);
    expect(first.headers.get("access-control-expose-headers")).toMatch(/retry-after, ratelimit, ratelimit-policy/);
    for (let request = 1; request < few.burst; request++) await getCheckout(limited, session);
    const refused = await getCheckout(limited, session);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: "resource_exhausted" });
    expect(refused.headers.get("retry-after")).toMatch(/^(4[5-9]\d\d|5000)$/);
    const other = await edge.addMerchant();
    expect((await create(limited, "order-1-1", other.secret)).status).toBe(201);
  });
});

describe("test and live", () => {
  it("are counted separately, also for one merchant", async () => {
    const liveDatabase = await createTestDatabase("environment");
    const database = new Database(new Pool({ connectionString: liveDatabase.url, max: 4, pipeline: true }));
    const test = edge.parts.environments.test!;
    const live: EdgeEnvironment = { ...test, name: "live", database, core: { ...test.core, database } };
    const secret = generateKey(systemRuntime, { brand: "switchyard", environment: "live", kind: "secret" });
    const { merchantId } = edge.core.owner;
    await database.transaction(async (tx) => {
      await recordKey(tx, { id: randomUUID(), merchantId, kind: "secret", secret });
      await recordSettings(tx, { ...edge.core.owner, publishableKey: "switchyard_live_pk_1" });
    });
    const limited = await open(few, [live]);
    await useUp(limited, few, edge.keys.secret);
    expect(await list(limited, edge.keys.secret)).toMatchObject({ status: 429 });
    expect((await list(limited, secret.expose())).fields.limit).toBe('"api";r=3;t=5000');
    await Promise.all(started.splice(0).map((one) => one.close()));
    await database.pool.end();
    await liveDatabase.drop();
  });
});
