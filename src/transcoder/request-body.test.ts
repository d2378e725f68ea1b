import { describe, expect, it } from "vitest";
import { libraryStarter, sendRaw } from "../dev/testing/transcoder/library-server.ts";

const start = libraryStarter();

const emma = { title: "Emma" };

describe("checkBodyHeaders()", () => {
  it.each([
    undefined,
    "text/plain",
    "application/jsonp",
    "application/json-patch+json",
    "application/json; charset=latin1",
  ])("refuses the content type %s", async (type) => {
    const { port } = await start();
    const header = type === undefined ? "" : `Content-Type: ${type}\r\n`;
    const answer = await sendRaw(
      port,
      `POST /v1/books HTTP/1.1\r\nHost: x\r\n${header}Content-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 415 .*"unsupported_media_type"/s);
  });

  it.each([
    "application/json",
    "APPLICATION/JSON",
    'application/json;charset="UTF-8"',
    "application/json ; charset=utf8; v=1",
  ])("takes the content type %s", async (type) => {
    expect((await (await start()).send("POST /v1/books", emma, { "content-type": type })).status).toBe(200);
  });

  it("refuses a compressed body, and accepts one with the identity encoding", async () => {
    const library = await start();
    const gzip = await library.send("POST /v1/books", emma, { "content-encoding": "gzip" });
    expect([gzip.status, gzip.json.kind]).toEqual([415, "unsupported_encoding"]);
    expect((await library.send("POST /v1/books", emma, { "content-encoding": "identity" })).status).toBe(200);
  });
});

describe("hasNoBody()", () => {
  it("reads a request without content as an empty message, and names what it lacks", async () => {
    const { port } = await start();
    for (const header of ["", "Content-Length: 0\r\n"]) {
      const answer = await sendRaw(port, `POST /v1/books HTTP/1.1\r\nHost: x\r\n${header}Connection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 400 .*"param":"title".*"missing_field"/s);
    }
  });
});

describe("readBody()", () => {
  it("accepts a body at the bound and refuses one byte more, declared or streamed", async () => {
    const library = await start();
    const ofSize = (size: number) => Buffer.from(JSON.stringify(emma).padEnd(size));
    expect((await library.send("POST /v1/books", ofSize(4096))).status).toBe(200);
    for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
      const answer = await library.send("POST /v1/books", ofSize(4097), headers);
      expect([answer.status, answer.json.kind]).toEqual([413, "payload_too_large"]);
    }
  });

  it("refuses a large body without losing the answer", async () => {
    const answer = await (await start()).send("POST /v1/books", Buffer.alloc(3_000_000, 32), {
      "transfer-encoding": "chunked",
    });
    expect(answer.status).toBe(413);
  });

  it("gives up on a body that does not arrive in time, and closes", async () => {
    const { port } = await start({ limits: { bodyBytesMax: 4096, bodyTimeoutMs: 30 } });
    const head = "POST /v1/books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    expect(await sendRaw(port, head)).toMatch(/^HTTP\/1.1 408 .*"request_timeout"/s);
  });
});

describe("checkNoBody()", () => {
  it("refuses a body where none belongs", async () => {
    const answer = await (await start()).send("GET /v1/books", "{}", { "content-length": 2 });
    expect([answer.status, answer.json.kind]).toEqual([400, "invalid_json"]);
    expect((await (await start()).send("DELETE /v1/books/7", "", { "content-length": 0 })).status).toBe(200);
  });
});
