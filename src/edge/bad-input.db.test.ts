import { describe, expect, it } from "vitest";
import {
  type BadBody,
  brokenTexts,
  goodBodies,
  otherValues,
  severalProblems,
  wrongDetails,
  wrongNames,
  wrongValues,
} from "../dev/testing/edge/bad-bodies.ts";
import { orderOf } from "../dev/testing/edge/order-of.ts";
import { restOutcome, startSurfaces } from "../dev/testing/edge/surfaces.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { appearances } from "./error-mapping.ts";

const surfaces = await forFile(startSurfaces);

/** Returns the one code of a body with these problems: that of the problem with the highest precedence. */
function codeOf(problems: readonly string[]): keyof typeof appearances {
  const codes = ["unknown_field", "duplicate_field", "missing_field", "invalid_field", "invalid_json"] as const;
  return codes.find((code) => problems.some((problem) => problem.startsWith(code)))!;
}

const paramOf = (problem: string) => problem.split(" ")[1]?.slice(1).replaceAll("/", ".");

const badBodies: readonly BadBody[] = [
  ...brokenTexts,
  ...otherValues,
  ...wrongNames,
  ...wrongValues,
  ...wrongDetails,
  ...severalProblems,
];

describe("a bad body", () => {
  it("over REST, an empty one is an empty object", async () => {
    const empty = await surfaces.createOverRest("");
    expect([empty.status, empty.json.code]).toEqual([400, "missing_field"]);
    expect(empty.json.errors).toEqual((await surfaces.createOverRest("{}")).json.errors);
  });

  it.each(badBodies.filter(([, body]) => body !== ""))("over REST, %s", async (_, body, problems) => {
    const { status, json } = await surfaces.createOverRest(body);
    const code = codeOf(problems);
    expect([status, json.code]).toEqual([400, code]);
    const problemsSeen = (json.errors ?? []) as { code: string; pointer: string; param: string; detail: string }[];
    if (code === "invalid_json") return expect(problemsSeen).toEqual([]);
    expect(problemsSeen.map((each) => `${each.code} ${each.pointer}`)).toEqual(problems);
    expect(problemsSeen.map(({ param }) => param)).toEqual(problems.map(paramOf));
    const first = problemsSeen.find((each) => each.code === code)!;
    expect(json.param).toBe(first.param);
    const others = problems.length === 1 ? "" : ` (and ${problems.length - 1} more)`;
    expect(json.detail).toBe(`${first.param || "The body"} ${first.detail}${others}.`);
  });

  it.each(badBodies)("over Connect, %s", async (_, body, problems) => {
    const { status, code, params } = await surfaces.overConnect("CreatePaymentSession", body);
    expect([status, code]).toEqual([400, codeOf(problems)]);
    if (code !== "invalid_json") expect(params).toEqual(problems.map(paramOf).sort());
  });

  it.each(badBodies.filter(([, body]) => orderOf(body)))("over gRPC, %s", async (_, body, problems) => {
    const outcome = await surfaces.createOverGrpc(orderOf(body)!);
    expect(outcome).toEqual({ code: codeOf(problems), params: problems.map(paramOf).sort() });
  });

  it("is described without repeating any of it", async () => {
    const { text } = await surfaces.createOverRest(
      '{"amountMinor":"hunter2","currency":"hunter3","orderRef":["hunter4"]}',
    );
    expect(text).not.toContain("hunter");
  });
});

describe("a good body", () => {
  it.each(goodBodies)("is accepted everywhere: %s", async (_, body) => {
    const rest = await surfaces.createOverRest(body);
    expect([rest.status, rest.json.orderRef]).toEqual([201, JSON.parse(body).orderRef]);
    expect(restOutcome(rest)).toMatchObject(await surfaces.createOverGrpc(orderOf(body)!));
    expect((await surfaces.overConnect("CreatePaymentSession", body)).status).toBe(200);
  });

  it("may contain its amount as text over Connect, as Protobuf's own clients write it, but not over REST", async () => {
    const body = '{"amountMinor":"4900","currency":"EUR","orderRef":"a"}';
    expect((await surfaces.overConnect("CreatePaymentSession", body)).status).toBe(200);
    const { json } = await surfaces.createOverRest(body);
    expect(json.errors).toMatchObject([{ code: "invalid_field", pointer: "/amountMinor" }]);
  });
});

describe("a body that is too large", () => {
  const large = JSON.stringify({ amountMinor: 1, currency: "EUR", orderRef: "x".repeat(65_536) });

  it("is 413 over REST and the same code over Connect", async () => {
    const rest = await surfaces.createOverRest(large);
    expect([rest.status, rest.json.code]).toEqual([413, "payload_too_large"]);
    expect(await surfaces.overConnect("CreatePaymentSession", large)).toMatchObject({ code: "payload_too_large" });
  });

  it("has the same code over gRPC", async () => {
    const order = { amountMinor: 1n, currency: "EUR", orderRef: "x".repeat(65_536) };
    expect((await surfaces.createOverGrpc(order)).code).toBe("payload_too_large");
  });
});
