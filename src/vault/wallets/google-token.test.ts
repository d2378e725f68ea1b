import { createPrivateKey, createPublicKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  GoogleAuthority,
  type GooglePayment,
  type GoogleTokenChange,
  newPair,
} from "../../sandbox/wallets/google-authority.ts";
import { readGoogleRoots } from "./google-roots.ts";
import { type GoogleCheck, isUnderRoot, openGoogleToken } from "./google-token.ts";
import { codeOf, findAcceptedChanges } from "./single-byte-changes.fixture.ts";
import type { DecryptionKey } from "./token-parts.ts";
import { basisTheoryGoogleNew, basisTheoryGoogleOld, googleTestRoots } from "./vectors.fixture.ts";

describe.each([
  ["Basis Theory, new", basisTheoryGoogleNew],
  ["Basis Theory, old", basisTheoryGoogleOld],
])("a published token: %s", (name, { rawToken, privateKey: pem, recipientId, expected }) => {
  const privateKey = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  const key: DecryptionKey = {
    recipient: recipientId.replace("merchant:", ""),
    publicKey,
    privateKey,
  };
  const intermediateEndsAt = Number(JSON.parse(JSON.parse(rawToken).intermediateSigningKey.signedKey).keyExpiration);
  const messageEndsAt = Number(expected.messageExpiration);
  const check: GoogleCheck = {
    roots: readGoogleRoots(JSON.stringify(googleTestRoots)),
    keys: [key],
    recipientOf: ({ recipient }) => recipient,
    now: new Date(Math.min(intermediateEndsAt, messageEndsAt) - 1),
  };

  it("opens, up to Google's test root", () => {
    const { pan: number, expirationMonth: expMonth, expirationYear: expYear } = expected.paymentMethodDetails;
    expect(openGoogleToken(rawToken, check)).toEqual({
      credential: "PAN",
      number,
      expMonth,
      expYear,
      messageId: expected.messageId,
      messageEndsAt: new Date(messageEndsAt),
    });
  });

  it("does not open later, for another recipient, with another key, or without its root", () => {
    const intermediateOver = { ...check, now: new Date(intermediateEndsAt) };
    expect(codeOf(() => openGoogleToken(rawToken, intermediateOver))).toBe("intermediate_expiry");
    const other = { ...check, recipientOf: () => "12345678901234567891" };
    expect(codeOf(() => openGoogleToken(rawToken, other))).toBe("signature");
    const otherKey = { ...key, privateKey: newPair().privateKey };
    expect(codeOf(() => openGoogleToken(rawToken, { ...check, keys: [otherKey] }))).toBe("tag");
    expect(codeOf(() => openGoogleToken(rawToken, { ...check, keys: [otherKey, key] }))).toBe("opened");
    expect(codeOf(() => openGoogleToken(rawToken, { ...check, roots: [] }))).toBe("root");
    const ended = check.roots.map((root) => ({ ...root, expiresAt: check.now }));
    expect(codeOf(() => openGoogleToken(rawToken, { ...check, roots: ended }))).toBe("root");
  });

  it("opens with no byte changed", () => {
    const changed = findAcceptedChanges(rawToken, (candidate) => openGoogleToken(candidate, check));
    console.info(`${name}: ${changed.tried} changes of a byte, ${changed.accepted.length} accepted`);
    expect(changed.accepted).toEqual([]);
    // Two signatures of some 70 bytes.
    expect(changed.tried).toBeGreaterThan(rawToken.length + 130);
  });
});

