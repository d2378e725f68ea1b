import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LibraryServer, startLibrary } from "./testing/library-server.ts";

describe("createTranscoder()", () => {
  let library: LibraryServer;

  beforeAll(async () => {
    library = await startLibrary();
  });
  afterAll(() => library.close());

  it("passes a body to the implementation and writes its answer in one piece", async () => {
    const answer = await library.send("POST /v1/books", { title: "Emma", priceMinor: 4900 });
    expect(answer.json).toMatchObject({ title: "Emma", priceMinor: 4900 });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["content-length"]).toBe(String(Buffer.byteLength(answer.text)));
  });
});
