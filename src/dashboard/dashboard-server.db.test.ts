import { describe, expect, it } from "vitest";
import { exchangeEndless, exchangeRaw } from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { serveForFile } from "./dashboard-server.fixture.ts";

const origin = "https://dashboard.example.com";
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const port = await serveForFile(dashboard, origin);

const head = (type: string, path = "/dashboard.v1.HomeService/GetHome") =>
  `POST ${path} HTTP/1.1\r\nHost: dashboard.example.com\r\nOrigin: ${origin}\r\nConnect-Protocol-Version: 1\r\nContent-Type: ${type}\r\n`;

describe("a body at the dashboard's port", () => {
  it.each([
    ["Protobuf that is none", "application/proto", "\xff\xff\xff", 415, "unsupported_media_type"],
    ["Protobuf in a stream", "application/connect+proto", "\x00\x00\x00\x00\x01\xff", 415, "unsupported_media_type"],
    ["JSON that is none", "application/json", "{", 400, "invalid_json"],
    ["JSON with a key twice and no end", "application/json", '{"merchantId":"a","merchantId":', 400, "invalid_json"],
  ])("is refused in the error shape: %s", async (_, type, body, status, code) => {
    const { answers, rest } = await exchangeRaw(port, `${head(type)}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    const { headers, text } = answers[0]!;
    expect(JSON.parse(text)).toMatchObject({ status, code, requestId: headers.get("request-id") });
    expect(headers.get("strict-transport-security")).toBe("max-age=63072000");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(rest).toBe("");
  });

  it.each([
    ["to an rpc", head("application/json"), 413],
    ["to a path that is none", head("application/json", "/nothing.txt"), 404],
    ["of another type", head("application/proto"), 415],
  ])("without an end is refused and its connection is closed: %s", async (_, request, status) => {
    const { answers, rest, isReadOn } = await exchangeEndless(port, request);
    expect(answers.map((answer) => [answer.status, answer.headers.get("connection")])).toEqual([[status, "close"]]);
    expect([rest, isReadOn]).toEqual(["", false]);
  });
});
