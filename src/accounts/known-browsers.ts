/**
 * Browsers that a member has signed in by: each keeps a mark that scripts cannot read, and has its own count of
 * failures, apart from strangers'.
 */

import { knownBrowserLifetimeMs } from "../limits.ts";
import type { MemberId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { deriveKey, equalInConstantTime, hmacSha256, type KeyRing, Secret } from "../platform/secrets.ts";

// Random bytes of a browser's mark, so that no two are the same.
const knownBrowserBytes = 16;

/**
 * The owner of a mark. A new password or app invalidates every earlier mark, including one obtained with a stolen
 * password.
 */
type Marked = { readonly memberId: MemberId; readonly proofVersion: number };

/**
 * Creates a mark, which keeps the browser's name of `earlier` if that is still valid: its failures count on. Marks are
 * not stored: a mark proves itself and its time of creation.
 */
export function markBrowser(
  ring: KeyRing,
  runtime: Pick<Runtime, "now" | "randomBytes">,
  marked: Marked,
  earlier?: string,
): Secret {
  const known = findBrowser(ring, runtime, earlier, marked);
  const name = known ?? Buffer.from(runtime.randomBytes(knownBrowserBytes)).toString("base64url");
  const madeAt = String(runtime.now().getTime());
  const signature = sign(ring.keys[ring.current]!, { name, madeAt }, marked).toString("base64url");
  return new Secret(`${ring.current}.${name}.${madeAt}.${signature}`);
}

/**
 * Returns the name of a browser with this mark of the member's; undefined for any other, and after its cookie's
 * lifetime.
 */
export function findBrowser(
  ring: KeyRing,
  { now }: Pick<Runtime, "now">,
  mark: string | undefined,
  marked: Marked,
): string | undefined {
  const [keyName = "", name = "", madeAt = "", signature = ""] = (mark ?? "").split(".");
  const key = Object.hasOwn(ring.keys, keyName) ? ring.keys[keyName] : undefined;
  if (key === undefined) return undefined;
  const isOurs = equalInConstantTime(Buffer.from(signature, "base64url"), sign(key, { name, madeAt }, marked));
  return isOurs && now().getTime() - Number(madeAt) < knownBrowserLifetimeMs ? name : undefined;
}

type Signed = { readonly name: string; readonly madeAt: string };

function sign(key: Uint8Array, { name, madeAt }: Signed, { memberId, proofVersion }: Marked): Buffer {
  return hmacSha256(deriveKey(key, "known browsers"), `${memberId}/${proofVersion}/${name}/${madeAt}`);
}
