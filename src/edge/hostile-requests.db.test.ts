import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { create as createMessage, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { GetCheckoutRequestSchema } from "../../gen/payments/v1/checkout_pb.ts";
import { bombs, brokenBodies, hostileBodies } from "../dev/testing/edge/hostile-bodies.ts";
import {
  type HostileRequest,
  hostileHeaders,
  hostileHosts,
  hostileLines,
  hostileTargets,
} from "../dev/testing/edge/hostile-heads.ts";
import {
  answersIn,
  connectTo,
  exchangeRaw,
  type RawAnswer,
  type RawRequest,
} from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { bodyBytesMax, pipelinedRequestsMax } from "../limits.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
const body = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "of-the-checkout" });
const clientSecret: string = (await edge.call("POST", "/payment-sessions", { body })).json.clientSecret;

const withKey = (text: string) => text.replaceAll("KEY", edge.keys.secret).replaceAll("SECRET", clientSecret);
const send = (request: RawRequest, answersExpected = 1) => exchangeRaw(edge.port, request, answersExpected);
const stillAnswers = async () => expect((await edge.call("GET", "/meta")).status).toBe(200);
const meta = "GET /api/v1/meta HTTP/1.1\r\nHost: a\r\n\r\n";
const order = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "hostile" });
const create = (lines: string) =>
  withKey(
    `POST /api/v1/payment-sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\n${lines}`,
  );

/** Expects the error in REST's form, or in Connect's, whose code is in the first detail. */
function expectRefusal({ status, headers, text }: RawAnswer, expected: readonly [number, string]): void {
  const body = JSON.parse(text);
  const code = body.details?.[0].debug.reason.toLowerCase() ?? body.code;
  const requestId = body.details?.[0].debug.metadata.requestId ?? body.requestId;
  expect([status, code]).toEqual(expected);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("request-id")).toMatch(/^req_[0-9a-z]{26}$/);
  expect(requestId).toBe(headers.get("request-id"));
  if (status === 405) expect(headers.get("allow")).toMatch(/GET|POST/);
}

const rows: readonly (readonly [string, readonly HostileRequest[]])[] = [
  ["an odd Host or a header twice", hostileHosts],
  ["an odd line", hostileLines],
  ["an odd target", hostileTargets],
  ["odd headers", hostileHeaders],
  ["an odd body", hostileBodies],
  ["a body that is no HTTP", brokenBodies],
];

describe.each(rows)("%s", (_, requests) => {
  it.each(requests)("has one answer in our shape: %s", async (_, bytes, status, code) => {
    const { answers, rest } = await send(withKey(bytes));
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expect(rest).toBe("");
    expectRefusal(answers[0]!, [status, code]);
    await stillAnswers();
  });
});

describe("bytes that are no request", () => {
  it("end their connection, so that what follows cannot be parsed as a request", async () => {
    const { answers, rest } = await send(`BAD\r\n\r\n${meta}`, 2);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect([answers[0]!.headers.get("connection"), rest]).toEqual(["close", ""]);
  });

  it("are answered after the requests before them", async () => {
    const request = create(`Content-Length: ${order.length}\r\n\r\n${order}`);
    const { answers, rest } = await send(`${request}${meta}BAD\r\n\r\n`, 3);
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 400]);
    expect(rest).toBe("");
  });

  it("get no second answer in the body of a request that was refused already", async () => {
    const { answers, rest } = await send(
      [`${create("Transfer-Encoding: chunked\r\n\r\n")}10001\r\n`, "x".repeat(65_537), "\r\nnonsense\r\n"],
      2,
    );
    expect(answers.map(({ status }) => status)).toEqual([413]);
    expect(rest).toBe("");
  });

  it("are a request that breaks off, whose session is not created", async () => {
    const cut = create(`Content-Length: ${order.length + 1}\r\n\r\n${order.replace("hostile", "cut-off")}`);
    const socket = await connectTo(edge.port);
    socket.end(cut);
    expect(answersIn(await text(socket)).answers.map(({ status }) => status)).toEqual([400]);
    expect((await edge.call("GET", "/payment-sessions?orderRef=cut-off")).json.paymentSessions ?? []).toEqual([]);
  });
});

