/** The cookies of a sign-in and of a browser's mark: for this host, unreadable by scripts, not cross-site. */
import { knownBrowserLifetimeMs, signInLifetimeMs } from "../limits.ts";
import type { Secret } from "../platform/secrets.ts";

// Browsers accept a name with this prefix only if the cookie is Secure, host-only and for all paths (RFC 6265bis,
// 4.1.3.2). Loopback counts as secure.
const nameOf = (brand: string) => `__Host-${brand}_sign_in`;
const markNameOf = (brand: string) => `__Host-${brand}_browser`;
const attributes = "Path=/; Secure; HttpOnly; SameSite=Strict";

export function readSignInCookie(brand: string, cookies: string | null): string | undefined {
  return read(nameOf(brand), cookies);
}

export function readBrowserCookie(brand: string, cookies: string | null): string | undefined {
  return read(markNameOf(brand), cookies);
}

function read(name: string, cookies: string | null): string | undefined {
  const start = `${name}=`;
  const found = (cookies ?? "").split("; ").filter((cookie) => cookie.startsWith(start));
  // A browser never sends two of one name, so neither is used.
  return found.length === 1 ? found[0]!.slice(start.length) : undefined;
}

export function signInCookie(brand: string, token: Secret): string {
  return `${nameOf(brand)}=${token.expose()}; ${attributes}; Max-Age=${signInLifetimeMs / 1_000}`;
}

export function browserCookie(brand: string, mark: Secret): string {
  return `${markNameOf(brand)}=${mark.expose()}; ${attributes}; Max-Age=${knownBrowserLifetimeMs / 1_000}`;
}

/** Returns the Set-Cookie header that removes a browser's sign-in; the browser stays known. */
export function goneCookie(brand: string): string {
  return `${nameOf(brand)}=; ${attributes}; Max-Age=0`;
}