describe("a token of an authority of our own", () => {
  const authority = new GoogleAuthority();
  const { privateKey, publicKey } = newPair();
  const recipient = "BCR2DN4T263K6XYZ";
  const payment: GooglePayment = { publicKey, recipient, number: "4895370012003478" };
  const cryptogram = "AP+V1BdGMdSoAAKVaTgMMAABRA==";
  const spki = publicKey.export({ format: "der", type: "spki" });
  const checkNow = (): GoogleCheck => ({
    roots: readGoogleRoots(JSON.stringify(authority.keys)),
    keys: [{ recipient, publicKey: spki, privateKey }],
    recipientOf: (key) => key.recipient,
    now: new Date(),
  });
  const made = (change?: GoogleTokenChange, of: Partial<GooglePayment> = {}) =>
    authority.makeToken({ ...payment, ...of }, change);
  const open = (text: string, change: Partial<GoogleCheck> = {}) =>
    codeOf(() => openGoogleToken(text, { ...checkNow(), ...change }));
  const inMs = (ms: number) => new Date(Date.now() + ms);
  const day = 24 * 3_600_000;

  it("opens, of a card and of a device", () => {
    const token = made({}, { cryptogram, eci: "05" });
    expect(openGoogleToken(token, checkNow())).toMatchObject({ credential: "NETWORK_TOKEN", cryptogram, eci: "05" });
    expect(openGoogleToken(made(), checkNow())).toMatchObject({ credential: "PAN", number: payment.number });
    expect(isUnderRoot(token, checkNow().roots, new Date())).toBe(true);
    expect(isUnderRoot(token, readGoogleRoots(JSON.stringify(new GoogleAuthority().keys)), new Date())).toBe(false);
  });

  /** For each check of the design, in its order: a token that breaks this rule and no other. */
  const forgeries: readonly [check: string, what: string, make: () => string][] = [
    ["version", "another version", () => made({ token: { protocolVersion: "ECv1" } })],
    ["form", "no message", () => made({ token: { signedMessage: undefined } })],
    [
      "form",
      "no signature of the intermediate key",
      () => {
        const token = JSON.parse(made());
        return JSON.stringify({
          ...token,
          intermediateSigningKey: { ...token.intermediateSigningKey, signatures: [] },
        });
      },
    ],
    [
      "form",
      "a signature in another spelling of base64",
      () => {
        const token = JSON.parse(made());
        return JSON.stringify({ ...token, signature: `${token.signature}\n` });
      },
    ],
    ["root", "a root of a stranger", () => made({ root: newPair().privateKey })],
    ["intermediate_expiry", "an intermediate key that has ended", () => made({ intermediateEndsAt: inMs(-1_000) })],
    ["signature", "another recipient", () => made({}, { recipient: "BCR2DN4T263K6XYY" })],
    ["root", "an intermediate key that is signed for ECv1", () => made({ intermediateProtocol: "ECv1" })],
    [
      "root",
      "a longer life of the intermediate key under the signature of the shorter one",
      () => {
        const { intermediateSigningKey: ofKey, ...token } = JSON.parse(made({ intermediateEndsAt: inMs(-1_000) }));
        const signedKey = JSON.stringify({
          ...JSON.parse(ofKey.signedKey),
          keyExpiration: String(inMs(day).getTime()),
        });
        return JSON.stringify({ ...token, intermediateSigningKey: { ...ofKey, signedKey } });
      },
    ],
    [
      "signature",
      "the same bytes in parts of other lengths",
      () =>
        made({
          partsOf: ([sender = "", ...parts]) => [sender.slice(0, -1), sender.slice(-1) + parts[0], ...parts.slice(1)],
        }),
    ],
    ["signature", "a signature by another key", () => made({ signer: newPair().privateKey })],
    [
      "signature",
      "the message of another token",
      () => JSON.stringify({ ...JSON.parse(made()), signedMessage: JSON.parse(made()).signedMessage }),
    ],
    ["tag", "another tag", () => made({ tag: Buffer.alloc(32) })],
    ["tag", "a shorter tag", () => made({ tag: Buffer.alloc(8) })],
    ["tag", "another merchant's key", () => made({}, { publicKey: newPair().publicKey })],
    ["message_expiry", "a message that has ended", () => made({ messageEndsAt: inMs(-1_000) })],
    ["message_expiry", "a message of more than thirty days", () => made({ messageEndsAt: inMs(30 * day + 60_000) })],
    ["content", "no end", () => made({ content: { messageExpiration: undefined } })],
    ["content", "no id", () => made({ content: { messageId: undefined } })],
    ["payment_method", "no card", () => made({ content: { paymentMethod: "TOKENIZED_CARD" } })],
    ["auth_method", "another method", () => made({ details: { authMethod: "PIN" } })],
    ["content", "no cryptogram", () => made({ details: { authMethod: "CRYPTOGRAM_3DS" } })],
    ["content", "a number with letters", () => made({ details: { pan: "48953700120034{{" } })],
    ["content", "a month that is none", () => made({ details: { expirationMonth: 13 } })],
    ["content", "an indicator of another form", () => made({ details: { eciIndicator: "x" } })],
  ];

  it.each(forgeries)("is refused by %s: %s", (expected, _, make) => {
    expect(open(make())).toBe(expected);
  });

  it("is refused by the root once that has ended", () => {
    const ended = new GoogleAuthority({ endsAt: inMs(-1_000) });
    const roots = readGoogleRoots(JSON.stringify(ended.keys));
    expect(open(ended.makeToken(payment), { roots })).toBe("root");
  });
});

describe("readGoogleRoots()", () => {
  it("reads the keys of ECv2 alone, and nothing of another form", () => {
    const [key] = googleTestRoots.keys;
    const text = (...keys: object[]) => JSON.stringify({ keys });
    expect(readGoogleRoots(text(key, { ...key, protocolVersion: "ECv1" }))).toHaveLength(1);
    for (const broken of [
      ...["", "{}", "[]", text({}), text({ ...key, keyValue: "AAAA" }), text({ ...key, keyExpiration: 1 })],
      text({ ...key, keyExpiration: undefined }),
    ])
      expect(readGoogleRoots(broken)).toEqual([]);
  });
});
