import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type HandlerContext } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { healthWatchersMax } from "../limits.ts";
import { Readiness } from "../platform/readiness.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";
import { createHealthService } from "./health-rpc.ts";

const closers: (() => Promise<unknown>)[] = [];
const edge = await forFile(startEdgeFixture);
afterAll(async () => {
  for (const close of closers) await close();
});

/** Starts a server whose databases answer while `database.answers`, and its client. */
async function start(options: { reflection?: boolean } = {}) {
  const database = { answers: true };
  const readiness = new Readiness(async () => database.answers);
  const { draining, stopping } = readiness;
  const parts = { ...edge.parts, isReady: () => readiness.isReady(), draining, stopping };
  const server = createGrpcServer(parts, { reflection: options.reflection ?? false });
  const port = await server.listen(0, "127.0.0.1");
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
  closers.push(() => server.close());
  return { database, readiness, server, transport, health: createClient(Health, transport) };
}

const failureOf = (call: Promise<unknown>) => call.then(() => expect.unreachable(), ConnectError.from);

describe("grpc.health.v1 Check", () => {
  it.each(["", "payments.v1.PaymentSessionService", "payments.v1.CheckoutService", "payments.v1.MetaService"])(
    "answers without a credential for: %s",
    async (service) => {
      const { health } = await start();
      expect((await health.check({ service })).status).toBe(Serving.SERVING);
    },
  );

  it("returns NOT_FOUND for other services", async () => {
    const { health } = await start();
    const error = await failureOf(health.check({ service: "payments.v1.Nothing" }));
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe("NOT_FOUND");
  });

  it("reports NOT_SERVING while a database does not answer", async () => {
    const { health, database } = await start();
    database.answers = false;
    expect((await health.check({})).status).toBe(Serving.NOT_SERVING);
    const { statuses } = await health.list({});
    expect(new Set(Object.values(statuses).map(({ status }) => status))).toEqual(new Set([Serving.NOT_SERVING]));
  });

  it("reports NOT_SERVING as soon as the process drains, while calls are still served", async () => {
    const { health, readiness, transport } = await start();
    expect((await health.check({})).status).toBe(Serving.SERVING);
    readiness.drain();
    expect((await health.check({})).status).toBe(Serving.NOT_SERVING);
    expect((await createClient(MetaService, transport).getMeta({})).service).toBe("switchyard");
  });
});

describe("grpc.health.v1 Watch", () => {
  it("sends every change, ends with the drain, and prevents no server from closing", async () => {
    const { health, database, readiness, server } = await start();
    const statuses: Serving[] = [];
    for await (const { status } of health.watch({ service: "payments.v1.PaymentSessionService" })) {
      statuses.push(status);
      if (statuses.length === 1) database.answers = false;
      if (statuses.length === 2) database.answers = true;
      if (statuses.length === 3) readiness.drain();
    }
    expect(statuses).toEqual([Serving.SERVING, Serving.NOT_SERVING, Serving.SERVING, Serving.NOT_SERVING]);
    await server.close();
  });

  it("reports SERVICE_UNKNOWN for another service and continues", async () => {
    const { health, readiness } = await start();
    const statuses: Serving[] = [];
    for await (const { status } of health.watch({ service: "payments.v1.Nothing" })) {
      statuses.push(status);
      readiness.drain();
    }
    expect(statuses).toEqual([Serving.SERVICE_UNKNOWN]);
  });

  it("ends at its caller's deadline", async () => {
    const { health } = await start();
    const watching = async () => {
      for await (const _ of health.watch({}, { timeoutMs: 300 }));
    };
    expect((await failureOf(watching())).code).toBe(Code.DeadlineExceeded);
  });

  it("is bounded in number, and an ended one makes room", async () => {
    const service = createHealthService([], edge.parts, 60_000);
    const leaving = new AbortController();
    const context = { signal: leaving.signal } as HandlerContext;
    const openWatch = () => service.watch(create(HealthCheckRequestSchema), context)[Symbol.asyncIterator]();
    const watches = Array.from({ length: healthWatchersMax }, openWatch);
    await Promise.all(watches.map((one) => one.next()));
    await expect(openWatch().next()).rejects.toMatchObject({ code: "rate_limited" });
    await watches[0]?.return?.(undefined);
    expect((await openWatch().next()).value).toEqual({ status: Serving.SERVING });
    leaving.abort();
  });
});

describe("reflection", () => {
  const list = { messageRequest: { case: "listServices", value: "" } } as const;
  async function* ask() {
    yield list;
  }

  it("is disabled by default", async () => {
    const { transport } = await start();
    const asking = async () => {
      for await (const _ of createClient(ServerReflection, transport).serverReflectionInfo(ask()));
    };
    expect((await failureOf(asking())).code).toBe(Code.Unimplemented);
  });

  it("lists the services where it is enabled", async () => {
    const { transport } = await start({ reflection: true });
    for await (const { messageResponse } of createClient(ServerReflection, transport).serverReflectionInfo(ask())) {
      const names = messageResponse.case === "listServicesResponse" ? messageResponse.value.service : [];
      expect(names.map(({ name }) => name)).toContain("payments.v1.PaymentSessionService");
      return;
    }
    expect.unreachable();
  });
});
