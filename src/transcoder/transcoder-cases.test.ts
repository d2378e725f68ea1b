import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { startAtlas } from "../dev/testing/transcoder/atlas.ts";
import { placements, values } from "../dev/testing/transcoder/body-cases.ts";
import type { Received } from "../dev/testing/transcoder/library-server.ts";
import { numberCases } from "../dev/testing/transcoder/number-cases.ts";
import { captures, methods, responseBodies, rests, typedPaths, verbs } from "../dev/testing/transcoder/path-cases.ts";
import { kinds, names } from "../dev/testing/transcoder/query-cases.ts";
import type { Ending, TranscoderCase } from "../dev/testing/transcoder/transcoder-case.ts";

const atlas = await forFile(startAtlas);

/** Sends a request and returns its ending, in the words of the table. */
async function endingOf(requestLine: string, body: unknown, type: Ending["type"]): Promise<Ending> {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  // Node's client frames no body of a GET or DELETE by itself.
  const framing = text === undefined ? {} : { "content-length": Buffer.byteLength(text) };
  return readEnding(await atlas.send(requestLine, text, framing), type);
}

function readEnding({ status, text, json, headers }: Received, type: Ending["type"]): Ending {
  const call = atlas.takeCall();
  if (type === "received" && call !== undefined) return { type, ...call };
  if (status >= 400 && json !== undefined) {
    const problems = json.problems.map((problem: { code: string; param: string; pointer: string }) =>
      problem.code === "invalid_parameter" ? `${problem.code} ${problem.param}` : `${problem.code} ${problem.pointer}`,
    );
    return { type: "refused", status, code: json.kind, problems };
  }
  return { type: "answered", status, text, ...(status === 204 && { allow: String(headers.allow) }) };
}

const table: readonly (readonly [string, readonly TranscoderCase[]])[] = [
  ["a path", captures],
  ["a path of any length", rests],
  ["a verb", verbs],
  ["a method", methods],
  ["a typed path", typedPaths],
  ["a parameter", kinds],
  ["a parameter's name", names],
  ["a body", placements],
  ["a body's value", values],
  ["a number", numberCases],
  ["an answer", responseBodies],
];

describe.each(table)("%s", (_, cases) => {
  const rows = cases.map(([requestLine, ending, body]) => ({ requestLine, ending, body }));
  it.each(rows)("$requestLine with $body ends as $ending", async ({ requestLine, ending, body }) => {
    expect(await endingOf(requestLine, body, ending.type)).toEqual(ending);
  });
});

describe("a method that the path does not have", () => {
  it.each([
    ["PUT /v1/search", "DELETE, GET, HEAD, OPTIONS"],
    ["GET /v1/store", "OPTIONS, POST"],
    ["GET /v1/store/a", "DELETE, OPTIONS, PATCH, PUT"],
    ["GET /v1/jobs/a:cancel", "OPTIONS, POST"],
    ["POST /v1/probe", "HEAD, OPTIONS"],
    ["DELETE /v1/pages/a/b:publish", "OPTIONS, POST"],
  ])("%s is refused with the methods %s", async (requestLine, allow) => {
    const { status, headers } = await atlas.send(requestLine);
    expect([status, headers.allow]).toEqual([405, allow]);
  });
});