describe("requests sent without waiting", () => {
  it("are answered in their order", async () => {
    const { answers } = await send(
      ["/api/v1/meta", "/nothing", "/healthz"].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`),
      3,
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200]);
  });

  it(`are refused beyond ${pipelinedRequestsMax}, and the connection with them`, async () => {
    const { answers, rest } = await send(meta.repeat(100), 100);
    expect(answers.map(({ status }) => status)).toEqual([...Array(pipelinedRequestsMax).fill(200), 429]);
    expectRefusal(answers.at(-1)!, [429, "rate_limited"]);
    expect([answers.at(-1)!.headers.get("connection"), rest]).toEqual(["close", ""]);
  });
});

describe("Expect: 100-continue", () => {
  it.each([
    ["REST", () => create(`Expect: 100-continue\r\nContent-Length: ${order.length}\r\n\r\n`), order, 201],
    [
      "a notification",
      () =>
        "POST /gateway-notifications/test/gc_00000000000000000000000000 HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
      "x",
      200,
    ],
    [
      "Connect JSON",
      () =>
        `POST /payments.v1.CheckoutService/GetCheckout HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${clientSecret}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`,
      "{}",
      400,
    ],
    [
      "Connect Protobuf",
      () =>
        `POST /payments.v1.CheckoutService/GetCheckout HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${clientSecret}\r\nContent-Type: application/proto\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n`,
      "\x08",
      400,
    ],
  ])("asks for a body that will be read: %s", async (_, head, body, status) => {
    const { answers } = await send([head(), body], 2);
    expect(answers.map((answer) => answer.status)).toEqual([100, status]);
  });

  it("closes the connection if the body is not wanted, as it may arrive all the same", async () => {
    const { answers } = await send(create(`Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n`));
    expect(answers.map(({ status, headers }) => [status, headers.get("connection")])).toEqual([[413, "close"]]);
  });
});

describe("Upgrade", () => {
  it.each(["websocket", "h2c", "TLS/1.0"])("is ignored: %s", async (protocol) => {
    const { answers } = await send(
      `GET /api/v1/meta HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n`,
    );
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});

describe("forwarding headers", () => {
  it("from an untrusted proxy change nothing in an answer", async () => {
    const forged =
      "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: gopher\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\nX-Original-URL: /readyz\r\nX-HTTP-Method-Override: DELETE\r\n";
    const { answers } = await send(create(`${forged}Content-Length: ${order.length}\r\n\r\n${order}`));
    expect(answers.map(({ status }) => status)).toEqual([201]);
    expect(JSON.stringify([...answers[0]!.headers, answers[0]!.text])).not.toMatch(/evil|gopher|192\.0\.2/);
  });
});

describe("a bomb", () => {
  it.each(bombs)("is refused as too large before it is decompressed: %s", async (_, headers, body) => {
    const { json } = await edge.call("POST", "/payment-sessions", { body: order });
    const url = `http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/GetCheckout`;
    const authorization = `Bearer ${json.clientSecret}`;
    const response = await fetch(url, { method: "POST", headers: { ...headers, authorization }, body });
    // RESOURCE_EXHAUSTED, by number in gRPC-Web and by name in Connect.
    expect(await response.text()).toMatch(/^grpc-status: 8\r?$|"resource_exhausted"/m);
    expect(body.length).toBeLessThan(bodyBytesMax);
  });

  it("is not every compressed message", async () => {
    const { json } = await edge.call("POST", "/payment-sessions", { body: order });
    const message = toBinary(
      GetCheckoutRequestSchema,
      createMessage(GetCheckoutRequestSchema, { sessionId: json.sessionId }),
    );
    const response = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/GetCheckout`, {
      method: "POST",
      headers: {
        "content-type": "application/proto",
        "content-encoding": "gzip",
        authorization: `Bearer ${json.clientSecret}`,
        "publishable-key": json.vault.publishableKey,
      },
      body: gzipSync(message),
    });
    expect(response.status).toBe(200);
  });
});
