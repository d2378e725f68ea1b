import { isDeepStrictEqual } from "node:util";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ListPaymentSessionsRequestSchema } from "../../gen/payments/v1/payment_session_pb.ts";
import { bodyWith } from "../dev/testing/edge/bad-bodies.ts";
import { badHeads, badKeys, badQueries } from "../dev/testing/edge/bad-requests.ts";
import { type Filters, restOutcome, startSurfaces } from "../dev/testing/edge/surfaces.ts";
import { forFile } from "../dev/testing/for-file.ts";

const surfaces = await forFile(startSurfaces);

/** Returns the message if Protobuf's own reader parses it to exactly this: gRPC can carry it. */
function filtersOf(message: JsonObject): Filters | undefined {
  try {
    const filters = fromJson(ListPaymentSessionsRequestSchema, message);
    const isTheSame = isDeepStrictEqual(toJson(ListPaymentSessionsRequestSchema, filters), message);
    return isTheSame ? filters : undefined;
  } catch {
    return undefined;
  }
}

describe("a bad query of the list", () => {
  it.each(badQueries)("names the parameter: %s", async (query, params) => {
    const answer = await surfaces.edge.call("GET", `/payment-sessions?${query}`);
    expect(answer.status).toBe(400);
    expect(restOutcome(answer)).toEqual({ code: "invalid_parameter", params });
    for (const { code, pointer } of answer.json.errors ?? [])
      expect([code, pointer]).toEqual(["invalid_parameter", ""]);
  });

  it.each(badQueries.filter(([, , message]) => message !== undefined))(
    "has the same code over Connect: %s",
    async (_, params, message) => {
      const outcome = await surfaces.overConnect("ListPaymentSessions", JSON.stringify(message));
      expect(outcome).toMatchObject({ status: 400, code: "invalid_parameter" });
      // The core's error for a page token has one name and no list.
      if (outcome.params.length > 0) expect(outcome.params).toEqual(params);
    },
  );

  const filters = badQueries.flatMap(([query, , message]) => {
    const found = message && filtersOf(message);
    return found === undefined ? [] : [[query, found] as const];
  });

  it.each(filters)("has the same code over gRPC: %s", async (_, message) => {
    expect((await surfaces.listOverGrpc(message)).code).toBe("invalid_parameter");
  });
});

describe("an id that cannot be a session's", () => {
  it.each([
    "x",
    "ps_",
    "ps_1",
    "PS_0123456789abcdefghjkmnpqrs",
    "att_01h455vb4pex5vsknk084sn02q",
    "..",
    "%2e%2e",
    "a%2Fb",
  ])("is not found on any surface: %s", async (id) => {
    // The client would resolve dots itself, so the target is sent as it is written.
    const { status, json } = await surfaces.raw(
      `GET /api/v1/payment-sessions/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${surfaces.edge.keys.secret}\r\nConnection: close\r\n\r\n`,
    );
    expect([status, json.code]).toEqual([404, "not_found"]);
    const sessionId = decodeURIComponent(id);
    expect((await surfaces.getOverGrpc(sessionId)).code).toBe("not_found");
    expect((await surfaces.overConnect("GetPaymentSession", JSON.stringify({ sessionId }))).code).toBe("not_found");
  });

  it.each(["%ff", "%00", "%zz"])("is a wrong parameter if it is not text: %s", async (id) => {
    const { status, json } = await surfaces.edge.call("GET", `/payment-sessions/${id}`);
    expect([status, json.code, json.param]).toEqual([400, "invalid_parameter", "sessionId"]);
  });
});

describe("a bad Idempotency-Key", () => {
  it.each(badKeys)("is refused on every surface: %s", async (_, key) => {
    const headers = { "idempotency-key": key };
    const rest = await surfaces.createOverRest(bodyWith({}), headers);
    expect([rest.status, rest.json.code, rest.json.param]).toEqual([400, "invalid_idempotency_key", "Idempotency-Key"]);
    const connect = await surfaces.overConnect("CreatePaymentSession", bodyWith({}), headers);
    expect(connect).toMatchObject({ status: 400, code: "invalid_idempotency_key" });
    const order = { amountMinor: 1n, currency: "EUR", orderRef: "a" };
    expect((await surfaces.createOverGrpc(order, headers)).code).toBe("invalid_idempotency_key");
  });
});

describe("a bad head", () => {
  it.each(badHeads)("is refused: %s", async (_, lines, expected) => {
    const body = bodyWith({});
    const head = [
      "POST /api/v1/payment-sessions HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${surfaces.edge.keys.secret}`,
      `Content-Length: ${body.length}`,
      "Connection: close",
      ...lines,
    ];
    const { status, json } = await surfaces.raw(Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1"));
    expect([status, json.code]).toEqual(expected);
    expect(json.requestId).toMatch(/^req_/);
  });

  it.each([
    "application/json; charset=utf-8",
    "application/json;charset=UTF8",
    "APPLICATION/JSON",
    "application/json; v=1",
  ])("is accepted: %s", async (type) => {
    expect((await surfaces.createOverRest(bodyWith({}), { "content-type": type })).status).toBe(201);
  });

  it.each(["gzip", "br"])("is refused over Connect too: JSON in %s", async (encoding) => {
    const outcome = await surfaces.overConnect("CreatePaymentSession", bodyWith({}), { "content-encoding": encoding });
    expect(outcome.code).toBe("unsupported_encoding");
  });
});
