/** A software passkey device: it makes one P-256 key and signs with it, correctly or with chosen errors. */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** The wrong facts in an answer, for tests of refusals. */
export type Lie = {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly challenge?: string;
  readonly isVerified?: boolean;
  readonly count?: number;
  readonly userHandle?: string;
};

type Options = { challenge: string; rp?: { id: string }; rpId?: string; user?: { id: string } };

const text = (value: string) => head(3, Buffer.byteLength(value), Buffer.from(value));
const bytes = (value: Buffer) => head(2, value.length, value);
const map = (...pairs: Buffer[]) => head(5, pairs.length / 2, Buffer.concat(pairs));

/** CBOR's first bytes of a value: its kind, and a number below 65 536 (RFC 8949, 3). */
function head(kind: number, count: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const start = kind << 5;
  if (count < 24) return Buffer.concat([Buffer.from([start | count]), rest]);
  if (count < 256) return Buffer.concat([Buffer.from([start | 24, count]), rest]);
  return Buffer.concat([Buffer.from([start | 25, count >> 8, count & 255]), rest]);
}
const whole = (value: number) => (value >= 0 ? head(0, value) : head(1, -1 - value));

const encode = (value: Buffer | string) => Buffer.from(value).toString("base64url");
const sha256 = (value: Buffer | string) => createHash("sha256").update(value).digest();

export class Authenticator {
  readonly #origin: string;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #id = randomBytes(32);
  #count = 1;
  #userHandle = "";

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Answers as `navigator.credentials.create` does. */
  create(optionsJson: string, lie: Lie = {}): string {
    const options = JSON.parse(optionsJson) as Options;
    this.#userHandle = options.user!.id;
    const { x, y } = this.#keys.publicKey.export({ format: "jwk" });
    const point = (part: string | undefined) => bytes(Buffer.from(part!, "base64url"));
    // COSE: kty EC2, alg ES256, crv P-256 (RFC 9053, 7.1.1).
    const key = map(
      whole(1),
      whole(2),
      whole(3),
      whole(-7),
      whole(-1),
      whole(1),
      whole(-2),
      point(x),
      whole(-3),
      point(y),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.#id.length);
    const made = Buffer.concat([Buffer.alloc(16), length, this.#id, key]);
    const data = Buffer.concat([this.#data(lie.rpId ?? options.rp!.id, lie, 0x40), made]);
    const attestationObject = map(text("fmt"), text("none"), text("attStmt"), map(), text("authData"), bytes(data));
    return this.#answer({
      clientDataJSON: encode(this.#clientData("webauthn.create", options, lie)),
      attestationObject: encode(attestationObject),
      transports: ["internal", "made-up"],
    });
  }

  /** Answers as `navigator.credentials.get` does. */
  get(optionsJson: string, lie: Lie = {}): string {
    const options = JSON.parse(optionsJson) as Options;
    this.#count += 1;
    const clientData = this.#clientData("webauthn.get", options, lie);
    const data = this.#data(lie.rpId ?? options.rpId!, lie, 0);
    const signature = sign("sha256", Buffer.concat([data, sha256(clientData)]), this.#keys.privateKey);
    return this.#answer({
      clientDataJSON: encode(clientData),
      authenticatorData: encode(data),
      signature: encode(signature),
      userHandle: lie.userHandle ?? this.#userHandle,
    });
  }

  #clientData(type: string, { challenge }: Options, lie: Lie): string {
    return JSON.stringify({
      type: lie.type ?? type,
      challenge: lie.challenge ?? challenge,
      origin: lie.origin ?? this.#origin,
      crossOrigin: false,
    });
  }

  /**
   * Hash of the host, flags (present 1, verified 4), count: https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data
   */
  #data(rpId: string, { isVerified = true, count = this.#count }: Lie, more: number): Buffer {
    const counted = Buffer.alloc(4);
    counted.writeUInt32BE(count);
    return Buffer.concat([sha256(rpId), Buffer.from([1 | (isVerified ? 4 : 0) | more]), counted]);
  }

  #answer(response: object): string {
    const id = encode(this.#id);
    return JSON.stringify({ id, rawId: id, type: "public-key", clientExtensionResults: {}, response });
  }
}
