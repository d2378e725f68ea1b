/**
 * Checks who signed a token of Apple Pay: CMS (RFC 5652) with one signer, whose certificate an intermediate of a trusted
 * root has issued. Outside the certificates every field that no signature covers has one value; of a certificate counts what
 * its own signature covers, read from the same bytes.
 */
import { verify, X509Certificate } from "node:crypto";
import { sha256 } from "../../platform/secrets.ts";
import type { WalletCheck } from "../../platform/wallets.ts";
import { derOf, derOfOid, type Element, encodeElement, readElement } from "./ber.ts";
import { RefusedToken } from "./token-parts.ts";

const oids = {
  signedData: derOfOid("1.2.840.113549.1.7.2"),
  data: derOfOid("1.2.840.113549.1.7.1"),
  contentType: derOfOid("1.2.840.113549.1.9.3"),
  messageDigest: derOfOid("1.2.840.113549.1.9.4"),
  signingTime: derOfOid("1.2.840.113549.1.9.5"),
  sha256: derOfOid("2.16.840.1.101.3.4.2.1"),
  ecdsaWithSha256: derOfOid("1.2.840.10045.4.3.2"),
  // Apple's own, of the certificates that sign tokens and of the authority that issues them.
  paymentLeaf: derOfOid("1.2.840.113635.100.6.29"),
  applicationIntermediate: derOfOid("1.2.840.113635.100.6.2.14"),
};

const tags = { sequence: 0x30, set: 0x31, context0: 0xa0, context3: 0xa3, octets: 0x04, utcTime: 0x17, time: 0x18 };
const one = Buffer.from([0x02, 0x01, 0x01]);
const sha256Algorithms = [
  derOf(tags.sequence, oids.sha256),
  derOf(tags.sequence, oids.sha256, Buffer.from([0x05, 0x00])),
];

/** Returns the time at which `content` was signed. Throws RefusedToken with the first check that fails. */
export function verifyAppleSignature(
  signature: Buffer,
  content: Uint8Array,
  roots: readonly X509Certificate[],
): { readonly signedAt: Date } {
  const { certificates, signers } = readCms(signature);
  const [signer, ...others] = signers;
  if (signer === undefined || others.length > 0) throw refused("signers");
  const leaf = certificates.find(({ extensions }) => hasOid(extensions, oids.paymentLeaf));
  if (leaf === undefined || !isNamedBy(signer, leaf)) throw refused("leaf");
  const intermediate = certificates.find(({ extensions }) => hasOid(extensions, oids.applicationIntermediate));
  const rest = certificates.filter((certificate) => certificate !== leaf && certificate !== intermediate);
  // Every other certificate must be a trusted root, because nothing else checks it.
  const areRoots = rest.every(({ x509 }) => roots.some(({ raw }) => raw.equals(x509.raw)));
  if (intermediate === undefined || intermediate === leaf || !areRoots) throw refused("intermediate");

  const attributes = readAttributes(signer);
  const { signedAt } = attributes;
  const isTrusted = roots.some((root) => isValidAt(root, signedAt) && isIssued(intermediate.x509, root, signedAt));
  if (!isTrusted || !isIssued(leaf.x509, intermediate.x509, signedAt)) throw refused("chain");
  if (!attributes.digest.equals(sha256(content))) throw refused("signature");
  if (!verify("sha256", attributes.signedBytes, leaf.x509.publicKey, attributes.signature)) throw refused("signature");
  return { signedAt };
}

/** Returns certificates and signers. Throws if a field has another value than in Apple's signatures. */
function readCms(signature: Buffer) {
  return orMalformed(() => {
    const [type, explicit, ...noMore] = childrenOf(readElement(signature), tags.sequence);
    insist(isOid(type, oids.signedData) && noMore.length === 0);
    const [signed, ...noSecond] = childrenOf(explicit, tags.context0);
    const [version, digests, encapsulated, certificates, signers, ...none] = childrenOf(signed, tags.sequence);
    insist(noSecond.length === 0 && none.length === 0 && isOne(version));
    const [digest, ...noDigest] = childrenOf(digests, tags.set);
    insist(isSha256(digest) && noDigest.length === 0);
    const [contentType, ...noContent] = childrenOf(encapsulated, tags.sequence);
    insist(isOid(contentType, oids.data) && noContent.length === 0);
    return {
      certificates: childrenOf(certificates, tags.context0).map(readCertificate),
      signers: childrenOf(signers, tags.set),
    };
  });
}

