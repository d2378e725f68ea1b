import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { serveWidget } from "./widget-files.ts";

const script = Buffer.from("export const answer = 42;\n".repeat(100));
const file = { contentType: "text/javascript; charset=utf-8", bytes: script };
const serve = serveWidget(
  new Map<string, typeof file & { keep?: "forever" | "never" }>([
    ["/widget/v1/widget.js", file],
    ["/widget/v1/api-ABCD1234.mjs", file],
    ["/widget/v1.2.3/widget.js", { ...file, keep: "forever" }],
    ["/widget/v1.2.4/api-ABCD1234.mjs", { ...file, keep: "never" }],
  ]),
);

const server = await forFile(() =>
  createServer((incoming, response) => {
    if (!serve(incoming, response)) response.writeHead(404).end();
  }),
);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin: string = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const get = async (path: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" | "POST" = "GET") => {
  const answer = await request(origin + path, { method, headers });
  return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) };
};

describe("serveWidget()", () => {
  it("compresses only for clients that accept it", async () => {
    const packed = await get("/widget/v1/widget.js", { "accept-encoding": "br, gzip" });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(packed.bytes).equals(script)).toBe(true);
    for (const encoding of ["identity", "gzip;q=0"]) {
      const plain = await get("/widget/v1/widget.js", { "accept-encoding": encoding });
      expect([plain.headers["content-encoding"], plain.bytes.equals(script)]).toEqual([undefined, true]);
    }
  });

  it("lets browsers cache hashed names and releases for a year, the moving path for minutes, no others", async () => {
    expect((await get("/widget/v1.2.4/api-ABCD1234.mjs")).headers["cache-control"]).toBe("no-store");
    expect((await get("/widget/v1.2.3/widget.js")).headers["cache-control"]).toContain("immutable");
    expect((await get("/widget/v1/api-ABCD1234.mjs")).headers["cache-control"]).toContain("immutable");
    expect((await get("/widget/v1/widget.js")).headers["cache-control"]).toBe("public, max-age=300");
  });

  it("answers 304 for a matching ETag, and HEAD without a body", async () => {
    const { headers } = await get("/widget/v1/widget.js");
    expect((await get("/widget/v1/widget.js", { "if-none-match": String(headers.etag) })).status).toBe(304);
    const head = await get("/widget/v1/widget.js", {}, "HEAD");
    expect([head.status, head.bytes.length, head.headers["content-length"]]).toEqual([200, 0, String(script.length)]);
  });

  it("serves the same at an address with a query, by which a browser reloads a file that it lost", async () => {
    expect((await get("/widget/v1/api-ABCD1234.mjs?2")).bytes.equals(script)).toBe(true);
  });

  it("leaves other paths alone, and refuses other methods", async () => {
    expect((await get("/widget/v1/other.js")).status).toBe(404);
    const posted = { url: "/widget/v1/widget.js", method: "POST", headers: {} } as IncomingMessage;
    expect(() => serve(posted, {} as ServerResponse)).toThrow(
      expect.objectContaining({ code: "method_not_allowed", allow: ["GET", "HEAD"] }),
    );
  });
});
