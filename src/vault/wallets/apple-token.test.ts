import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { longOnly } from "../../dev/testing/long-only.ts";
import { bindingOf, orderHashOf } from "../../platform/wallets.ts";
import { AppleAuthority, type ApplePayment, type TokenChange } from "../../sandbox/wallets/apple-authority.ts";
import { appleRoot } from "./apple-root.ts";
import { type AppleCheck, openAppleToken } from "./apple-token.ts";
import { disguise } from "./disguise.fixture.ts";
import { codeOf, findAcceptedChanges } from "./single-byte-changes.fixture.ts";
import type { DecryptionKey } from "./token-parts.ts";
import { basisTheoryRsa, basisTheoryVisaNew, basisTheoryVisaOld, galaMastercard } from "./vectors.fixture.ts";

describe.each([
  ["spreedly/gala, Mastercard", galaMastercard],
  ["Basis Theory, Visa, new", basisTheoryVisaNew],
  ["Basis Theory, Visa, old", basisTheoryVisaOld],
])("a published token: %s", (name, vector) => {
  const { paymentData, certificate, privateKey, merchantIdentifier, signingTime, expected } = vector;
  const key: DecryptionKey = {
    recipient: merchantIdentifier,
    publicKey: new X509Certificate(certificate).publicKey.export({ format: "der", type: "spki" }),
    privateKey: createPrivateKey(privateKey),
  };
  const check: AppleCheck = {
    roots: [appleRoot],
    keys: [key],
    now: new Date(signingTime),
    binding: undefined,
    order: { amountMinor: 100, currency: "USD" },
  };
  const text = JSON.stringify(paymentData);

  it("opens, up to Apple's own root", () => {
    const { number, expMonth, expYear, cryptogram, eci, credential, messageId } = openAppleToken(text, check);
    expect({ number, cryptogram, eci }).toEqual({
      number: expected.applicationPrimaryAccountNumber,
      cryptogram: expected.paymentData.onlinePaymentCryptogram,
      eci: (expected.paymentData as { eciIndicator?: string }).eciIndicator,
    });
    expect(`${expYear % 100}${String(expMonth).padStart(2, "0")}`).toBe(expected.applicationExpirationDate.slice(0, 4));
    expect({ credential, messageId }).toEqual({
      credential: "NETWORK_TOKEN",
      messageId: paymentData.header.transactionId,
    });
  });

  it("does not open five minutes later, for another order, another merchant or another amount", () => {
    const later = new Date(check.now.getTime() + 5 * 60_000 + 1);
    const earlier = new Date(check.now.getTime() - 60_001);
    expect(codeOf(() => openAppleToken(text, { ...check, now: later }))).toBe("signing_time");
    expect(codeOf(() => openAppleToken(text, { ...check, now: earlier }))).toBe("signing_time");
    expect(codeOf(() => openAppleToken(text, { ...check, binding: Buffer.from("x") }))).toBe("application_data");
    expect(codeOf(() => openAppleToken(text, { ...check, keys: [] }))).toBe("key");
    const other = { ...check, keys: [{ ...key, recipient: "merchant.other" }] };
    expect(codeOf(() => openAppleToken(text, other))).toBe("tag");
    const order = { amountMinor: 101, currency: "USD" };
    expect(codeOf(() => openAppleToken(text, { ...check, order }))).toBe("wallet_amount_mismatch");
    const euros = { amountMinor: 100, currency: "EUR" };
    expect(codeOf(() => openAppleToken(text, { ...check, order: euros }))).toBe("wallet_amount_mismatch");
  });

  const defines = vector === basisTheoryVisaNew ? (define: () => void) => define() : longOnly;
  defines(() => {
    it("opens with no byte changed", () => {
      const changed = findAcceptedChanges(text, (candidate) => openAppleToken(candidate, check));
      console.info(`${name}: ${changed.tried} changes of a byte, ${changed.accepted.length} accepted`);
      expect(changed.accepted).toEqual([]);
      const { header, data, signature } = paymentData;
      const encoded = [data, signature, header.ephemeralPublicKey, header.publicKeyHash, header.transactionId];
      expect(changed.tried).toBeGreaterThan(text.length + encoded.join("").length / 2);
    });
  });
});

