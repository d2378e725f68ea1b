/** Public identifiers: TypeIDs, a prefix and a UUIDv7 in Crockford base32 (https://github.com/jetify-com/typeid/tree/main/spec, 0.3.0). */

export type IdPrefix =
  | "ps"
  | "atn"
  | "att"
  | "ref"
  | "evt"
  | "we"
  | "gc"
  | "mer"
  | "req"
  | "key"
  | "aud"
  | "op"
  | "wi"
  | "cmp"
  | "ntc"
  | "mbr"
  | "inv"
  | "sgn"
  | "blk"
  | "pm"
  | "agr"
  | "rl"
  | "dsp"
  | "pout"
  | "rsp"
  | "file"
  | "apv";

declare const kind: unique symbol;

/**
 * The UUID of a row, as the database has it. Its type names the table, so that an attempt's id where a session's belongs does
 * not compile. A plain string is accepted for any of them.
 */
export type Id<Prefix extends IdPrefix> = string & { readonly [kind]?: Prefix };

export type SessionId = Id<"ps">;
export type AuthenticationId = Id<"atn">;
export type AttemptId = Id<"att">;
export type RefundId = Id<"ref">;
export type DisputeId = Id<"dsp">;
export type PayoutId = Id<"pout">;
/** Names a call that waits for a second person. */
export type ApprovalId = Id<"apv">;
/** Names an acceptance, or evidence. */
export type DisputeResponseId = Id<"rsp">;
/** Names a file for evidence. */
export type DisputeFileId = Id<"file">;
export type EventId = Id<"evt">;
export type EndpointId = Id<"we">;
/** Names an account at a gateway or a provider of authentication. */
export type ConnectionId = Id<"gc">;
export type MerchantId = Id<"mer">;
export type RequestId = Id<"req">;
export type KeyId = Id<"key">;
export type AuditId = Id<"aud">;
export type OperatorId = Id<"op">;
export type WorkItemId = Id<"wi">;
export type ReconciliationId = Id<"cmp">;
export type AlertId = Id<"ntc">;
export type MemberId = Id<"mbr">;
export type InvitationId = Id<"inv">;
export type SignInId = Id<"sgn">;
export type BlockId = Id<"blk">;
/** Names a stored card. */
export type MethodId = Id<"pm">;
export type AgreementId = Id<"agr">;
/** Names a link to pay a charge of an agreement. */
export type RecoveryLinkId = Id<"rl">;

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
// The first of the 26 digits carries only 3 bits and so is at most 7.
const suffixPattern = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

// The value of each character by its code. The first 16 are the hexadecimal digits too.
const digitValue = new Uint8Array(128);
for (const [value, digit] of [...alphabet].entries()) digitValue[digit.charCodeAt(0)] = value;

const hyphen = "-".charCodeAt(0);
// The number of hexadecimal digits before each hyphen of a UUID.
const beforeHyphen = new Set([8, 12, 16, 20]);

/** Returns a public id: `ps` and a UUID give `ps_01h2xcejqtf2nbrexx3vqjhp41`. */
export function encodeId<Prefix extends IdPrefix>(prefix: Prefix, uuid: Id<NoInfer<Prefix>>): string {
  let suffix = "";
  // Two zero bits before the 128 of the UUID make 26 digits of 5.
  let bits = 0;
  let bitsHeld = 2;
  for (let index = 0; index < uuid.length; index++) {
    const code = uuid.charCodeAt(index);
    if (code === hyphen) continue;
    bits = (bits << 4) | digitValue[code]!;
    bitsHeld += 4;
    if (bitsHeld < 5) continue;
    bitsHeld -= 5;
    suffix += alphabet[bits >> bitsHeld];
    bits &= (1 << bitsHeld) - 1;
  }
  return `${prefix}_${suffix}`;
}

/** Returns the UUID of a public identifier, of any version, or undefined if it is not one with this prefix. */
export function decodeId<Prefix extends IdPrefix>(prefix: Prefix, id: string): Id<Prefix> | undefined {
  const suffix = id.slice(prefix.length + 1);
  if (!id.startsWith(`${prefix}_`) || !suffixPattern.test(suffix)) return undefined;
  let uuid = "";
  let digits = 0;
  let bits = 0;
  // The two zero bits are no part of the UUID.
  let bitsHeld = -2;
  for (let index = 0; index < suffix.length; index++) {
    bits = (bits << 5) | digitValue[suffix.charCodeAt(index)]!;
    for (bitsHeld += 5; bitsHeld >= 4; bitsHeld -= 4) {
      if (beforeHyphen.has(digits)) uuid += "-";
      uuid += alphabet[(bits >> (bitsHeld - 4)) & 15];
      digits++;
    }
    bits &= 15;
  }
  return uuid;
}
