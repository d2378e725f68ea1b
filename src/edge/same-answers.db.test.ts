/** Every surface accepts or refuses the same order alike, with the same code and fields. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { orderOf } from "../dev/testing/edge/order-of.ts";
import { restOutcome, startSurfaces } from "../dev/testing/edge/surfaces.ts";
import { forFile } from "../dev/testing/for-file.ts";

const surfaces = await forFile(startSurfaces);

// Fixed: a failure prints its payload, and the same payloads occur again.
const seed = 20_260_101;

const amounts = fc.oneof(
  fc.constantFrom(0, 1, -1, 4900, 999_999_999_999, 1_000_000_000_000, Number.MAX_SAFE_INTEGER),
  fc.maxSafeInteger(),
  fc.integer({ min: 1, max: 100_000 }),
);
const currencies = fc.oneof(
  fc.constantFrom("EUR", "JPY", "KWD", "eur", "XAU", "XXX", "DEM", "", "EUR ", "\0UR"),
  fc.string({ unit: fc.constantFrom(..."ACDEFNRSUX"), minLength: 3, maxLength: 3 }),
  fc.string({ maxLength: 5 }),
);
const references = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("", " ", "\u3000", "\ufeff", "a\nb", "x".repeat(255), "x".repeat(256), "😀".repeat(255)),
);
const emails = fc.oneof(
  fc.emailAddress(),
  fc.string({ unit: fc.constantFrom("a", "@", ".", " ", "\0", "ü"), maxLength: 12 }),
);
const names = fc.oneof(
  fc.constantFrom("Ada", " ", "", "x".repeat(101), "a\u0000"),
  fc.string({ unit: "grapheme", maxLength: 120 }),
);
const addresses = fc.record(
  {
    line1: names,
    line2: names,
    city: names,
    postalCode: fc.oneof(fc.constantFrom("10115", "1".repeat(17)), names),
    region: names,
    country: fc.constantFrom("DE", "US", "de", "ZZ", "", "UK"),
  },
  { requiredKeys: [] },
);
const metadata = fc.dictionary(
  fc.oneof(fc.constantFrom("a", "cart", "k".repeat(41), "a b"), fc.string({ maxLength: 6 })),
  // Readers of JSON refuse NUL, after which the key is not checked.
  fc.constantFrom("", "x", "y".repeat(501), "a\nb", "é"),
  { maxKeys: 22 },
);
const descriptors = fc.oneof(
  fc.constantFrom("Acme Books", "Acme", "12345", " Acme Books"),
  fc.string({ unit: fc.constantFrom(..."aB1 .-*"), maxLength: 24 }),
);
const orders = fc.record(
  {
    amountMinor: amounts,
    currency: currencies,
    orderRef: references,
    customerEmail: emails,
  },
  { requiredKeys: [] },
);
const described = fc
  .record(
    { customerName: names, billingAddress: addresses, metadata, statementDescriptor: descriptors },
    { requiredKeys: [] },
  )
  .map((details) => ({ amountMinor: 4900, currency: "EUR", orderRef: "order-1", ...details }));
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), amounts, references);
/** Bodies of any type, which only JSON can express. */
const bodies = fc.oneof(
  fc.record({ amountMinor: anything, currency: anything, orderRef: anything, tip: anything }, { requiredKeys: [] }),
  fc.jsonValue({ maxDepth: 2 }),
);

describe("every surface", () => {
  it.each([
    ["an order", orders],
    ["the details of an order", described],
  ])("gives %s the same answer", async (_, given) => {
    const seen = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(given as fc.Arbitrary<object>, async (order) => {
        const body = JSON.stringify(order);
        const message = orderOf(body);
        fc.pre(message !== undefined);
        const [rest, connect, grpc] = await Promise.all([
          surfaces.createOverRest(body),
          surfaces.overConnect("CreatePaymentSession", body),
          surfaces.createOverGrpc(message!),
        ]);
        const outcome = restOutcome(rest);
        seen.add(outcome.code);
        expect(grpc).toEqual(outcome);
        expect(connect).toMatchObject(outcome);
      }),
      { seed, numRuns: 250 },
    );
    expect([...seen].sort()).toEqual(["invalid_field", "missing_field", undefined]);
  });

  it("that reads JSON gives any JSON the same answer", async () => {
    const seen = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(bodies, async (value) => {
        const body = JSON.stringify(value);
        // The one difference by design: Protobuf's clients write 64-bit integers as text.
        fc.pre(typeof (value as { amountMinor?: unknown } | null)?.amountMinor !== "string");
        const [rest, connect] = await Promise.all([
          surfaces.createOverRest(body),
          surfaces.overConnect("CreatePaymentSession", body),
        ]);
        const outcome = restOutcome(rest);
        seen.add(outcome.code);
        expect(connect).toMatchObject(outcome);
      }),
      { seed, numRuns: 250 },
    );
    expect(seen).toContain("invalid_field");
    expect(seen).toContain("unknown_field");
  });
});
