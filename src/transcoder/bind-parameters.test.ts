import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { startLibrary } from "../dev/testing/transcoder/library-server.ts";

// What is read is in the table of transcoder-cases.test.ts; these are the words of refusals.
const library = await forFile(startLibrary);

async function problemsOf(requestLine: string, body?: unknown): Promise<string[]> {
  const { json } = await library.send(requestLine, body);
  return json.problems.map((problem: Record<string, string>) => `${problem.code} ${problem.param}: ${problem.detail}`);
}

describe("bindQuery()", () => {
  it.each([
    ["isbn=1", "isbn: is not a parameter of this method"],
    ["published_after=2030-01-31T12:00:00Z", "published_after: is not a parameter of this method"],
    ["chapter=x", "chapter: is not a parameter of this method"],
    ["chapter.parts=x", "chapter.parts: is not a parameter of this method"],
    ["chapter.parts.heading=x", "chapter.parts.heading: is not a parameter of this method"],
    ["labels.a=x", "labels.a: is not a parameter of this method"],
    ["labels=x", "labels: is not a parameter of this method"],
    ["extra=x", "extra: is not a parameter of this method"],
    ["publishedAfter.seconds=1", "publishedAfter.seconds: is not a parameter of this method"],
    ["extra.fields=1", "extra.fields: is not a parameter of this method"],
    ["signed.value=true", "signed.value: is not a parameter of this method"],
    ["title.x=1", "title.x: is not a parameter of this method"],
    ["=1", ": has a query parameter that is not a parameter of this method"],
    ["page-size=5", ": has a query parameter that is not a parameter of this method"],
    ["chapter.page-size=5", "chapter: has a member that is not a parameter of this method"],
    ["title=a&title=a", "title: is given more than once"],
    ["pageSize=", "pageSize: must be a whole number"],
    ["pageSize=1.0", "pageSize: must be a whole number"],
    ["pageSize=+1", "pageSize: must be a whole number"],
    ["pageSize=0x10", "pageSize: must be a whole number"],
    ["pageSize=2147483648", "pageSize: must be between -2147483648 and 2147483647"],
    ["barcode=18446744073709551616", "barcode: must be between 0 and 18446744073709551615"],
    ["lent=1", "lent: must be true or false"],
    ["lent=TRUE", "lent: must be true or false"],
    ["genre=2", "genre: must be one of NOVEL, POETRY"],
    ["weight=1e400", "weight: is too large a number"],
    ["weight=%201", "weight: must be a number"],
    ["cover=%25", "cover: must be base64"],
    ["title=%zz", "title: is not percent-encoded UTF-8"],
    ["title=%ff", "title: is not percent-encoded UTF-8"],
    ["title=%00", "title: must not contain the NUL character"],
    ["publishedAfter=yesterday", "publishedAfter: must be an RFC 3339 time such as 2030-01-31T12:00:00.000Z"],
    ["person=a&libraryId=1", "libraryId: may not be given together with another field of the same choice"],
    ["pageSize=101", "pageSize: must be less than or equal to 100"],
    ["chapter.length=1", "chapter.heading: must be at least 1 characters"],
  ])("refuses %s", async (query, problem) => {
    expect(await problemsOf(`GET /v1/books?${query}`)).toEqual([`invalid_parameter ${problem}`]);
  });

  it("follows a recursive type to a bounded depth", async () => {
    const deep = `chapter.${"sequel.".repeat(200)}heading`;
    expect((await library.send(`GET /v1/books?${deep}=x`)).json.kind).toBe("invalid_parameter");
  });

  it("reports every parameter at once, under one kind", async () => {
    const { status, json } = await library.send("GET /v1/books?isbn=1&lent=yes&pageSize=500");
    expect(status).toBe(400);
    expect(json.kind).toBe("invalid_parameter");
    expect(json.problems.map(({ param }: { param: string }) => param)).toEqual(["isbn", "lent", "pageSize"]);
  });

  it.each([
    ["POST /v1/books?title=a", { title: "a" }, "title"],
    ["PUT /v1/books/a/tags?tags=b", [], "tags"],
    ["PUT /v1/books/a/tags?name=b", [], "name"],
    ["GET /v1/books/a?name=a", undefined, "name"],
  ])("refuses %s, which the path or the body fills", async (requestLine, body, param) => {
    expect(await problemsOf(requestLine, body)).toEqual([
      `invalid_parameter ${param}: is already given by the path or the body`,
    ]);
  });
});

describe("bindPath()", () => {
  it("lets a body repeat the path, but not contradict it", async () => {
    const same = await library.send("PATCH /v1/shelves/1/books/2", { title: "Emma", name: "shelves/1/books/2" });
    expect(same.status).toBe(200);
    expect(await problemsOf("PATCH /v1/shelves/1/books/2", { title: "Emma", name: "shelves/9/books/9" })).toEqual([
      "invalid_field name: must be what the path says, or be left out",
    ]);
    expect(await problemsOf("POST /v1/books/a:move", { name: "b" })).toEqual([
      "invalid_field name: must be what the path says, or be left out",
    ]);
  });

  it.each([
    ["GET /v1/shelves/seven", "id: must be a whole number"],
    ["GET /v1/shelves/07", "id: must be a whole number"],
    ["GET /v1/shelves/9223372036854775808", "id: must be between -9223372036854775808 and 9223372036854775807"],
    ["GET /v1/shelves/%zz", "id: is not percent-encoded UTF-8"],
    ["GET /v1/files/a/%00", "path: must not contain the NUL character"],
  ])("refuses %s", async (requestLine, problem) => {
    expect(await problemsOf(requestLine)).toEqual([`invalid_parameter ${problem}`]);
  });
});