function readCertificate({ raw }: Element) {
  const [body] = childrenOf(readElement(raw), tags.sequence);
  const [, serial, , issuer, ...more] = childrenOf(body, tags.sequence);
  const explicit = more.find(({ tag }) => tag === tags.context3);
  const extensions = explicit ? childrenOf(childrenOf(explicit, tags.context3)[0], tags.sequence) : [];
  const name = derOf(tags.sequence, encodeElement(existing(issuer)), encodeElement(existing(serial)));
  const x509 = new X509Certificate(raw);
  // Node looks for PEM first, anywhere in the bytes: both readers must have read the same certificate.
  insist(x509.raw.equals(raw));
  return { x509, extensions, name };
}

function hasOid(extensions: readonly Element[], oid: Buffer): boolean {
  return extensions.some(({ children }) => isOid(children[0], oid));
}

/** Reports whether the signer names this certificate, by issuer and serial number. */
function isNamedBy(signer: Element, { name }: { readonly name: Buffer }): boolean {
  const [version, id] = signer.children;
  return isOne(version) && id !== undefined && encodeElement(id).equals(name);
}

/** Returns the signed content, and its signature. Throws if a field has another value than in Apple's signatures. */
function readAttributes(signer: Element) {
  return orMalformed(() => {
    const [, , digest, attributes, algorithm, signature, ...none] = childrenOf(signer, tags.sequence);
    insist(isSha256(digest) && none.length === 0);
    insist(encodeElement(existing(algorithm)).equals(derOf(tags.sequence, oids.ecdsaWithSha256)));
    const all = childrenOf(attributes, tags.context0);
    /** Returns the only value of an attribute that occurs once. */
    const only = (oid: Buffer): Element => {
      const [attribute, ...repeated] = all.filter(({ children }) => isOid(children[0], oid));
      const [value, ...values] = childrenOf(attribute?.children[1], tags.set);
      insist(repeated.length === 0 && values.length === 0);
      return existing(value);
    };
    insist(isOid(only(oids.contentType), oids.data));
    return {
      // The attributes as a SET (RFC 5652, 5.4).
      signedBytes: encodeElement(existing(attributes), tags.set),
      signature: contentOf(signature, tags.octets),
      digest: contentOf(only(oids.messageDigest), tags.octets),
      signedAt: readTime(only(oids.signingTime)),
    };
  });
}

function readTime(time: Element): Date {
  const text = time.content.toString("latin1");
  // UTCTime has years from 1950 to 2049, and Apple's tokens none before 2014 (X.690, 11.8).
  const full = time.tag === tags.utcTime ? `20${text}` : text;
  insist(time.tag === tags.utcTime || time.tag === tags.time);
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  insist(!Number.isNaN(at.getTime()));
  return at;
}

function isIssued(certificate: X509Certificate, issuer: X509Certificate, at: Date): boolean {
  return (
    issuer.ca && isValidAt(certificate, at) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  );
}

function isValidAt({ validFrom, validTo }: X509Certificate, at: Date): boolean {
  return new Date(validFrom) <= at && at <= new Date(validTo);
}

function childrenOf(element: Element | undefined, tag: number): readonly Element[] {
  insist(element?.tag === tag);
  return existing(element).children;
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  insist(element?.tag === tag);
  return existing(element).content;
}

function isOid(element: Element | undefined, oid: Buffer): boolean {
  return element?.raw.equals(oid) === true;
}

function isOne(element: Element | undefined): boolean {
  return element?.raw.equals(one) === true;
}

function isSha256(element: Element | undefined): boolean {
  return element !== undefined && sha256Algorithms.some((known) => known.equals(encodeElement(element)));
}

function existing<Value>(value: Value | undefined): Value {
  if (value === undefined) throw refused("form");
  return value;
}

function insist(holds: boolean): void {
  if (!holds) throw refused("form");
}

/** Turns every error of a reader for malformed bytes into one check. */
function orMalformed<Result>(read: () => Result): Result {
  try {
    return read();
  } catch {
    throw refused("form");
  }
}

function refused(check: WalletCheck): RefusedToken {
  return new RefusedToken("apple_pay", check);
}
