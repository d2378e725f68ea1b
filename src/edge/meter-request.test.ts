import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import type { RequestMeter } from "../platform/request-meter.ts";
import { edgeRoutes, meterRequest, noteMethod } from "./meter-request.ts";
import type { AnyRequest, AnyResponse } from "./request-id.ts";

const servers: Server[] = [];
const ends: string[] = [];
let inFlight = 0;
let ended = Promise.withResolvers<void>();
const meter: RequestMeter = {
  begin() {
    inFlight++;
    return (route, end) => {
      inFlight--;
      ends.push(`${route} ${end}`);
      ended.resolve();
    };
  },
  refused() {},
};
afterAll(() => servers.map((server) => server.close()));

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Returns the meter's record of one request, which has the url of its answer's kind. */
async function outcomeOf(send: () => Promise<unknown>): Promise<string | undefined> {
  ended = Promise.withResolvers<void>();
  await send().catch(() => {});
  await ended.promise;
  expect(inFlight).toBe(0);
  return ends.pop();
}

const create = PaymentSessionService.method.createPaymentSession;

describe("meterRequest()", () => {
  it("records an HTTP/1.1 request by rpc or page, and its end", async () => {
    const port = await listen(
      createHttpServer((request, response) => {
        meterRequest(meter, request as AnyRequest, response as AnyResponse);
        if (request.url === "/create") noteMethod(request, create);
        if (request.url === "/broken") return void response.write("x", () => response.destroy());
        response.writeHead(request.url === "/healthz" ? 503 : 200).end();
      }),
    );
    const get = (path: string) =>
      outcomeOf(() => fetch(`http://127.0.0.1:${port}${path}`).then((answer) => answer.text()));
    expect(await get("/create")).toBe("CreatePaymentSession 2xx");
    expect(await get("/healthz")).toBe("probe 5xx");
    expect(await get("/widget/v1/a-12345678.mjs")).toBe("widget 2xx");
    expect(await get("/ps_4242/4000000000000002")).toBe("other 2xx");
    expect(await get("/broken")).toBe("other gone");
  });

  it("records a gRPC call by its status in the trailers, or in the headers", async () => {
    const grpc = { "content-type": "application/grpc+proto" };
    const port = await listen(
      createHttp2Server((request, response) => {
        meterRequest(meter, request, response);
        noteMethod(request, create);
        if (request.url === "/silent") return void response.stream.close();
        if (request.url.startsWith("/head")) {
          const status = request.url.slice("/head".length);
          return response.stream.respond({ ":status": 200, ...grpc, "grpc-status": status }, { endStream: true });
        }
        response.addTrailers({ "grpc-status": request.url.slice(1) });
        response.writeHead(200, grpc).end("x");
      }),
    );
    const client = connect(`http://127.0.0.1:${port}`);
    const call = (path: string) => outcomeOf(() => once(client.request({ ":path": path }).resume(), "close"));
    expect(await call("/0")).toBe("CreatePaymentSession 2xx");
    expect(await call("/14")).toBe("CreatePaymentSession 5xx");
    expect(await call("/head5")).toBe("CreatePaymentSession 4xx");
    expect(await call("/silent")).toBe("CreatePaymentSession gone");
    client.close();
  });
});

describe("edgeRoutes", () => {
  it("contain every rpc that the edge serves, once", () => {
    expect(new Set(edgeRoutes).size).toBe(edgeRoutes.length);
    expect(edgeRoutes).toEqual(expect.arrayContaining(["GetPaymentSession", "SubmitPayment", "Check", "dashboard"]));
  });
});
