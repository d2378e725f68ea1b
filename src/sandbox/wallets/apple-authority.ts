/**
 * An authority that issues and signs as Apple does, with Apple's object identifiers and under its own root, and the
 * phone that encrypts a payment for a merchant. It can break each rule that a vault checks.
 */
import {
  createCipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  KeyObject,
  randomBytes,
  X509Certificate,
} from "node:crypto";
import { Integer, Null, ObjectIdentifier, OctetString, UTCTime, Utf8String } from "asn1js";
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  CertificationRequest,
  ContentInfo,
  EncapsulatedContentInfo,
  Extension,
  IssuerAndSerialNumber,
  SignedAndUnsignedAttributes,
  SignedData,
  SignerInfo,
} from "pkijs";
import { sha256 } from "../../platform/secrets.ts";

const oids = {
  commonName: "2.5.4.3",
  userId: "0.9.2342.19200300.100.1.1",
  basicConstraints: "2.5.29.19",
  paymentLeaf: "1.2.840.113635.100.6.29",
  applicationIntermediate: "1.2.840.113635.100.6.2.14",
  merchantHash: "1.2.840.113635.100.6.32",
  data: "1.2.840.113549.1.7.1",
  signedData: "1.2.840.113549.1.7.2",
  contentType: "1.2.840.113549.1.9.3",
  messageDigest: "1.2.840.113549.1.9.4",
  signingTime: "1.2.840.113549.1.9.5",
  sha256: "2.16.840.1.101.3.4.2.1",
};

const day = 24 * 3_600_000;

export type Issuer = { readonly certificate: Certificate; readonly privateKey: CryptoKey };

/** A certificate as a signature contains it. */
type SentCertificate = Pick<Certificate, "toSchema">;

type CertificateOf = {
  readonly name: string;
  readonly userId?: string | undefined;
  /** Signs it; undefined for a root, which signs itself. */
  readonly issuer?: Issuer | undefined;
  readonly isCa?: boolean;
  readonly extensions?: readonly { readonly oid: string; readonly value: Uint8Array }[];
  /** An attribute of its subject, beside its name. */
  readonly attribute?: string | undefined;
  readonly from?: Date;
  readonly to?: Date;
};

const curve = { name: "ECDSA", namedCurve: "P-256" } as const;
const derNull = new Uint8Array([5, 0]);

async function issue(publicKey: CryptoKey, signingKey: CryptoKey, of: CertificateOf): Promise<Certificate> {
  const certificate = new Certificate();
  certificate.version = 2;
  certificate.serialNumber = new Integer({ valueHex: new Uint8Array([1, ...randomBytes(7)]).buffer });
  const named = (type: string, value: string) =>
    certificate.subject.typesAndValues.push(new AttributeTypeAndValue({ type, value: new Utf8String({ value }) }));
  if (of.userId !== undefined) named(oids.userId, of.userId);
  named(oids.commonName, of.name);
  if (of.attribute !== undefined) named(of.attribute, "x");
  certificate.issuer = of.issuer?.certificate.subject ?? certificate.subject;
  certificate.notBefore.value = of.from ?? new Date(Date.now() - 365 * day);
  certificate.notAfter.value = of.to ?? new Date(Date.now() + 365 * day);
  const constraints = new BasicConstraints({ cA: of.isCa ?? false });
  const extensions = [{ oid: oids.basicConstraints, value: new Uint8Array(constraints.toSchema().toBER()) }];
  certificate.extensions = [...extensions, ...(of.extensions ?? [])].map(
    ({ oid, value }) => new Extension({ extnID: oid, critical: false, extnValue: new Uint8Array(value).buffer }),
  );
  await certificate.subjectPublicKeyInfo.importKey(publicKey);
  await certificate.sign(signingKey, "SHA-256");
  return certificate;
}

async function issueWithKey(of: CertificateOf): Promise<Issuer> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(curve, true, ["sign", "verify"]);
  return { certificate: await issue(publicKey, of.issuer?.privateKey ?? privateKey, of), privateKey };
}

function pemOf(certificate: Certificate): string {
  return new X509Certificate(derOf(certificate)).toString();
}

function derOf(certificate: Certificate): Buffer {
  return Buffer.from(certificate.toSchema(true).toBER());
}

/** The ways in which an authority differs from Apple. */
export type AuthorityChange = {
  /** Signs under the root of another authority. */
  readonly root?: Issuer;
  readonly leafOid?: string | undefined;
  readonly intermediateOid?: string | undefined;
  /** A second extension of the leaf. */
  readonly leafOidToo?: string;
  readonly leafAttribute?: string;
  readonly intermediateIsCa?: boolean;
  /** The start of the leaf's certificate, and of the intermediate's. */
  readonly leafStartsAt?: Date;
  readonly intermediateStartsAt?: Date;
  /** The end of the leaf's certificate, of the intermediate's, or of the root's. */
  readonly leafEndsAt?: Date;
  readonly intermediateEndsAt?: Date;
  readonly rootEndsAt?: Date;
  /** Issues the leaf, in place of the intermediate that is sent with it. */
  readonly leafIssuer?: Issuer;
};