it("has a root whose fingerprint is Apple's", () => {
  const sha256 = createHash("sha256").update(appleRoot.raw).digest("hex").toUpperCase();
  expect(sha256).toBe("63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179");
});

it("does not support the tokens of RSA_v1", () => {
  const check: AppleCheck = {
    roots: [appleRoot],
    keys: [],
    now: new Date(),
    binding: undefined,
    order: { amountMinor: 100, currency: "USD" },
  };
  expect(codeOf(() => openAppleToken(JSON.stringify(basisTheoryRsa.paymentData), check))).toBe("wallet_not_supported");
});

describe("a token of an authority of our own", async () => {
  const authority = await AppleAuthority.create();
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const recipient = "merchant.example";
  const order = { hash: orderHashOf("mer_1", "order-1"), amountMinor: 1_999, currency: "EUR" };
  const payment: ApplePayment = {
    publicKey,
    recipient,
    number: "4895370012003478",
    eci: "7",
    currencyCode: "978",
    amountMinor: 1_999,
    binding: bindingOf(order),
  };
  const spki = publicKey.export({ format: "der", type: "spki" });
  const check = (): AppleCheck => ({
    roots: [appleRoot, new X509Certificate(authority.rootPem)],
    keys: [{ recipient, publicKey: spki, privateKey }],
    now: new Date(),
    binding: bindingOf(order),
    order,
  });
  const open = (text: string, change: Partial<AppleCheck> = {}) =>
    codeOf(() => openAppleToken(text, { ...check(), ...change }));
  const made = (change?: TokenChange, by = authority, of: Partial<ApplePayment> = {}) =>
    by.makeToken({ ...payment, ...of }, change);

  it("opens", async () => {
    expect(openAppleToken(await made(), check())).toMatchObject({
      credential: "NETWORK_TOKEN",
      number: payment.number,
      eci: "7",
    });
    const now = new Date();
    const signed = (offsetMs: number) => made({ signedAt: new Date(now.getTime() + offsetMs) });
    expect(await open(await signed(-299_000), { now })).toBe("opened");
    expect(await open(await signed(59_000), { now })).toBe("opened");
    const { leaf, intermediate } = authority.certificates;
    const withRoot = [intermediate, leaf, authority.root.certificate];
    expect(await open(await made({ certificates: withRoot }))).toBe("opened");
  });

  const foreign = await AppleAuthority.create();
  const past = new Date(Date.now() - 60_000);
  const under = (change: Parameters<typeof AppleAuthority.create>[0]) =>
    AppleAuthority.create({ root: authority.root, ...change });
  const base64 = (text: string) => Buffer.from(text, "base64");

  const soon = new Date(Date.now() + 3_600_000);
  const [leafOid, intermediateOid] = ["1.2.840.113635.100.6.29", "1.2.840.113635.100.6.2.14"];

  /** For each check of the design, in its order: a token that breaks this rule and no other. */
  const forgeries: readonly [check: string, what: string, make: () => Promise<string>][] = [
    ["wallet_not_supported", "another version", () => made({ token: { version: "RSA_v1" } })],
    ["form", "no object", async () => "[]"],
    ["form", "no JSON", async () => "{"],
    ["form", "no data", () => made({ token: { data: undefined } })],
    [
      "form",
      "a signature in another spelling of base64",
      async () => {
        const { signature, ...token } = JSON.parse(await made());
        return JSON.stringify({ ...token, signature: `${signature}\n` });
      },
    ],
    ["form", "a signature that is no CMS", () => made({ token: { signature: "AAAA" } })],
    ["form", "no transaction", () => made({ header: { transactionId: undefined } })],
    ["form", "application data of another form", () => made({ header: { applicationData: "x" } })],
    [
      "form",
      "a transaction in capitals",
      async () => {
        const { header, ...token } = JSON.parse(await made());
        return JSON.stringify({ ...token, header: { ...header, transactionId: header.transactionId.toUpperCase() } });
      },
    ],
    ["form", "a digest by SHA-1", () => made({ hash: "SHA-1" })],
    [
      "form",
      "certificates of another purpose, hidden as PEM in what names Apple's",
      async () => {
        // As a merchant's own certificate of a processing key, under the authority that issues those.
        const other = await under({ leafOid: "1.2.840.113635.100.6.32", intermediateOid: "1.2.840.113635.100.6.2.1" });
        const { leaf, intermediate } = other.certificates;
        return made({ certificates: [disguise(leaf, leafOid), disguise(intermediate, intermediateOid)] }, other);
      },
    ],
    ["signers", "two signers", () => made({ signers: 2 })],
    ["signers", "no signer", () => made({ signers: 0 })],
    [
      "leaf",
      "a leaf that is not for payments",
      async () => made({}, await under({ leafOid: "1.2.840.113635.100.6.30" })),
    ],
    [
      "leaf",
      "another leaf than the signer names",
      async () => {
        const { leaf } = (await under({})).certificates;
        return made({ certificates: [leaf, authority.certificates.intermediate] });
      },
    ],
    [
      "leaf",
      "a leaf whose subject has the purpose",
      async () => made({}, await under({ leafOid: "1.2.840.113635.100.6.30", leafAttribute: leafOid })),
    ],
    [
      "intermediate",
      "one certificate that is both",
      async () => {
        const other = await under({ leafOidToo: intermediateOid });
        return made({ certificates: [other.certificates.leaf] }, other);
      },
    ],
    [
      "intermediate",
      "an intermediate of another purpose",
      async () => made({}, await under({ intermediateOid: "1.2.840.113635.100.6.2.15" })),
    ],
    ["intermediate", "no intermediate", () => made({ certificates: [authority.certificates.leaf] })],
    [
      "intermediate",
      "a further certificate",
      () => made({ certificates: [...Object.values(authority.certificates), foreign.root.certificate] }),
    ],
    ["chain", "another root of the same name", () => made({}, foreign)],
    ["chain", "an intermediate that is no authority", async () => made({}, await under({ intermediateIsCa: false }))],
    [
      "chain",
      "a leaf of another intermediate of the same name",
      async () => made({}, await under({ leafIssuer: foreign.intermediate })),
    ],
    [
      "chain",
      "a leaf that names another issuer",
      async () => {
        const leafIssuer = { ...authority.root, privateKey: authority.intermediate.privateKey };
        const other = await under({ leafIssuer });
        const certificates = [other.certificates.leaf, authority.certificates.intermediate];
        return made({ certificates }, other);
      },
    ],
    ["chain", "a leaf that ended before", async () => made({}, await under({ leafEndsAt: past }))],
    ["chain", "an intermediate that ended before", async () => made({}, await under({ intermediateEndsAt: past }))],
    ["chain", "a leaf that begins later", async () => made({}, await under({ leafStartsAt: soon }))],
    ["chain", "an intermediate that begins later", async () => made({}, await under({ intermediateStartsAt: soon }))],
    ["signature", "another digest", () => made({ digest: Buffer.alloc(32) })],
    [
      "signature",
      "other data",
      async () => {
        const [one, other] = [JSON.parse(await made()), JSON.parse(await made())];
        return JSON.stringify({ ...one, data: other.data });
      },
    ],
    ["signature", "another transaction", () => made({ header: { transactionId: "0".repeat(64) } })],
    [
      "signature",
      "another ephemeral key",
      async () => {
        const [one, other] = [JSON.parse(await made()), JSON.parse(await made())];
        return JSON.stringify({
          ...one,
          header: { ...one.header, ephemeralPublicKey: other.header.ephemeralPublicKey },
        });
      },
    ],
    ["signature", "the application data of another order", () => made({ header: { applicationData: "0".repeat(64) } })],
    ["signature", "application data that was taken away", () => made({ header: { applicationData: undefined } })],
    [
      "signature",
      "a changed signature value",
      async () => {
        const token = JSON.parse(await made());
        const signature = base64(token.signature);
        signature[signature.length - 1]! ^= 1;
        return JSON.stringify({ ...token, signature: signature.toString("base64") });
      },
    ],
    ["signing_time", "an age of more than five minutes", () => made({ signedAt: new Date(Date.now() - 302_000) })],
    ["signing_time", "a time in the future", () => made({ signedAt: new Date(Date.now() + 63_000) })],
    ["application_data", "another order", () => made({}, authority, { binding: bindingOf({ ...order, hash: "x" }) })],
    [
      "application_data",
      "another amount in the order",
      () => made({}, authority, { binding: bindingOf({ ...order, amountMinor: 1 }) }),
    ],
    ["application_data", "no order", () => made({}, authority, { binding: undefined })],
    [
      "key",
      "another merchant's key",
      () => made({}, authority, { publicKey: generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey }),
    ],
    ["key", "another hash of the key", () => made({ header: { publicKeyHash: Buffer.alloc(32).toString("base64") } })],
    ["tag", "another merchant identifier", () => made({}, authority, { recipient: "merchant.other" })],
    ["content", "no number", () => made({ content: { applicationPrimaryAccountNumber: undefined } })],
    [
      "content",
      "a number with letters",
      () => made({ content: { applicationPrimaryAccountNumber: "48953700120034{{" } }),
    ],
    ["content", "a month that is none", () => made({ content: { applicationExpirationDate: "301331" } })],
    ["content", "no cryptogram", () => made({ content: { paymentData: {} } })],
    [
      "content",
      "an indicator of another form",
      () =>
        made({
          content: {
            paymentData: { onlinePaymentCryptogram: Buffer.alloc(20).toString("base64"), eciIndicator: "x1" },
          },
        }),
    ],
    ["wallet_not_supported", "the EMV kind of payment", () => made({ content: { paymentDataType: "EMV" } })],
    ["wallet_amount_mismatch", "another amount", () => made({ content: { transactionAmount: 1_998 } })],
    ["wallet_amount_mismatch", "an amount in text", () => made({ content: { transactionAmount: "1999" } })],
    ["wallet_amount_mismatch", "no currency", () => made({ content: { currencyCode: undefined } })],
    ["wallet_amount_mismatch", "a currency as a number", () => made({ content: { currencyCode: 978 } })],
    ["wallet_amount_mismatch", "the digits of another currency", () => made({ content: { currencyCode: "008" } })],
    ["wallet_amount_mismatch", "another currency", () => made({ content: { currencyCode: "840" } })],
  ];

  it.each(forgeries)("is refused by %s: %s", async (expected, _, make) => {
    expect(open(await make())).toBe(expected);
  });

  it.each([
    ["no minor unit", "JPY", "392"],
    ["three digits of it", "KWD", "414"],
    ["no number", "XXX", undefined],
  ])("is not supported in a currency of %s", async (_, currency, currencyCode) => {
    const token = await made({ content: { currencyCode } });
    expect(open(token, { order: { ...order, currency } })).toBe("wallet_not_supported");
  });

  it("is refused by the chain once the root has ended", async () => {
    const ended = await AppleAuthority.create({ rootEndsAt: past });
    const roots = [new X509Certificate(ended.rootPem)];
    expect(open(await made({}, ended), { roots })).toBe("chain");
  });

  it("is refused by the tag for a changed ciphertext, whatever its signature is worth", async () => {
    // Signed anew, as only Apple could: the tag holds by itself.
    const token = JSON.parse(await made());
    const changed = base64(token.data);
    changed[0]! ^= 1;
    const forged = await authority.signAnew({ ...token, data: changed.toString("base64") });
    expect(open(forged)).toBe("tag");
    expect(open(await authority.signAnew(token))).toBe("opened");
  });
});
