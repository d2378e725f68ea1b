import { connect } from "node:net";
import { type ContextValues, createContextKey, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { echo, serviceWithRule } from "./testing/library.ts";
import { libraryStarter, sendRaw } from "./testing/library-server.ts";
import { createTranscoder, statusOverrideKey } from "./transcoder.ts";
import { TranscodingError } from "./transcoding-error.ts";

const start = libraryStarter();

const emma = { title: "Emma" };

describe("an answer", () => {
  it("goes out in one piece with its length and type", async () => {
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

describe("the implementation's context", () => {
  it("carries the request, and what authenticate put into it", async () => {
    const callerKey = createContextKey("nobody");
    const seen: unknown[] = [];
    const library = await start({
      authenticate: (method, request, values: ContextValues) => {
        values.set(callerKey, `${request.headers.authorization} on ${method.name}`);
      },
      methods: {
        createBook: (request: never, context: HandlerContext) => {
          const { values, requestMethod, url, requestHeader, service, method } = context;
          seen.push(values.get(callerKey), requestMethod, url, requestHeader.get("x-b"), service.name, method.name);
          return echo(request);
        },
      },
    });
    await library.send("POST /v1/books?", emma, { authorization: "Bearer ann", "X-B": "c" });
    expect(seen).toEqual(["Bearer ann on CreateBook", "POST", "/v1/books?", "c", "LibraryService", "CreateBook"]);
  });

  it("aborts its signal when the client goes away", async () => {
    const entered = Promise.withResolvers<AbortSignal>();
    const aborted = Promise.withResolvers<void>();
    const searchBooks = async (_: unknown, { signal }: HandlerContext) => {
      signal.addEventListener("abort", () => aborted.resolve());
      entered.resolve(signal);
      await aborted.promise;
      return {};
    };
    const { port } = await start({ methods: { searchBooks } });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /v1/books HTTP/1.1\r\nHost: x\r\n\r\n");
    expect((await entered.promise).aborted).toBe(false);
    socket.destroy();
    await aborted.promise;
  });
});

describe("interceptors", () => {
  it("wrap the implementation, the first outermost, and see a valid message", async () => {
    const trail: string[] = [];
    const named = (name: string): Interceptor => {
      return (next) => async (request) => {
        trail.push(
          `${name}: ${request.method.name} ${(request as unknown as { message: { title: string } }).message.title}`,
        );
        const response = await next({ ...request });
        response.header.set(`x-${name}`, "seen");
        trail.push(`${name} done`);
        return response;
      };
    };
    const library = await start({ interceptors: [named("outer"), named("inner")] });
    const answer = await library.send("POST /v1/books", emma);
    expect(trail).toEqual(["outer: CreateBook Emma", "inner: CreateBook Emma", "inner done", "outer done"]);
    expect(answer.headers).toMatchObject({ "x-outer": "seen", "x-inner": "seen" });
    trail.length = 0;
    await library.send("POST /v1/books", {});
    expect(trail).toEqual([]);
  });

  it("keep calls apart that run at the same time", async () => {
    const passOn: Interceptor = (next) => async (request) => next(request);
    const library = await start({ interceptors: [passOn] });
    const titles = Array.from({ length: 20 }, (_, position) => `book ${position}`);
    const answers = await Promise.all(titles.map((title) => library.send("POST /v1/books", { title })));
    expect(answers.map(({ json }) => json.title)).toEqual(titles);
  });
});

describe("a refusal", () => {
  it("of an unknown path is left to the caller", async () => {
    const answer = await (await start()).send("GET /v2/books");
    expect([answer.status, answer.text]).toEqual([404, "not mine"]);
  });

  it("of a method names those that the path has", async () => {
    const answer = await (await start()).send("DELETE /v1/books");
    expect([answer.status, answer.json.kind]).toEqual([405, "method_not_allowed"]);
    expect(answer.headers.allow).toBe("GET, HEAD, OPTIONS, POST");
  });

  it("passes on what the implementation throws, with its method", async () => {
    const library = await start({
      methods: { createBook: () => Promise.reject(new RangeError("no shelf left")) },
      renderError: (error, method) => ({
        status: 507,
        headers: { "x-method": method?.name ?? "none" },
        body: JSON.stringify(String(error)),
      }),
    });
    const answer = await library.send("POST /v1/books", emma);
    expect([answer.status, answer.headers["x-method"]]).toEqual([507, "CreateBook"]);
    expect(answer.json).toBe("RangeError: no shelf left");
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
  ])("meets a second %s header", async (name, headers) => {
    const { port } = await start();
    const answer = await sendRaw(port, `GET /v1/books HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);
    expect(answer).toContain(`"message":"The header ${name} may come only once."`);
  });

  it("meets a second header of a kind that the caller chose", async () => {
    const { port } = await start({ singleHeaders: ["x-once"] });
    const answer = await sendRaw(
      port,
      "GET /v1/books HTTP/1.1\r\nHost: x\r\nX-Once: a\r\nX-Once: a\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toContain("duplicate_header");
  });

  it("names every problem of body and parameters at once", async () => {
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

  it("does not call a field missing that was given and is wrong", async () => {
    const { json } = await (await start()).send("POST /v1/books", { title: 7 });
    expect(json.problems).toEqual([
      { param: "title", pointer: "/title", code: "invalid_field", detail: "must be a string" },
    ]);
  });

  it("names at most 50 problems", async () => {
    const body = Object.fromEntries(Array.from({ length: 200 }, (_, position) => [`x${position}`, 1]));
    expect((await (await start()).send("POST /v1/books", body)).json.problems).toHaveLength(50);
  });
});

describe("createTranscoder()", () => {
  it("leaves a target alone that is no path", async () => {
    const { port } = await start();
    for (const target of ["*", "http://x/v1/books", "//v1/books"]) {
      const answer = await sendRaw(port, `OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(answer).toContain("not mine");
    }
  });

  it("survives a client that leaves in the middle of its body", async () => {
    const rendered = Promise.withResolvers<unknown>();
    const library = await start({
      renderError: (error) => {
        rendered.resolve(error);
        return { status: 400, headers: {}, body: "" };
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

  it("refuses to begin with a wrong rule", () => {
    const services = [serviceWithRule({ pattern: { case: "get", value: "no-slash" } })];
    const limits = { bodyBytesMax: 1, bodyTimeoutMs: 1 };
    const renderError = () => ({ status: 500, headers: {}, body: "" });
    expect(() => createTranscoder({ services, limits, renderError })).toThrow("LibraryService.Try");
  });
});
