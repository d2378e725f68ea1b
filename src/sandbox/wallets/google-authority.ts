/**
 * Signs and encrypts as Google Pay does (ECv2), under its own root keys. It can break each rule that a vault checks.
 */
import {
  createCipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

const day = 24 * 3_600_000;

type KeyPair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject };

/** A payment as Google encrypts it. */
export type GooglePayment = {
  /** The merchant's key and id. */
  readonly publicKey: KeyObject;
  readonly recipient: string;
  readonly number: string;
  /** Present if the number is a device's. */
  readonly cryptogram?: string | undefined;
  readonly eci?: string | undefined;
};

/** The ways in which a token differs from Google's. */
export type GoogleTokenChange = {
  readonly intermediateEndsAt?: Date;
  /** The protocol for which the intermediate key is signed. */
  readonly intermediateProtocol?: string;
  /** Signs the intermediate key, in place of the root. */
  readonly root?: KeyObject;
  readonly messageEndsAt?: Date;
  readonly messageId?: string;
  /** Members of the decrypted content, and of its `paymentMethodDetails`. */
  readonly content?: object;
  readonly details?: object;
  readonly tag?: Buffer;
  /** Signs the message, in place of the intermediate key. */
  readonly signer?: KeyObject;
  /** Cuts the signed parts of the message differently. */
  readonly partsOf?: (parts: readonly string[]) => readonly string[];
  readonly token?: object;
};

export class GoogleAuthority {
  readonly #root: KeyPair;
  readonly #intermediate: KeyPair = newPair();
  readonly #endsAt: Date;

  /** `root` is a private key in PEM, of an authority before. */
  constructor({
    endsAt = new Date(Date.now() + 365 * day),
    root,
  }: { readonly endsAt?: Date; readonly root?: string } = {}) {
    this.#endsAt = endsAt;
    this.#root =
      root === undefined ? newPair() : { privateKey: createPrivateKey(root), publicKey: createPublicKey(root) };
  }

  /** Returns what makes the same authority again. */
  save(): { readonly root: string; readonly endsAt: number } {
    const root = this.#root.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
    return { root, endsAt: this.#endsAt.getTime() };
  }

  /** The root keys in the form in which Google serves them. */
  get keys(): { readonly keys: readonly object[] } {
    const keyValue = spkiOf(this.#root.publicKey).toString("base64");
    const keyExpiration = String(this.#endsAt.getTime());
    return { keys: [{ keyValue, protocolVersion: "ECv2", keyExpiration }] };
  }

  makeToken(payment: GooglePayment, change: GoogleTokenChange = {}): string {
    const { publicKey, recipient, number: pan, cryptogram, eci: eciIndicator } = payment;
    const content = JSON.stringify({
      gatewayMerchantId: undefined,
      messageExpiration: String((change.messageEndsAt ?? new Date(Date.now() + 7 * day)).getTime()),
      messageId: change.messageId ?? randomBytes(24).toString("base64url"),
      paymentMethod: "CARD",
      paymentMethodDetails: {
        expirationYear: new Date().getUTCFullYear() + 2,
        expirationMonth: 12,
        pan,
        authMethod: cryptogram === undefined ? "PAN_ONLY" : "CRYPTOGRAM_3DS",
        cryptogram,
        eciIndicator,
        ...change.details,
      },
      ...change.content,
    });
    const signedMessage = JSON.stringify(encrypt(content, publicKey, change.tag));
    const intermediateEndsAt = change.intermediateEndsAt ?? new Date(Date.now() + 7 * day);
    const signedKey = JSON.stringify({
      keyValue: spkiOf(this.#intermediate.publicKey).toString("base64"),
      keyExpiration: String(intermediateEndsAt.getTime()),
    });
    const ofKey = signParts(
      ["Google", change.intermediateProtocol ?? "ECv2", signedKey],
      change.root ?? this.#root.privateKey,
    );
    const { partsOf = (parts) => parts } = change;
    const ofMessage = partsOf(["Google", `merchant:${recipient}`, "ECv2", signedMessage]);
    return JSON.stringify({
      signature: signParts(ofMessage, change.signer ?? this.#intermediate.privateKey),
      intermediateSigningKey: { signedKey, signatures: [ofKey] },
      protocolVersion: "ECv2",
      signedMessage,
      ...change.token,
    });
  }
}

export function newPair(): KeyPair {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}

function signParts(parts: readonly string[], key: KeyObject): string {
  const bytes = parts.flatMap((part) => {
    const text = Buffer.from(part);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return [length, text];
  });
  return sign("sha256", Buffer.concat(bytes), key).toString("base64");
}

const pointBytes = 65;

function encrypt(content: string, publicKey: KeyObject, forgedTag: Buffer | undefined) {
  const ephemeral = newPair();
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey });
  const point = spkiOf(ephemeral.publicKey).subarray(-pointBytes);
  const keys = Buffer.from(hkdfSync("sha256", Buffer.concat([point, shared]), Buffer.alloc(32), "Google", 64));
  const cipher = createCipheriv("aes-256-ctr", keys.subarray(0, 32), Buffer.alloc(16));
  const encrypted = Buffer.concat([cipher.update(content), cipher.final()]);
  const tag = forgedTag ?? createHmac("sha256", keys.subarray(32)).update(encrypted).digest();
  return {
    encryptedMessage: encrypted.toString("base64"),
    ephemeralPublicKey: point.toString("base64"),
    tag: tag.toString("base64"),
  };
}

function spkiOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: "der", type: "spki" });
}
