import { describe, expect, it } from "vitest";
import { exchangeRaw } from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);

const call = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${edge.port}${path}`, init);

const pages = [
  ["/openapi.json", "application/json"],
  ["/docs", "text/html; charset=utf-8"],
  ["/docs/api", "text/html; charset=utf-8"],
  ["/docs/errors", "text/html; charset=utf-8"],
  ["/docs/integration", "text/html; charset=utf-8"],
  ["/docs/dashboard/payment.png", "image/png"],
  ["/widget/v1/widget.js", "text/javascript"],
] as const;

describe.each(pages)("%s", (path, type) => {
  it("is public, and cached by its ETag", async () => {
    const first = await call(path);
    expect([first.status, first.headers.get("content-type")]).toEqual([200, type]);
    expect((await first.bytes()).length).toBeGreaterThan(0);
    const again = await call(path, { headers: { "if-none-match": first.headers.get("etag") ?? "" } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", first.headers.get("etag")]);
    expect((await call(path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  it("answers HEAD with the head of GET", async () => {
    const [get, head] = await Promise.all([call(path), call(path, { method: "HEAD" })]);
    const headersOf = ({ headers }: Response) =>
      ["content-type", "content-length", "etag"].map((name) => headers.get(name));
    expect([head.status, await head.text(), headersOf(head)]).toEqual([200, "", headersOf(get)]);
    await get.text();
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("refuses %s and lists the allowed methods", async (method) => {
    const response = await call(path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await response.json()).toMatchObject({ code: "method_not_allowed" });
  });

  it("carries a request id, and nothing that names the server's software", async () => {
    const response = await call(path);
    expect(response.headers.get("request-id")).toMatch(/^req_/);
    expect([response.headers.get("server"), response.headers.get("x-powered-by")]).toEqual([null, null]);
    await response.text();
  });
});

describe("the root", () => {
  it("leads to the guides", async () => {
    for (const method of ["GET", "HEAD"]) {
      const response = await call("/", { method, redirect: "manual" });
      expect([response.status, response.headers.get("location")]).toEqual([308, "/docs"]);
    }
    expect((await call("/", { method: "POST" })).status).toBe(404);
  });
});

describe.each(["/v1/meta", "/api/v2/payment-sessions", "/payment-sessions", "/api/payment-sessions", "/nothing"])(
  "%s",
  (path) => {
    it("names the version that the API has", async () => {
      const response = await call(path, { method: "POST" });
      const { code, detail } = (await response.json()) as { code: string; detail: string };
      expect([response.status, code]).toEqual([404, "not_found"]);
      expect(detail).toContain("/api/v1");
    });
  },
);

describe.each(["/docs", "/docs/api", "/docs/errors", "/docs/integration"])("%s", (path) => {
  it("is found with a trailing slash, too", async () => {
    const response = await call(`${path}/`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([308, path]);
    expect((await call(`${path}/`)).status).toBe(200);
  });
});

describe("the probes", () => {
  it.each(["/healthz", "/readyz"])("answer GET and HEAD, and refuse the rest: %s", async (path) => {
    const [get, head, post] = await Promise.all(
      ["GET", "HEAD", "POST"].map((method) => call(path, { method, ...(method === "POST" && { body: "x" }) })),
    );
    expect([get?.status, await get?.json()]).toEqual([200, { status: "ok" }]);
    expect([head?.status, await head?.text()]).toEqual([200, ""]);
    expect([post?.status, post?.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    await post?.text();
  });

  it("serve HTTP/1.0 with a Host, and close", async () => {
    const { answers } = await exchangeRaw(edge.port, "GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n");
    expect(answers.map(({ status, headers }) => [status, headers.get("connection")])).toEqual([[200, "close"]]);
  });
});
