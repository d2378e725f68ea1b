import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { type ContextValues, createContextKey, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { echo } from "../dev/testing/transcoder/library.ts";
import { libraryStarter } from "../dev/testing/transcoder/library-server.ts";

const start = libraryStarter();

const emma = { title: "Emma" };

describe("the implementation's context", () => {
  it("carries the request, and the values that authenticate has set", async () => {
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

  it("aborts its signal when the client disconnects", async () => {
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

  it("has an aborted signal if it is read after that", async () => {
    const outcome = Promise.withResolvers<boolean>();
    const entered = Promise.withResolvers<void>();
    let arrived: IncomingMessage | undefined;
    const { port } = await start({
      authenticate: (_, request) => {
        arrived = request;
      },
      methods: {
        searchBooks: async (_: unknown, context: HandlerContext) => {
          const closed = new Promise((resolve) => arrived!.socket.once("close", resolve));
          entered.resolve();
          await closed;
          outcome.resolve(context.signal.aborted);
          return {};
        },
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /v1/books HTTP/1.1\r\nHost: x\r\n\r\n");
    await entered.promise;
    socket.destroy();
    expect(await outcome.promise).toBe(true);
  });
});

describe("interceptors", () => {
  it("wrap the implementation, the first outermost, and see a valid message", async () => {
    const calls: string[] = [];
    const named = (name: string): Interceptor => {
      return (next) => async (request) => {
        calls.push(
          `${name}: ${request.method.name} ${(request as unknown as { message: { title: string } }).message.title}`,
        );
        const response = await next({ ...request });
        response.header.set(`x-${name}`, "seen");
        calls.push(`${name} done`);
        return response;
      };
    };
    const library = await start({ interceptors: [named("outer"), named("inner")] });
    const answer = await library.send("POST /v1/books", emma);
    expect(calls).toEqual(["outer: CreateBook Emma", "inner: CreateBook Emma", "inner done", "outer done"]);
    expect(answer.headers).toMatchObject({ "x-outer": "seen", "x-inner": "seen" });
    calls.length = 0;
    await library.send("POST /v1/books", {});
    expect(calls).toEqual([]);
  });

  it("keep concurrent calls apart", async () => {
    const passOn: Interceptor = (next) => async (request) => next(request);
    const library = await start({ interceptors: [passOn] });
    const titles = Array.from({ length: 20 }, (_, position) => `book ${position}`);
    const answers = await Promise.all(titles.map((title) => library.send("POST /v1/books", { title })));
    expect(answers.map(({ json }) => json.title)).toEqual(titles);
  });
});