/** A payment as the phone encrypts it. */
export type ApplePayment = {
  /** The merchant's key and identifier. */
  readonly publicKey: KeyObject;
  readonly recipient: string;
  readonly number: string;
  readonly cryptogram?: string;
  readonly eci?: string | undefined;
  readonly currencyCode: string;
  readonly amountMinor: number;
  /** The sheet's `applicationData`. */
  readonly binding?: Uint8Array | undefined;
};

/** The ways in which a token differs from Apple's. */
export type TokenChange = {
  readonly signedAt?: Date;
  readonly transactionId?: Buffer;
  /** The number of its signers; 1 by default. */
  readonly signers?: number;
  readonly certificates?: readonly SentCertificate[];
  /** The algorithm of digest and signature. */
  readonly hash?: string;
  /** The digest of the content in the signed attributes. */
  readonly digest?: Buffer;
  /** Members of the decrypted content. */
  readonly content?: object;
  readonly header?: object;
  readonly token?: object;
};

/** Root, intermediate and leaf, in base64 of DER. */
export type SavedAuthority = readonly { readonly certificate: string; readonly privateKey: string }[];

export class AppleAuthority {
  readonly root: Issuer;
  readonly #intermediate: Issuer;
  readonly #leaf: Issuer;

  private constructor(root: Issuer, intermediate: Issuer, leaf: Issuer) {
    this.root = root;
    this.#intermediate = intermediate;
    this.#leaf = leaf;
  }

  static async create(change: AuthorityChange = {}): Promise<AppleAuthority> {
    const { leafOid = oids.paymentLeaf, intermediateOid = oids.applicationIntermediate } = change;
    const ends = (to: Date | undefined, from?: Date) => ({ ...(to && { to }), ...(from && { from }) });
    const extension = (oid: string) => ({ oid, value: derNull });
    const root =
      change.root ?? (await issueWithKey({ name: "Emulated Root CA", isCa: true, ...ends(change.rootEndsAt) }));
    const intermediate = await issueWithKey({
      name: "Emulated Application Integration CA",
      issuer: root,
      isCa: change.intermediateIsCa ?? true,
      extensions: [extension(intermediateOid)],
      ...ends(change.intermediateEndsAt, change.intermediateStartsAt),
    });
    const leaf = await issueWithKey({
      name: "emulated-payment-signer",
      issuer: change.leafIssuer ?? intermediate,
      extensions: [leafOid, ...(change.leafOidToo ? [change.leafOidToo] : [])].map(extension),
      attribute: change.leafAttribute,
      ...ends(change.leafEndsAt, change.leafStartsAt),
    });
    return new AppleAuthority(root, intermediate, leaf);
  }

