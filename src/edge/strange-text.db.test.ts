/** Every surface answers any text in a field alike, and never with an error of ours. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { RpcError } from "../client/rpc-error.ts";
import { deriveClientSecret } from "../core/client-secret.ts";
import { restOutcome, startSurfaces } from "../dev/testing/edge/surfaces.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createGrpcClient } from "../platform/grpc-client.ts";
import { encodeId } from "../platform/ids.ts";

const surfaces = await forFile(startSurfaces);
const checkout = await forFile(() => createGrpcClient(CheckoutService, new URL(surfaces.rpcOrigin).host));
const { core } = surfaces.edge.core;
const session = await surfaces.edge.core.newSession();
const sessionId = encodeId("ps", session.id);
const clientSecret = deriveClientSecret(core.clientSecretKeys, session.id, session.secretVersion).expose();

// Fixed: a failure prints its text, and the same texts occur again.
const seed = 20_260_102;
const odd = [
  "\0",
  "a\0b",
  "\u0001",
  "\u007f",
  "\u0085",
  "\u2028",
  "\ufeff",
  "\ufffd",
  "\u{10ffff}",
  "%00",
  "'",
  "\\",
  " ",
];
const id = "ps_01h455vb4pex5vsknk084sn02q";
const texts = fc.oneof(
  fc.constantFrom(
    ...odd,
    ...odd.map((text) => id + text),
    ...odd.map((text) => text + id),
    id.toUpperCase(),
    `${id}${id}`,
  ),
  fc.constantFrom(`ps_${"z".repeat(26)}`, "ps_", `mer_${id.slice(3)}`, "x".repeat(5_000), "./../..", "\r\nx: y"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).filter((text) => text.isWellFormed()),
);

describe("an arbitrary text", () => {
  it("is no session's id on any surface", async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        // A path of dots only is another path.
        fc.pre(!/^\.+$/.test(text));
        const [rest, grpc, connect] = await Promise.all([
          surfaces.edge.call("GET", `/payment-sessions/${encodeURIComponent(text)}`),
          surfaces.getOverGrpc(text),
          surfaces.overConnect("GetPaymentSession", JSON.stringify({ sessionId: text })),
        ]);
        // Protobuf's text may contain NUL, PostgreSQL's may not: every surface refuses it.
        const code = text.includes("\0") ? "invalid_parameter" : "not_found";
        expect([restOutcome(rest).code, grpc.code, connect.code]).toEqual([code, code, code]);
      }),
      { seed, numRuns: 80 },
    );
  });

  it.each(["orderRef", "pageToken"] as const)(
    "finds nothing, or is refused alike, as %s of the list",
    async (field) => {
      const seen = new Set<string | undefined>();
      await fc.assert(
        fc.asyncProperty(texts, async (text) => {
          const [rest, grpc, connect] = await Promise.all([
            surfaces.edge.call("GET", `/payment-sessions?${field}=${encodeURIComponent(text)}`),
            surfaces.listOverGrpc({ [field]: text }),
            surfaces.overConnect("ListPaymentSessions", JSON.stringify({ [field]: text })),
          ]);
          const { code } = restOutcome(rest);
          seen.add(code);
          expect([undefined, "invalid_parameter"]).toContain(code);
          expect([grpc.code, connect.code]).toEqual([code, code]);
        }),
        { seed, numRuns: 80 },
      );
      expect(seen).toContain("invalid_parameter");
    },
  );

  it("opens no checkout, and is no vault token", async () => {
    const options = { timeoutMs: 5_000, metadata: { authorization: `Bearer ${clientSecret}` } };
    const codeOf = (call: Promise<unknown>) =>
      call.then(
        () => undefined,
        (error) => new RpcError(error).code,
      );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const code = text.includes("\0") ? "invalid_field" : "invalid_client_secret";
        expect(await codeOf(checkout.getCheckout({ sessionId: text }, options))).toBe(code);
        fc.pre(!/^[!-~]{1,255}$/.test(text));
        const submitted = checkout.submitPayment({ sessionId, vaultToken: text }, options);
        expect(await codeOf(submitted)).toBe("invalid_field");
      }),
      { seed, numRuns: 80 },
    );
  });
});
