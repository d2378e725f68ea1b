import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodeId } from "./ids.ts";
import { hasNetworkNumber, scrub } from "./scrub.ts";
import { Secret } from "./secrets.ts";

const random = (bytes: number) => randomBytes(bytes).toString("base64url");
const keyBody = "3Jk8Zq1Lm5Np7Rs9Tv2Wx4Yb6Cd8Fg0H1aB2cD";

describe("scrub()", () => {
  it.each([
    ["a card number", "declined 4242424242424242 again", "4242424242424242"],
    ["one in full width", "declined ４２４２４２４２４２４２４２４２ again", "42424242|４２４２"],
    ["a card's verification", '{"card_verification":"739"}', "739"],
    ["one in groups", "card 4242 4242 4242 4242,", "4242 4242"],
    ["one with dashes", "3782-822463-10005", "822463"],
    ["one in a form", "number=4242+4242+4242+4242&x", "4242+"],
    ["one that is percent-encoded", "?q=4242%204242%204242%204242", "4242%20"],
    ["one of nineteen digits", '"6304000000000000000"', "63040000"],
    ["one before an expiry date", "4242424242424242 12/30", "42424242"],
    ["one before a security code", "4242424242424242 123", "42424242"],
    ["one behind a count", "12 4242424242424242", "42424242"],
    ["one in groups behind a number of four digits", "1234 4242 4242 4242 4242 1", "4242"],
    ["a secret key", `Unknown key switchyard_test_sk_${keyBody}.`, keyBody],
    ["a signing secret", "switchyard_live_whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AAECAwQF"],
    ["a client secret", `no session ps_01h2xcejqtf2nbrexx3vqjhp41_secret_t1_${random(32)}`, "t1_"],
    ["an operator's token", `switchyard_operator_aaaa${random(28)}`, "operator_aaaa"],
    ["a vault token", "token tok_aaaabbbbccccddddeeeeffff", "bbbbcccc"],
    ["the handle of a stored card", "vc_aaaabbbbccccddddeeeeffffgggghhhh is lost", "bbbbcccc"],
    ["a bearer token", `{"authorization":"Bearer ${random(20)}"}`, "Bearer [^*]"],
    ["a signed token", "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJwc18x.c2lnbmF0dXJl", "eyJzdWIi"],
    ["a page token", `pageToken=${random(40)}.${random(32)}`, "pageToken=[^*]"],
    ["one that begins with a hyphen", `pageToken=-${random(40)}.${random(32)}`, "pageToken=[^*]"],
    ["a key of Stripe", "Invalid API Key provided: sk_test_51H8aaaaaaaaBBBBBBBB", "BBBBBBBB"],
    ["a key of Adyen", "x-api-key AQEyhmfxK4vMaRNHw0m_n3Q5qf3Vfo1O-n0nBx", "hmfxK4"],
    ["a client secret of PayPal", `secret E${"Lq9-".repeat(19)}abc`, "Lq9-Lq9"],
    ["a database's password", "connect postgres://edge:hunter22@db.internal:5432/live failed", "hunter22"],
    ["a NATS token", "nats://s3cr3t@10.0.0.1:4222", "s3cr3t"],
    ["an e-mail address", "ada.lovelace+shop@mail.example.com is refused", "lovelace"],
    ["an international one", "jürgen@müller.example", "jürgen"],
    ["a security code beside its name", '{\\"cvc\\":\\"737\\"}', "737"],
    ["a password in a printed object", "{ password: 'hunter22', user: 'edge' }", "hunter22"],
    ["a private key", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----", "MC4CAQ"],
  ])("masks %s", (_, text, secret) => {
    expect(text).toMatch(new RegExp(secret.replaceAll("+", "\\+")));
    expect(scrub(text)).not.toMatch(new RegExp(secret.replaceAll("+", "\\+")));
    expect(scrub(text)).toContain("****");
  });

  it.each([
    "connect ECONNREFUSED 127.0.0.1:5432",
    "at async file:///srv/node_modules/@mikro-orm/core/Connection.js:120:15",
    '{"level":40,"time":"2026-11-21T20:52:40.534Z","pid":4194304,"code":"ERR_TLS_CERT_ALTNAME_INVALID"}',
    "new row for relation payment_session violates check constraint payment_session_amount_minor_check",
    "The configuration has 2 problem(s): SWITCHYARD_VAULT_DATABASE_URL is not set",
    "switchyard_test_pk_3Jk8Zq1Lm5Np7Rs9Tv2Wx4Yb6Cd8Fg0H1aB2cD",
    "4242424242424243 has a wrong check digit, 42424242424242424242 is too long",
    "postgres://db.internal:5432/live, https://pay.example.com/a?b=c",
    "took 12.424242424242424242 ms",
    "Node warns: the security of Basic authentication",
  ])("leaves unchanged: %s", (text) => {
    expect(scrub(text)).toBe(text);
  });

  it("leaves ids unchanged, whatever their digits", () => {
    const uuids = Array.from({ length: 2_000 }, () => randomUUID());
    const ids = [...uuids, ...uuids.map((uuid) => encodeId("ps", uuid))];
    expect(ids.map(scrub)).toEqual(ids);
  });

  it("takes time linear in the text, whatever it contains", () => {
    const nasty = ["a", "1 ", "1", "://a:", "a.", "eyJa", "[", "%20", "pass"].map((part) => `@${part.repeat(50_000)}`);
    const before = process.cpuUsage();
    for (const text of nasty) scrub(text);
    // Of the CPU, which others on a busy machine do not use up. Far more than it needs; a rule that backtracks over the
    // whole text takes minutes.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(8_000);
  });

  it("finds nothing to mask in the output of a Secret", () => {
    expect(scrub(String(new Secret("x")))).toBe(String(new Secret("x")));
  });
});

describe("hasNetworkNumber()", () => {
  it.each([
    ["Visa", "4242424242424242"],
    ["Visa of 13 digits", "4222222222222"],
    ["Mastercard", "5555 5555 5555 4444"],
    ["Mastercard's second range", "2223003122003222"],
    ["American Express", "3782-822463-10005"],
    ["Diners Club", "30569309025904"],
    ["JCB", "3566002020360505"],
    ["Discover", "6011111111111117"],
    ["UnionPay", "6205500000000000004"],
    ["Maestro", "6759649826438453"],
    ["one in words", "parcel 4242424242424242, left at the door"],
  ])("finds the number of a card of %s", (_, text) => expect(hasNetworkNumber(text)).toBe(true));

  // Each has the check digit of a card, but for those of UPS and the Royal Mail, which have letters.
  it.each([
    ["DHL of 20 digits", "00340434161094042559"],
    ["DHL of 12 digits", "340434161097"],
    ["FedEx of 12 digits", "612999984109"],
    ["FedEx of 15 digits", "961205812345678"],
    ["DPD of 14 digits", "01234567890128"],
    ["USPS of 22 digits", "9400111899223197428497"],
    ["Canada Post of 16 digits", "7035114477138476"],
    ["UPS", "1Z999AA10123456784"],
    ["the Royal Mail", "RB123456785GB"],
  ])("finds none in a tracking number of %s", (_, text) => expect(hasNetworkNumber(text)).toBe(false));
});
