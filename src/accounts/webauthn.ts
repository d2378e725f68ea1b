/** Options for passkeys and verification of their answers: by WebAuthn, with user verification required. */

import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { MemberId } from "../platform/ids.ts";
import type { Member } from "./members.ts";
import { challengeLifetimeMs } from "./passkey-challenges.ts";
import type { HeldPasskey, NewPasskey, Passkey } from "./passkeys.ts";

/** The site that requests passkeys: they are created for its host name, and answer to its origin only. */
export type RelyingParty = { readonly origin: string; readonly name: string };

const hostOf = ({ origin }: RelyingParty) => new URL(origin).hostname;

// Loaded at the first use: most processes never need it, and it takes a part of a second.
const library = () => import("@simplewebauthn/server");
const helpers = () => import("@simplewebauthn/server/helpers");

/** Returns the options of `navigator.credentials.create`, in JSON. */
export async function writeCreation(
  party: RelyingParty,
  { member, known, challenge }: { member: Member; known: readonly Passkey[]; challenge: string },
): Promise<string> {
  const { generateRegistrationOptions } = await library();
  const options = await generateRegistrationOptions({
    rpName: party.name,
    rpID: hostOf(party),
    userID: userHandleOf(member.id),
    userName: member.email,
    userDisplayName: member.name,
    challenge: bytesOf(challenge),
    timeout: challengeLifetimeMs,
    attestationType: "none",
    excludeCredentials: known.map(described),
    // The authenticator can name the account by itself, and asks for PIN, finger or face.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return JSON.stringify(options);
}

/** Returns the options of `navigator.credentials.get` in JSON: for these passkeys, or for any without them. */
export async function writeRequest(
  party: RelyingParty,
  { known, challenge }: { known: readonly Passkey[]; challenge: string },
): Promise<string> {
  const { generateAuthenticationOptions } = await library();
  const options = await generateAuthenticationOptions({
    rpID: hostOf(party),
    challenge: bytesOf(challenge),
    timeout: challengeLifetimeMs,
    allowCredentials: known.map(described),
    userVerification: "required",
  });
  return JSON.stringify(options);
}

export type Answer<Response> = { readonly response: Response; readonly challenge: string; readonly id: Buffer };
export type CreationAnswer = Answer<RegistrationResponseJSON>;
export type RequestAnswer = Answer<AuthenticationResponseJSON>;

/** Parses an answer and the challenge that it claims to answer; undefined if it is malformed. */
export function parseAnswer<Response extends CreationAnswer["response"] | RequestAnswer["response"]>(
  text: string,
): Answer<Response> | undefined {
  try {
    const response = JSON.parse(text) as Response;
    const { challenge } = JSON.parse(bytesOf(response.response.clientDataJSON).toString("utf8"));
    if (typeof challenge !== "string" || typeof response.id !== "string") return undefined;
    return { response, challenge, id: bytesOf(response.id) };
  } catch {
    // The text is no JSON, or JSON of another form.
    return undefined;
  }
}

/** Returns the passkey that an authenticator has created; undefined if the answer is invalid. */
export async function verifyCreation(
  party: RelyingParty,
  { response, challenge }: CreationAnswer,
): Promise<Omit<NewPasskey, "memberId" | "name"> | undefined> {
  const { verifyRegistrationResponse } = await library();
  try {
    // We request no attestation, and the library would process the certificates of one that was sent anyway.
    if (!(await hasNoCertificates(response))) return undefined;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: hostOf(party),
      requireUserVerification: true,
    });
    if (!verified) return undefined;
    const { credential, credentialBackedUp } = registrationInfo;
    return {
      id: bytesOf(credential.id),
      publicKey: credential.publicKey,
      signCount: credential.counter,
      transports: knownTransports.filter((transport) => credential.transports?.includes(transport)),
      isSynced: credentialBackedUp,
    };
  } catch {
    // The library throws for every fault of an answer.
    return undefined;
  }
}

async function hasNoCertificates({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject } = await helpers();
  const attestation = decodeAttestationObject(Uint8Array.from(bytesOf(response.attestationObject)));
  const format = attestation.get("fmt");
  return format === "none" || (format === "packed" && attestation.get("attStmt").get("x5c") === undefined);
}

/** Returns the new count of a use of this passkey; undefined if the answer is another passkey's, or invalid. */
export async function verifyUse(
  party: RelyingParty,
  { response, challenge, id }: RequestAnswer,
  held: HeldPasskey,
): Promise<Pick<NewPasskey, "id" | "signCount" | "isSynced"> | undefined> {
  const { verifyAuthenticationResponse } = await library();
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: hostOf(party),
      requireUserVerification: true,
      credential: { id: response.id, publicKey: Uint8Array.from(held.publicKey), counter: held.signCount },
    });
    const handle = response.response.userHandle;
    const isOwn = handle === undefined || bytesOf(handle).equals(userHandleOf(held.member.id));
    if (!verified || !isOwn) return undefined;
    return { id, signCount: authenticationInfo.newCounter, isSynced: authenticationInfo.credentialBackedUp };
  } catch {
    return undefined;
  }
}

// https://www.w3.org/TR/webauthn-3/#enum-transport; other values of a browser are dropped.
const knownTransports: readonly string[] = ["usb", "nfc", "ble", "smart-card", "hybrid", "internal"];

function described({ id, transports }: Passkey) {
  return { id: id.toString("base64url"), ...(transports.length > 0 && { transports: [...transports] }) };
}

/** The member's id itself, which reveals nothing to an authenticator or its finder. */
function userHandleOf(memberId: MemberId): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(memberId.replaceAll("-", ""), "hex"));
}

function bytesOf(text: string): Buffer<ArrayBuffer> {
  return Buffer.from(text, "base64url");
}