  /** Returns what makes the same authority again. */
  async save(): Promise<SavedAuthority> {
    const issuers = [this.root, this.#intermediate, this.#leaf];
    return Promise.all(
      issuers.map(async ({ certificate, privateKey }) => ({
        certificate: derOf(certificate).toString("base64"),
        privateKey: Buffer.from(await crypto.subtle.exportKey("pkcs8", privateKey)).toString("base64"),
      })),
    );
  }

  static async restore(saved: SavedAuthority): Promise<AppleAuthority> {
    const [root, intermediate, leaf] = await Promise.all(
      saved.map(async ({ certificate, privateKey }) => ({
        certificate: Certificate.fromBER(new Uint8Array(Buffer.from(certificate, "base64")).buffer),
        privateKey: await crypto.subtle.importKey("pkcs8", Buffer.from(privateKey, "base64"), curve, true, ["sign"]),
      })),
    );
    return new AppleAuthority(root!, intermediate!, leaf!);
  }

  get rootPem(): string {
    return pemOf(this.root.certificate);
  }

  get certificates(): { readonly leaf: Certificate; readonly intermediate: Certificate } {
    return { leaf: this.#leaf.certificate, intermediate: this.#intermediate.certificate };
  }

  get intermediate(): Issuer {
    return this.#intermediate;
  }

  /** Issues the certificate of a payment processing key, for a signing request in PEM. */
  async issueFor(
    signingRequest: string,
    recipient: string,
    change: { readonly from?: Date; readonly to?: Date; readonly userId?: string; readonly hashOf?: string } = {},
  ): Promise<Buffer> {
    const der = Buffer.from(signingRequest.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
    const request = CertificationRequest.fromBER(new Uint8Array(der).buffer);
    if (!(await request.verify())) throw new Error("the signing request is not signed by its own key");
    const hash = sha256(change.hashOf ?? recipient)
      .toString("hex")
      .toUpperCase();
    const certificate = await issue(await request.getPublicKey(), this.#intermediate.privateKey, {
      name: `Apple Pay Payment Processing:${recipient}`,
      userId: change.userId ?? recipient,
      issuer: this.#intermediate,
      extensions: [{ oid: oids.merchantHash, value: new Uint8Array(new Utf8String({ value: hash }).toBER()) }],
      ...(change.from && { from: change.from }),
      ...(change.to && { to: change.to }),
    });
    return derOf(certificate);
  }

  /** Returns `paymentData` as text. */
  async makeToken(payment: ApplePayment, change: TokenChange = {}): Promise<string> {
    const { publicKey, recipient, binding } = payment;
    const content = JSON.stringify({
      applicationPrimaryAccountNumber: payment.number,
      applicationExpirationDate: `${(new Date().getUTCFullYear() + 2) % 100}1231`,
      currencyCode: payment.currencyCode,
      transactionAmount: payment.amountMinor,
      deviceManufacturerIdentifier: "040010030273",
      paymentDataType: "3DSecure",
      paymentData: {
        onlinePaymentCryptogram: payment.cryptogram ?? randomBytes(20).toString("base64"),
        eciIndicator: payment.eci,
      },
      ...change.content,
    });
    const { data, ephemeralPublicKey } = encrypt(content, publicKey, recipient);
    const transactionId = change.transactionId ?? randomBytes(32);
    const parts = [ephemeralPublicKey, data, transactionId, ...(binding ? [sha256(binding)] : [])];
    const signature = await this.#sign(Buffer.concat(parts), change);
    return JSON.stringify({
      data: data.toString("base64"),
      signature: signature.toString("base64"),
      header: {
        publicKeyHash: sha256(spkiOf(publicKey)).toString("base64"),
        ephemeralPublicKey: ephemeralPublicKey.toString("base64"),
        transactionId: transactionId.toString("hex"),
        applicationData: binding && sha256(binding).toString("hex"),
        ...change.header,
      },
      version: "EC_v1",
      ...change.token,
    });
  }

  /** Signs a token again, as it is now. */
  async signAnew(token: {
    readonly data: string;
    readonly header: { readonly [name: string]: string | undefined };
  }): Promise<string> {
    const { ephemeralPublicKey = "", transactionId = "", applicationData = "" } = token.header;
    const parts = [
      Buffer.from(ephemeralPublicKey, "base64"),
      Buffer.from(token.data, "base64"),
      ...[transactionId, applicationData].map((hex) => Buffer.from(hex, "hex")),
    ];
    const signature = await this.#sign(Buffer.concat(parts), {});
    return JSON.stringify({ ...token, signature: signature.toString("base64") });
  }

  async #sign(
    content: Buffer,
    { signedAt = new Date(), signers = 1, digest, certificates, hash = "SHA-256" }: TokenChange,
  ): Promise<Buffer> {
    const { certificate, privateKey } = this.#leaf;
    const attribute = (type: string, value: object) => new Attribute({ type, values: [value] });
    const signer = () =>
      new SignerInfo({
        version: 1,
        sid: new IssuerAndSerialNumber({ issuer: certificate.issuer, serialNumber: certificate.serialNumber }),
        signedAttrs: new SignedAndUnsignedAttributes({
          type: 0,
          attributes: [
            attribute(oids.contentType, new ObjectIdentifier({ value: oids.data })),
            attribute(oids.signingTime, new UTCTime({ valueDate: signedAt })),
            attribute(
              oids.messageDigest,
              new OctetString({ valueHex: new Uint8Array(digest ?? sha256(content)).buffer }),
            ),
          ],
        }),
      });
    const signed = new SignedData({
      version: 1,
      encapContentInfo: new EncapsulatedContentInfo({ eContentType: oids.data }),
      digestAlgorithms: [new AlgorithmIdentifier({ algorithmId: oids.sha256, algorithmParams: new Null() })],
      signerInfos: Array.from({ length: signers }, signer),
      certificates: [...(certificates ?? [certificate, this.#intermediate.certificate])] as Certificate[],
    });
    for (let at = 0; at < signers; at++) await signed.sign(privateKey, at, hash, new Uint8Array(content).buffer);
    signed.digestAlgorithms.splice(1);
    const info = new ContentInfo({ contentType: oids.signedData, content: signed.toSchema(true) });
    return Buffer.from(info.toSchema().toBER());
  }
}

function encrypt(content: string, publicKey: KeyObject, recipient: string) {
  const ephemeral = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey });
  const algorithm = Buffer.from("\x0did-aes256-GCMApple", "latin1");
  const key = sha256(Buffer.concat([Buffer.from([0, 0, 0, 1]), shared, algorithm, sha256(recipient)]));
  const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(16));
  const data = Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  return { data, ephemeralPublicKey: spkiOf(ephemeral.publicKey) };
}

function spkiOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: "der", type: "spki" });
}

export async function publicKeyOf(signingRequest: string): Promise<KeyObject> {
  const der = Buffer.from(signingRequest.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
  const request = CertificationRequest.fromBER(new Uint8Array(der).buffer);
  return KeyObject.from(await request.getPublicKey());
}

/** Returns the public key whose uncompressed point this is, in base64, as Google registers it. */
export function publicKeyOfPoint(point: string): KeyObject {
  const bytes = Buffer.from(point, "base64");
  const x = bytes.subarray(1, 33).toString("base64url");
  const y = bytes.subarray(33).toString("base64url");
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
}
