import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { json as readJson } from "node:stream/consumers";
import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { echo, implementLibrary, serviceWithRule } from "../dev/testing/transcoder/library.ts";
import { libraryStarter, renderError, sendRaw } from "../dev/testing/transcoder/library-server.ts";
import { createTranscoder, statusOverrideKey } from "./transcoder.ts";
import { TranscodingError } from "./transcoding-error.ts";

const start = libraryStarter();

const emma = { title: "Emma" };

describe("an answer", () => {
  it("is sent in one write with its length and type", async () => {
    const answer = await (await start()).send("POST /v1/books", { title: "Émma", priceMinor: 4900 });
    expect(answer.json).toMatchObject({ title: "Émma", priceMinor: 4900 });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["content-length"]).toBe(String(Buffer.byteLength(answer.text)));
    expect(answer.headers["transfer-encoding"]).toBeUndefined();
  });

  it("has the status and headers that the implementation sets", async () => {
    const createBook = (_: unknown, context: HandlerContext) => {
      context.values.set(statusOverrideKey, 201);
      context.responseHeader.set("Location", "/v1/books/7");
      context.responseHeader.append("Set-Cookie", "a=1");
      context.responseHeader.append("Set-Cookie", "b=2");
      return { title: "made from an initializer" };
    };
    const answer = await (await start({ methods: { createBook } })).send("POST /v1/books", emma);
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe("/v1/books/7");
    expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(answer.json.title).toBe("made from an initializer");
  });

  it("is empty with status 204", async () => {
    const deleteBook = (_: unknown, context: HandlerContext) => {
      context.values.set(statusOverrideKey, 204);
      return {};
    };
    const answer = await (await start({ methods: { deleteBook } })).send("DELETE /v1/books/7");
    expect([answer.status, answer.text, answer.headers["content-type"]]).toEqual([204, "", undefined]);
  });

  it("is the response field that the binding names", async () => {
    const library = await start({ methods: { getBook: () => ({ book: { title: "Emma" } }) } });
    expect((await library.send("GET /v1/shelves/1/books/2")).json.title).toBe("Emma");
    expect((await library.send("GET /v1/books/2")).json.book.title).toBe("Emma");
  });

  it("to HEAD has GET's headers and no body", async () => {
    const library = await start();
    const get = await library.send("GET /v1/shelves/7");
    const head = await library.send("HEAD /v1/shelves/7");
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
  });

  it("to OPTIONS names the methods, without authentication", async () => {
    const library = await start({ authenticate: () => Promise.reject(new Error("who are you?")) });
    const answer = await library.send("OPTIONS /v1/books");
    expect([answer.status, answer.headers.allow]).toEqual([204, "GET, HEAD, OPTIONS, POST"]);
  });
});

