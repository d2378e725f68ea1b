import { describe, expect, it } from "vitest";
import { createRestrictedKey } from "../../accounts/restricted-keys.ts";
import { startSurfaces } from "../../dev/testing/edge/surfaces.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { DomainErrorCode } from "../../platform/errors.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { checks } from "./errors-page.ts";

const surfaces = await forFile(startSurfaces);

const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
const { merchantId } = surfaces.edge.core.owner;
const restrictions = { name: "Reports", rights: ["sessions.read"], expiresAt: null, refundCap: null };
const readOnly = await surfaces.edge.core.core.database.transaction((tx) =>
  createRestrictedKey(tx, maker, { merchantId, ...restrictions }),
);

type Parts = {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  body: Record<string, string>;
};

const usedKey = "used already";

// Header names differ in case: a repeated one would be one name here.
const everythingWrong = (): Parts => ({
  method: "PUT",
  path: "/api/v1/payment-session",
  query: "?dryRun=true",
  headers: {
    host: "[",
    Authorization: "Bearer x",
    authorization: "Bearer y",
    "Content-Type": "text/plain",
    "Content-Encoding": "gzip",
    "Idempotency-Key": "",
  },
  body: {
    space: " ".repeat(65_536),
    end: ",",
    more: '"tip":1,"currency":"EUR","currency":"EUR","customerEmail":"ada"',
  },
});

type Mending = readonly [code: DomainErrorCode, mend: (parts: Parts) => void];

// The refusals in the documented order, each with its correction. Those that need a flood or a slow line have tests of
// their own.
const mendings: readonly Mending[] = [
  ["duplicate_header", ({ headers }) => delete headers.authorization],
  ["invalid_parameter", ({ headers }) => (headers.host = "localhost")],
  ["not_found", (parts) => (parts.path += "s")],
  ["method_not_allowed", (parts) => (parts.method = "POST")],
  ["invalid_key", ({ headers }) => (headers.Authorization = `Bearer ${surfaces.edge.keys.publishable}`)],
  ["key_type_not_allowed", ({ headers }) => (headers.Authorization = `Bearer ${readOnly.secret.expose()}`)],
  ["right_not_granted", ({ headers }) => (headers.Authorization = `Bearer ${surfaces.edge.keys.secret}`)],
  ["unsupported_media_type", ({ headers }) => (headers["Content-Type"] = "application/json")],
  ["unsupported_encoding", ({ headers }) => delete headers["Content-Encoding"]],
  ["payload_too_large", ({ body }) => (body.space = "")],
  ["invalid_json", ({ body }) => (body.end = "")],
  ["unknown_field", ({ body }) => (body.more = body.more!.replace('"tip":1,', ""))],
  ["duplicate_field", ({ body }) => (body.more = body.more!.replace('"currency":"EUR",', ""))],
  ["missing_field", ({ body }) => (body.more += ',"amountMinor":4900,"orderRef":"order-1042"')],
  ["invalid_field", ({ body }) => (body.more = body.more!.replace('"ada"', '"ada@shop.example"'))],
  ["invalid_parameter", (parts) => (parts.query = "")],
  ["invalid_idempotency_key", ({ headers }) => (headers["Idempotency-Key"] = usedKey)],
  ["idempotency_key_reused", ({ headers }) => (headers["Idempotency-Key"] = "another")],
];

function send({ method, path, query, headers, body }: Parts) {
  const text = `${body.space}{${body.more}${body.end}}`;
  const lines = Object.entries({ ...headers, Connection: "close", "Content-Length": text.length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return surfaces.raw(`${method} ${path}${query} HTTP/1.1\r\n${head}\r\n${text}`);
}

describe("checks", () => {
  it("run in the documented order: a request with every fault, corrected step by step", async () => {
    const earlier = { amountMinor: 1, currency: "EUR", orderRef: "a" };
    await surfaces.createOverRest(JSON.stringify(earlier), { "idempotency-key": usedKey });
    const parts = everythingWrong();
    for (const [code, mend] of mendings) {
      expect((await send(parts)).json.code).toBe(code);
      mend(parts);
    }
    expect((await send(parts)).status).toBe(201);
  });

  it("all occur in that request, except those that it cannot have", () => {
    const elsewhere = [
      ...["headers_too_large", "rate_limited", "request_timeout", "idempotency_in_progress"],
      "missing_body",
    ];
    const documented = checks.flatMap(({ codes }) => codes).filter((code) => !elsewhere.includes(code));
    // A session that is not found and a key that was used belong to different requests.
    const inOneRequest = documented.toSpliced(documented.lastIndexOf("not_found"), 1);
    expect(mendings.map(([code]) => code)).toEqual(inOneRequest);
  });
});
