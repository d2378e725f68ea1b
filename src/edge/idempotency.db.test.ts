/** One Idempotency-Key is one answer: on every surface, however written, for one merchant. */

import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { text as readText } from "node:stream/consumers";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import {
  type CreatePaymentSessionResponse,
  CreatePaymentSessionResponseSchema,
  PaymentSessionService,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { issueKey } from "../accounts/issue-keys.ts";
import { loadSession } from "../core/record/load-session.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { startSurfaces } from "../dev/testing/edge/surfaces.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { publicJson } from "../transcoder/public-json.ts";

const surfaces = await forFile(startSurfaces);
await surfaces.edge.core.setRule(["HARD_DECLINE"]);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1042", customerEmail: "ada@shop.example" };
const message = { ...order, amountMinor: 4900n };
const newKey = () => `key ${systemRuntime.uuid()}`;

const createOverRest = (key: string, body = JSON.stringify(order), headers: Record<string, string> = {}) =>
  surfaces.createOverRest(body, { "idempotency-key": key, ...headers });

/** Returns an answer's headers except those of its time and request id. */
function lastingHeaders({ headers }: { headers: Headers }) {
  const passing = ["request-id", "date", "idempotent-replayed"];
  return [...headers].filter(([name]) => !passing.includes(name));
}

const transports = {
  gRPC: () => createGrpcTransport({ baseUrl: surfaces.rpcOrigin }),
  "Connect in JSON": () =>
    createConnectTransport({ baseUrl: surfaces.rpcOrigin, httpVersion: "2", useBinaryFormat: false }),
  "Connect in Protobuf": () => createConnectTransport({ baseUrl: surfaces.rpcOrigin, httpVersion: "2" }),
};
const rpcSurfaces = Object.keys(transports) as (keyof typeof transports)[];

/** Returns the message, and whether it was marked as a repeat. */
async function createOver(surface: keyof typeof transports, key: string, sent = message) {
  let isReplayed = false;
  const options: CallOptions = {
    headers: { authorization: `Bearer ${surfaces.edge.keys.secret}`, "idempotency-key": key },
    onHeader: (headers) => {
      isReplayed = headers.get("idempotent-replayed") === "true";
    },
  };
  const answer = await createClient(PaymentSessionService, transports[surface]()).createPaymentSession(sent, options);
  return { answer, isReplayed };
}

const asJson = (answer: CreatePaymentSessionResponse) => publicJson(CreatePaymentSessionResponseSchema, answer);

describe("a repeat", () => {
  it("over REST has the same bytes and the same headers, except those that mark it as a repeat", async () => {
    const key = newKey();
    const first = await createOverRest(key);
    const second = await createOverRest(key);
    expect(first.status).toBe(201);
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(lastingHeaders(second)).toEqual(lastingHeaders(first));
    expect([first, second].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true"]);
    expect(second.headers.get("request-id")).not.toBe(first.headers.get("request-id"));
  });

  it.each(rpcSurfaces)("over %s has the same message", async (surface) => {
    const key = newKey();
    const first = await createOver(surface, key);
    const second = await createOver(surface, key);
    expect([first.isReplayed, second.isReplayed]).toEqual([false, true]);
    expect(second.answer).toEqual(first.answer);
  });

  it.each(rpcSurfaces)("over %s of a creation over REST is REST's answer, and vice versa", async (surface) => {
    const [restFirst, rpcFirst] = [newKey(), newKey()];
    const { text } = await createOverRest(restFirst);
    const repeated = await createOver(surface, restFirst);
    expect([repeated.isReplayed, asJson(repeated.answer)]).toEqual([true, text]);
    const { answer } = await createOver(surface, rpcFirst);
    const overRest = await createOverRest(rpcFirst);
    expect([overRest.headers.get("idempotent-replayed"), overRest.text]).toEqual(["true", asJson(answer)]);
  });

  it("after a regeneration of both API keys is still the first answer", async () => {
    const { core, addMerchant } = { core: surfaces.edge.core.core, addMerchant: () => surfaces.edge.addMerchant() };
    const merchant = await addMerchant();
    const key = newKey();
    const first = await createOverRest(key, undefined, { authorization: `Bearer ${merchant.secret}` });
    const sessionId = decodeId("ps", first.json.sessionId)!;
    const { session } = await loadSession(core.database, sessionId);
    const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
    const renewed = await core.database.transaction(async (tx) => {
      await issueKey(tx, maker, { merchantId: session.merchantId, kind: "publishable" });
      return issueKey(tx, maker, { merchantId: session.merchantId, kind: "secret" });
    });
    const old = await createOverRest(key, undefined, { authorization: `Bearer ${merchant.secret}` });
    expect(old.status).toBe(401);
    const second = await createOverRest(key, undefined, { authorization: `Bearer ${renewed.expose()}` });
    expect([second.headers.get("idempotent-replayed"), second.text]).toEqual(["true", first.text]);
  });

  it("after the payment still says CREATED, as the first answer did", async () => {
    const key = newKey();
    const first = await createOverRest(key);
    const { core } = surfaces.edge;
    const { session } = await core.loadSession({ id: decodeId("ps", first.json.sessionId)! } as never);
    expect((await core.submit(session, cards.approved)).status).toBe("SUCCEEDED");
    const second = await createOverRest(key);
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect((await surfaces.edge.call("GET", `/payment-sessions/${first.json.sessionId}`)).json.status).toBe(
      "SUCCEEDED",
    );
  });
});

describe("the same order", () => {
  const email = '"customerEmail":"ada@shop.example"';
  it.each([
    ["with a fraction of zero", `{"amountMinor":4900.0,"currency":"EUR","orderRef":"order-1042",${email}}`],
    ["with an exponent", `{"amountMinor":4.9e3,"currency":"EUR","orderRef":"order-1042",${email}}`],
    ["with a negative exponent", `{"amountMinor":490000E-2,"currency":"EUR","orderRef":"order-1042",${email}}`],
    ["in another order", `{${email},"orderRef":"order-1042","currency":"EUR","amountMinor":4900}`],
    ["with space", `\n{ "amountMinor" : 4900 ,\t"currency":"EUR",\r\n"orderRef":"order-1042", ${email} } `],
    ["with escapes", `{"amount\\u004dinor":4900,"currency":"\\u0045UR","orderRef":"order\\u002D1042",${email}}`],
    [
      "with an escaped slash of none",
      `{"amountMinor":4900,"currency":"EUR","orderRef":"order-1042","customerEmail":"ada\\u0040shop.example"}`,
    ],
  ])("%s is the same request", async (_, body) => {
    const key = newKey();
    const first = await createOverRest(key);
    const second = await createOverRest(key, body);
    expect([second.status, second.headers.get("idempotent-replayed"), second.text]).toEqual([201, "true", first.text]);
  });
});

describe("another order", () => {
  it.each([
    ["a minor unit more", { ...order, amountMinor: 4901 }],
    ["another currency", { ...order, currency: "USD" }],
    ["another reference", { ...order, orderRef: "order-1043" }],
    ["a reference in capitals", { ...order, orderRef: "ORDER-1042" }],
    ["a reference with a blank", { ...order, orderRef: "order-1042 " }],
    ["another address", { ...order, customerEmail: "bob@shop.example" }],
    ["no address", { ...order, customerEmail: undefined }],
  ])("is refused under the same key, and changes nothing: %s", async (_, other) => {
    const key = newKey();
    const first = await createOverRest(key);
    const refused = await createOverRest(key, JSON.stringify(other));
    expect([refused.status, refused.json.code]).toEqual([422, "idempotency_key_reused"]);
    expect(refused.text).not.toContain(first.json.sessionId);
    const { customerEmail, ...shown } = order;
    const read = await surfaces.edge.call("GET", `/payment-sessions/${first.json.sessionId}`);
    expect(read.json).toMatchObject({ ...shown, customerEmail, status: "CREATED" });
    expect((await createOverRest(key)).text).toBe(first.text);
  });

  it("is refused when it has an address and the first had none, and an empty one is neither", async () => {
    const { customerEmail: _, ...withoutAddress } = order;
    const key = newKey();
    const first = await createOverRest(key, JSON.stringify(withoutAddress));
    expect((await createOverRest(key)).json.code).toBe("idempotency_key_reused");
    const empty = await createOverRest(key, JSON.stringify({ ...order, customerEmail: "" }));
    expect([empty.status, empty.json.code]).toEqual([400, "invalid_field"]);
    expect((await createOverRest(key, JSON.stringify(withoutAddress))).text).toBe(first.text);
  });

  it("is refused if two letters only look alike", async () => {
    const key = newKey();
    await createOverRest(key, JSON.stringify({ ...order, orderRef: "caf\u00e9" }));
    const refused = await createOverRest(key, JSON.stringify({ ...order, orderRef: "cafe\u0301" }));
    expect(refused.json.code).toBe("idempotency_key_reused");
  });

  it.each(rpcSurfaces)("is refused over %s too", async (surface) => {
    const key = newKey();
    await createOverRest(key);
    const refused = createOver(surface, key, { ...message, amountMinor: 4901n });
    await expect(refused).rejects.toMatchObject({ code: 9, rawMessage: expect.stringContaining("other fields") });
  });
});

describe("a key", () => {
  it.each([
    ["a", "A"],
    ["b", "b b"],
    ["order%201", "order 1"],
    ['"quoted"', "quoted"],
    ["c,d", "c, d"],
    ["'; DROP TABLE idempotency; --", "'; DROP TABLE idempotency;"],
    ["x".repeat(254), "x".repeat(255)],
  ])("is taken literally: %s is not %s", async (one, other) => {
    const [first, second] = [await createOverRest(one), await createOverRest(other)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.json.sessionId).not.toBe(second.json.sessionId);
    expect((await createOverRest(one)).text).toBe(first.text);
    expect((await createOver("gRPC", other)).answer.sessionId).toBe(second.json.sessionId);
  });

  it.each(["application/json", "application/proto", "application/grpc", "application/grpc+proto"])(
    "that is sent twice is refused on the internal port as on the public one: %s",
    async (contentType) => {
      const session = connectHttp2(surfaces.rpcOrigin);
      const stream = session.request({
        ":method": "POST",
        ":path": `/${PaymentSessionService.typeName}/CreatePaymentSession`,
        "content-type": contentType,
        authorization: `Bearer ${surfaces.edge.keys.secret}`,
        "idempotency-key": ["a", "b"] as unknown as string,
      });
      stream.end(JSON.stringify(order));
      const [headers] = await once(stream, "response");
      const text = await readText(stream);
      session.close();
      // gRPC has its status in a header of its own, and 3 is INVALID_ARGUMENT.
      expect([headers[":status"], headers["grpc-status"]]).toEqual(
        contentType.includes("grpc") ? [200, "3"] : [400, undefined],
      );
      expect(`${text} ${headers["grpc-message"]}`).toContain("idempotency-key");
    },
  );

  it("of one merchant means nothing for another", async () => {
    const key = newKey();
    const mine = await createOverRest(key);
    const { secret } = await surfaces.edge.addMerchant();
    const theirs = await createOverRest(key, JSON.stringify({ ...order, amountMinor: 1 }), {
      authorization: `Bearer ${secret}`,
    });
    expect([theirs.status, theirs.headers.get("idempotent-replayed")]).toEqual([201, null]);
    expect(theirs.json.sessionId).not.toBe(mine.json.sessionId);
    expect((await createOverRest(key)).text).toBe(mine.text);
  });
});

describe("a refused request", () => {
  it.each<[string, number, string, { body?: string; headers?: Record<string, string>; target?: string }]>([
    ["not JSON", 400, "invalid_json", { body: "{" }],
    ["a wrong field", 400, "invalid_field", { body: JSON.stringify({ ...order, amountMinor: -1 }) }],
    ["a missing field", 400, "missing_field", { body: '{"amountMinor":4900}' }],
    ["an unknown field", 400, "unknown_field", { body: JSON.stringify({ ...order, tip: 1 }) }],
    ["a field twice", 400, "duplicate_field", { body: `{"currency":"EUR",${JSON.stringify(order).slice(1)}` }],
    ["money that is none", 400, "invalid_field", { body: JSON.stringify({ ...order, currency: "XTS" }) }],
    ["a blank reference", 400, "invalid_field", { body: JSON.stringify({ ...order, orderRef: " " }) }],
    ["a query", 400, "invalid_parameter", { target: "?dryRun=true" }],
    ["no credential", 401, "invalid_key", { headers: { authorization: "" } }],
    ["another method", 405, "method_not_allowed", { headers: {}, target: "PUT" }],
    [
      "too large a body",
      413,
      "payload_too_large",
      { body: JSON.stringify({ ...order, orderRef: "x".repeat(65_536) }) },
    ],
    ["another type", 415, "unsupported_media_type", { headers: { "content-type": "text/plain" } }],
    ["a compressed body", 415, "unsupported_encoding", { headers: { "content-encoding": "gzip" } }],
  ])(
    "does not consume its key: %s",
    async (_, status, code, { body = JSON.stringify(order), headers = {}, target = "" }) => {
      const key = newKey();
      const isMethod = target === "PUT";
      const path = `/payment-sessions${isMethod ? "" : target}`;
      const options = { body, headers: { "idempotency-key": key, ...headers } };
      const refused = await surfaces.edge.call(isMethod ? "PUT" : "POST", path, options);
      expect([refused.status, refused.json.code]).toEqual([status, code]);
      const accepted = await createOverRest(key, JSON.stringify({ ...order, orderRef: "another" }));
      expect([accepted.status, accepted.headers.get("idempotent-replayed")]).toEqual([201, null]);
    },
  );

  it("does not consume its key: a publishable key", async () => {
    const key = newKey();
    const { publishable } = surfaces.edge.keys;
    const refused = await createOverRest(key, undefined, { authorization: `Bearer ${publishable}` });
    expect([refused.status, refused.json.code]).toEqual([403, "key_type_not_allowed"]);
    expect((await createOverRest(key)).headers.get("idempotent-replayed")).toBeNull();
  });

  it.each(rpcSurfaces)("does not consume its key over %s", async (surface) => {
    const key = newKey();
    await expect(createOver(surface, key, { ...message, currency: "XAU" })).rejects.toMatchObject({ code: 3 });
    expect((await createOver(surface, key)).isReplayed).toBe(false);
  });
});
