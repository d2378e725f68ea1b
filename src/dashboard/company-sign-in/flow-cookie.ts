/** The cookie of a sign-in that is under way at an identity provider: sealed, for ten minutes, and used once. */
import type { MemberId, SignInId } from "../../platform/ids.ts";
import { type KeyRing, type Secret, seal, unseal } from "../../platform/secrets.ts";

// A person signs in at the provider meanwhile, with a second factor.
const flowLifetimeMs = 10 * 60_000;

export type Flow = {
  readonly providerId: string;
  readonly purpose: "SIGN_IN" | "ACCEPT" | "LINK" | "PROVE";
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The page to open afterwards, a path of this origin. */
  readonly next: string;
  readonly invitationToken?: string;
  /** The browser's sign-in to link or prove, or the sign-in that ends when another one begins. */
  readonly signIn?: { readonly id: SignInId; readonly memberId: MemberId };
};

const nameOf = (brand: string) => `__Host-${brand}_company`;
const associatedData = "company sign-in";
// Lax: it has to be sent with the navigation from the provider's page.
const attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";

export function flowCookie(brand: string, ring: KeyRing, flow: Flow, now: Date): string {
  const sealed = seal(ring, associatedData, JSON.stringify({ ...flow, endsAt: now.getTime() + flowLifetimeMs }));
  return `${nameOf(brand)}=${sealed}; ${attributes}; Max-Age=${flowLifetimeMs / 1_000}`;
}

export function goneFlowCookie(brand: string): string {
  return `${nameOf(brand)}=; ${attributes}; Max-Age=0`;
}

/** Returns the flow of a browser; undefined if it has none, or one that is changed or over. */
export function readFlow(brand: string, ring: KeyRing, cookies: string | null, now: Date): Flow | undefined {
  const start = `${nameOf(brand)}=`;
  const found = (cookies ?? "").split("; ").filter((cookie) => cookie.startsWith(start));
  if (found.length !== 1) return undefined;
  try {
    const text: Secret = unseal(ring, associatedData, found[0]!.slice(start.length));
    const { endsAt, ...flow } = JSON.parse(text.expose()) as Flow & { endsAt: number };
    return now.getTime() < endsAt ? flow : undefined;
  } catch {
    return undefined;
  }
}
