/**
 * Apple's certificate of a payment processing key: the request for it, and the checks of the certificate that Apple has
 * issued.
 */
import { type KeyObject, X509Certificate } from "node:crypto";
import { DomainError } from "../../platform/errors.ts";
import { sha256 } from "../../platform/secrets.ts";
import { derOfOid, type Element, readElement } from "./ber.ts";

const merchantHash = derOfOid("1.2.840.113635.100.6.32");
const userId = derOfOid("0.9.2342.19200300.100.1.1");

/** Returns a request for a certificate (PKCS #10), in PEM. Apple reads the key only. */
export async function makeSigningRequest(privateKey: KeyObject, publicKey: KeyObject, name: string): Promise<string> {
  const { Utf8String } = await import("asn1js");
  const { AttributeTypeAndValue, CertificationRequest } = await import("pkijs");
  const { subtle } = globalThis.crypto;
  const curve = { name: "ECDSA", namedCurve: "P-256" };
  const signing = await subtle.importKey("pkcs8", derOf(privateKey, "pkcs8"), curve, false, ["sign"]);
  const verifying = await subtle.importKey("spki", derOf(publicKey, "spki"), curve, true, ["verify"]);
  const request = new CertificationRequest();
  request.subject.typesAndValues.push(
    new AttributeTypeAndValue({ type: "2.5.4.3", value: new Utf8String({ value: name }) }),
  );
  await request.subjectPublicKeyInfo.importKey(verifying);
  await request.sign(signing, "SHA-256");
  const lines =
    Buffer.from(request.toSchema().toBER())
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE REQUEST-----", ...lines, "-----END CERTIFICATE REQUEST-----", ""].join("\n");
}

function derOf(key: KeyObject, type: "pkcs8" | "spki"): Uint8Array<ArrayBuffer> {
  return new Uint8Array(key.export({ format: "der", type: type as "spki" }));
}

/**
 * Returns a certificate, in DER or PEM, that Apple has issued for a key. Throws `invalid_field` with the first rule that it
 * breaks.
 */
export function readAppleCertificate(
  bytes: Uint8Array,
  of: { readonly publicKey: Buffer; readonly recipient: string; readonly now: Date },
): { readonly der: Buffer; readonly endsAt: Date } {
  const { certificate, publicKey, subject, extensions } = parse(bytes);
  if (!publicKey.equals(of.publicKey)) {
    throw refused("is of another key: upload the one that Apple issued for this key's signing request");
  }
  const [from, endsAt] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  if (of.now < from) throw refused("is not valid yet");
  if (of.now >= endsAt) throw refused("has expired");
  if (!subject.includes(of.recipient)) throw refused(`is not of the merchant identifier ${of.recipient}`);
  // Apple's tokens are encrypted for this hash of the identifier.
  const expected = sha256(of.recipient).toString("hex").toUpperCase();
  if (!extensions.includes(expected)) throw refused("is no Apple Pay payment processing certificate");
  return { der: certificate.raw, endsAt };
}

/** A key of an unknown algorithm is read, and DER of another spelling, by one of two readers only. */
function parse(bytes: Uint8Array) {
  try {
    const certificate = new X509Certificate(bytes);
    const publicKey = certificate.publicKey.export({ format: "der", type: "spki" });
    return { certificate, publicKey, ...namesOf(certificate) };
  } catch {
    throw refused("is no certificate in DER or PEM");
  }
}

/** Returns the user ids of the subject, and the hashes of merchant identifiers among the extensions. */
function namesOf({ raw }: X509Certificate): { readonly subject: string[]; readonly extensions: string[] } {
  const [, , , , , subject, ...more] = readElement(raw).children[0]?.children ?? [];
  const attributes = (subject?.children ?? []).flatMap(({ children }) => children);
  const extensions = more.find(({ tag }) => tag === 0xa3)?.children[0]?.children ?? [];
  return {
    subject: attributes.filter(isOf(userId)).map(({ children }) => children[1]?.content.toString() ?? ""),
    extensions: extensions.filter(isOf(merchantHash)).map(({ children }) => textWithin(children.at(-1))),
  };
}

function isOf(oid: Buffer): (element: Element) => boolean {
  return ({ children }) => children[0]?.raw.equals(oid) === true;
}

/** Returns the text of a string within an OCTET STRING. */
function textWithin(octets: Element | undefined): string {
  try {
    return octets ? readElement(octets.content).content.toString() : "";
  } catch {
    return "";
  }
}

function refused(reason: string): DomainError {
  return new DomainError("invalid_field", `The certificate ${reason}.`, { field: "certificate" });
}
