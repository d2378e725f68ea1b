/** Verifies claims that are signed with Ed25519, as a JWS in compact form (RFC 7515, 3.1; RFC 8037, 3.1). */
import { type KeyObject, verify } from "node:crypto";

/** The environment of signed claims; they are valid in no other. */
export type EnvironmentName = "test" | "live";

/** An Ed25519 public key and its environment: a test key cannot sign anything for live. */
export type VerificationKey = {
  readonly kid: string;
  readonly environment: EnvironmentName;
  readonly publicKey: KeyObject;
};

/** Claims with their expiry, in seconds as every time in them. */
type Claims = Readonly<Record<string, unknown>> & { readonly exp: number; readonly iat?: number };

/** The claims with the key that signed them, or why they are not valid. Only our own claims are refused by the clock. */
export type VerifiedClaims =
  | { readonly refused?: undefined; readonly claims: Claims; readonly key: VerificationKey }
  | { readonly refused: "malformed" | "unknown_key" | "clock"; readonly issuedAt?: number | undefined };

/** Allows for clocks of two machines that differ by a few seconds. */
export const clockToleranceSeconds = 5;

/** Verifies a token on this thread: it takes half of the time that Web Crypto's threads take for one so short. */
export function verifyClaims(
  token: string,
  {
    keys,
    typ,
    audienceOf,
    ageMaxSeconds,
  }: {
    readonly keys: readonly VerificationKey[];
    readonly typ: string;
    /** Keys of two environments may have one name: the audience selects the key. */
    readonly audienceOf?: (environment: EnvironmentName) => string;
    /** The claims must say when they were signed. */
    readonly ageMaxSeconds?: number;
  },
): VerifiedClaims {
  const [, head, body, signature] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token) ?? [];
  const [header, claims] = [parse(head), parse(body)];
  if (!header || !claims || !signature) return { refused: "malformed" };
  // A critical extension would be one that changes the meaning of the rest.
  if (header.alg !== "EdDSA" || header.crit !== undefined) return { refused: "malformed" };
  const key = keys.find(
    ({ kid, environment }) => kid === header.kid && (!audienceOf || claims.aud === audienceOf(environment)),
  );
  if (key?.publicKey.asymmetricKeyType !== "ed25519") return { refused: "unknown_key" };
  const signed = Buffer.from(`${head}.${body}`);
  if (!verify(null, signed, key.publicKey, Buffer.from(signature, "base64url"))) return { refused: "unknown_key" };

  const { exp, iat, nbf } = claims;
  if (!isTyp(header.typ, typ) || !isTime(exp) || !isTime(iat ?? 0) || !isTime(nbf ?? 0))
    return { refused: "malformed" };
  if (ageMaxSeconds !== undefined && !isTime(iat)) return { refused: "malformed" };
  const now = Math.floor(Date.now() / 1_000);
  const [from, until] = [now - clockToleranceSeconds, now + clockToleranceSeconds];
  const isOver = exp <= from || (isTime(iat) && ageMaxSeconds !== undefined && iat + ageMaxSeconds < from);
  const isEarly = (isTime(nbf) && nbf > until) || (isTime(iat) && ageMaxSeconds !== undefined && iat > until);
  if (isOver || isEarly) return { refused: "clock", issuedAt: isTime(iat) ? iat : undefined };
  return { claims: claims as Claims, key };
}

function parse(part: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? "", "base64url").toString());
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === "number";
}

// Its media type may be written whole and in any case (RFC 7515, 4.1.9).
function isTyp(given: unknown, typ: string): boolean {
  return typeof given === "string" && given.toLowerCase().replace(/^application\//, "") === typ;
}