describe("a refusal", () => {
  it("passes on what the implementation throws, with its method", async () => {
    const library = await start({
      methods: { createBook: () => Promise.reject(new RangeError("no shelf left")) },
      renderError: (error, method) => ({
        status: 507,
        headers: { "x-method": method?.name ?? "none", "content-type": "text/plain" },
        body: JSON.stringify(String(error)),
      }),
    });
    const answer = await library.send("POST /v1/books", emma);
    expect([answer.status, answer.headers["x-method"]]).toEqual([507, "CreateBook"]);
    expect([answer.headers["content-type"], answer.text]).toEqual(["text/plain", '"RangeError: no shelf left"']);
  });

  it("comes from authenticate before a byte of the body is read", async () => {
    const library = await start({
      authenticate: () => {
        throw new TranscodingError("duplicate_header", "refused by name");
      },
    });
    const answer = await sendRaw(
      library.port,
      "POST /v1/books HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toContain("refused by name");
  });

  it.each([
    ["host", "Host: x\r\nHost: x"],
    ["authorization", "Host: x\r\nAuthorization: Bearer a\r\nauthorization: Bearer b"],
  ])("is caused by a second %s header", async (name, headers) => {
    const { port } = await start();
    const answer = await sendRaw(port, `GET /v1/books HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);
    expect(answer).toContain(`"message":"The header ${name} may come only once."`);
  });

  it("is caused by a second header of a kind that the caller configured", async () => {
    const { port } = await start({ singleHeaders: ["x-once"] });
    const answer = await sendRaw(
      port,
      "GET /v1/books HTTP/1.1\r\nHost: x\r\nX-Once: a\r\nX-Once: a\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toContain("duplicate_header");
  });

  it("lists every problem of body and parameters at once", async () => {
    const { status, json } = await (await start()).send("PATCH /v1/shelves/1/books/2?force=maybe", {
      isbn: 1,
      pages: "x",
      chapters: [{ heading: "" }],
    });
    expect([status, json.kind]).toEqual([400, "invalid_fields"]);
    expect(
      json.problems.map((problem: Record<string, string>) => `${problem.code} ${problem.pointer || problem.param}`),
    ).toEqual([
      "unknown_field /isbn",
      "invalid_field /pages",
      "invalid_parameter force",
      "missing_field /title",
      "invalid_field /chapters/0/heading",
    ]);
  });

  it("applies the rules of the whole message despite an unknown field, but not if a field is wrong", async () => {
    const library = await start();
    const details = async (body: object) => {
      const { json } = await library.send("POST /v1/periods", body);
      return json.problems.map(({ detail }: { detail: string }) => detail);
    };
    const unknown = await details({ begin: 2, end: 1, daily: true, isbn: 1 });
    expect(unknown).toEqual(["is not a field of this request", "must begin before it ends"]);
    expect(await details({ begin: 2, end: "3", daily: true })).toEqual(["must be a number, not a string"]);
  });

  it("points at the whole body for a rule of the field that it is, also beside a path variable of that field", async () => {
    const { json } = await (await start()).send("PATCH /v1/shelves/1/books/2", { title: "Emma", lent: true });
    expect(json.problems).toEqual([
      { param: "book", pointer: "", code: "invalid_field", detail: "must have copies to be lent" },
    ]);
  });

  it("does not report a field as missing that was sent and is wrong", async () => {
    const { json } = await (await start()).send("POST /v1/books", { title: 7 });
    expect(json.problems).toEqual([
      { param: "title", pointer: "/title", code: "invalid_field", detail: "must be a string" },
    ]);
  });

  it("lists at most 50 problems", async () => {
    const body = Object.fromEntries(Array.from({ length: 200 }, (_, position) => [`x${position}`, 1]));
    expect((await (await start()).send("POST /v1/books", body)).json.problems).toHaveLength(50);
  });
});

describe("createTranscoder()", () => {
  it("ignores a target that is no path", async () => {
    const { port } = await start();
    for (const target of ["*", "http://x/v1/books", "//v1/books"]) {
      const answer = await sendRaw(port, `OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(answer).toContain("not mine");
    }
  });

  it("survives a client that disconnects in the middle of its body", async () => {
    const rendered = Promise.withResolvers<unknown>();
    const library = await start({
      renderError: (error) => {
        rendered.resolve(error);
        return { status: 400, headers: {}, body: "for nobody" };
      },
    });
    const socket = connect(library.port, "127.0.0.1");
    socket.write(
      "POST /v1/books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
      () => socket.destroy(),
    );
    expect(await rendered.promise).toMatchObject({ kind: "client_gone" });
    expect((await library.send("POST /v1/books", emma)).status).toBe(200);
  });

  it("detects a client that disconnects before its body is read", async () => {
    const rendered = Promise.withResolvers<unknown>();
    const entered = Promise.withResolvers<void>();
    const { port } = await start({
      authenticate: async (_, request) => {
        entered.resolve();
        await new Promise((resolve) => request.socket.once("close", resolve));
      },
      renderError: (error) => {
        rendered.resolve(error);
        return { status: 400, headers: {}, body: "" };
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("POST /v1/books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n");
    await entered.promise;
    socket.destroy();
    expect(await rendered.promise).toMatchObject({ kind: "client_gone" });
  });

  it("serves HTTP/2 too", async () => {
    const seen: (string | null)[] = [];
    const createBook = (request: never, { requestHeader }: HandlerContext) => {
      seen.push(requestHeader.get("x-b"));
      return echo(request);
    };
    const transcode = createTranscoder({
      services: [implementLibrary({ createBook })],
      limits: { bodyBytesMax: 100, bodyTimeoutMs: 1000 },
      renderError,
    });
    // node's compatibility layer has the same shape, though not the same type.
    const server = createHttp2Server((request, response) => void transcode(request as never, response as never));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const headers = { ":method": "POST", ":path": "/v1/books", "content-type": "application/json", "x-b": "c" };
    expect(await readJson(client.request(headers).end(JSON.stringify(emma)))).toMatchObject(emma);
    expect(seen).toEqual(["c"]);
    client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it("refuses to start with an invalid validation rule", () => {
    const rule = { pattern: { case: "post", value: "/v1/x" }, body: "*" } as const;
    const services = [serviceWithRule(rule, { input: "library.v1.Broken" })];
    const limits = { bodyBytesMax: 1, bodyTimeoutMs: 1 };
    expect(() => createTranscoder({ services, limits, renderError })).toThrow("missing");
  });

  it("refuses to start with an invalid HTTP rule", () => {
    const services = [serviceWithRule({ pattern: { case: "get", value: "no-slash" } })];
    const limits = { bodyBytesMax: 1, bodyTimeoutMs: 1 };
    expect(() => createTranscoder({ services, limits, renderError })).toThrow("LibraryService.Try");
  });
});
