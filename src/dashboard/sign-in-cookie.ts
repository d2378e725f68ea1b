/** The cookie that holds a sign-in's token: for this host alone, out of reach of scripts and of other sites. */
import { signInLifetimeMs } from "../limits/sign-in.ts";
import type { Secret } from "../platform/secrets.ts";

// A browser takes a name with this prefix only when it is Secure, of this host alone and for all paths (RFC 6265bis,
// 4.1.3.2). Loopback counts as secure.
const nameOf = (brand: string) => `__Host-${brand}_sign_in`;
const attributes = "Path=/; Secure; HttpOnly; SameSite=Strict";

/** The token of a request's Cookie header. */
export function readSignInCookie(brand: string, cookies: string | null): string | undefined {
  const start = `${nameOf(brand)}=`;
  const found = (cookies ?? "").split("; ").filter((cookie) => cookie.startsWith(start));
  // Two of one name cannot come from a browser: nothing is guessed.
  return found.length === 1 ? found[0]!.slice(start.length) : undefined;
}

/** The Set-Cookie header that signs a browser in. */
export function signInCookie(brand: string, token: Secret): string {
  return `${nameOf(brand)}=${token.expose()}; ${attributes}; Max-Age=${signInLifetimeMs / 1_000}`;
}

/** The Set-Cookie header that makes a browser forget. */
export function goneCookie(brand: string): string {
  return `${nameOf(brand)}=; ${attributes}; Max-Age=0`;
}
