/**
 * The pages that show a customer's action: the frame in the widget's place, the window, and the page to which the bank
 * returns. None holds a secret; a ticket, by a message or in the fragment, lets one of them show an action.
 */
import { deriveKey, equalInConstantTime, hmacSha256, type KeyRing } from "../platform/secrets.ts";
import type { EdgeEnvironment } from "./caller.ts";

/** The browser's part of these pages, which the widget's sources build. */
export type AuthenticationPages = {
  readonly files: ReadonlyMap<string, { readonly contentType: string; readonly bytes: Uint8Array }>;
  /** The source of the pages' inline style, for their Content-Security-Policy. */
  readonly styleSource: string;
  /** Renders a page in a language that the browser accepts. `embedders` are the pages around a frame. */
  render(name: "frame" | "window" | "return", reader: { acceptLanguage: string; embedders?: Embedders }): string;
};

/** Origins that may embed the frame, and exchange messages with it; `*` alone for any, an empty list for none. */
type Embedders = readonly string[];

export function actionPagesOf(
  environment: EdgeEnvironment,
  { apiOrigin, checkoutOrigins, ticket }: { apiOrigin: string; checkoutOrigins: readonly string[]; ticket: string },
): { readonly frameUrl: string; readonly windowUrl: string } {
  const path = `${apiOrigin}/authentication/${environment.name}`;
  const isAny = checkoutOrigins.length === 0 && environment.anyOriginWhenNoneRegistered;
  const { sealing, runtime } = environment.core;
  const policy = signEmbedders(sealing, isAny ? ["*"] : checkoutOrigins, runtime.now());
  return { frameUrl: `${path}/frame?p=${policy}`, windowUrl: `${path}/window#${ticket}` };
}

const purpose = "pages around an action";

// Loaded at once, and again by a browser that reloads its page while the customer is at the bank: as long as a customer
// may take. Origins that a merchant removes cannot embed the frame for longer.
const policyLifetimeMs = 30 * 60_000;

type Policy = { readonly embedders: Embedders; readonly expiresAt: number };

function signEmbedders(ring: KeyRing, embedders: Embedders, now: Date): string {
  const policy: Policy = { embedders, expiresAt: now.getTime() + policyLifetimeMs };
  const content = Buffer.from(JSON.stringify(policy)).toString("base64url");
  return `${content}.${macOf(ring.keys[ring.current]!, content)}`;
}

function macOf(key: Uint8Array, content: string): string {
  return hmacSha256(deriveKey(key, purpose), content).toString("base64url");
}

/** Returns the embedders that a frame's address names; none if it has expired or was not made with a key of this ring. */
export function embeddersOf(ring: KeyRing, signed: string, now: Date): Embedders {
  const [content = "", mac = ""] = signed.split(".");
  const isOurs = (key: Uint8Array) => equalInConstantTime(Buffer.from(mac), Buffer.from(macOf(key, content)));
  if (!Object.values(ring.keys).some(isOurs)) return [];
  const { embedders, expiresAt } = JSON.parse(Buffer.from(content, "base64url").toString()) as Policy;
  return expiresAt > now.getTime() ? embedders : [];
}

// A page of ours sends no Permissions-Policy: banks use payment and passkeys in their frames. The frame has no
// default-src, child-src or frame-src, which would stop the addresses of banks' apps.
const shown = [
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  ...["img", "font", "media", "object", "worker", "manifest"].map((kind) => `${kind}-src 'none'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Returns the headers of the frame and the window; a window has no embedders. */
export function shownPageHeaders(
  { name, core }: Pick<EdgeEnvironment, "name" | "core">,
  styleSource: string,
  embedders?: Embedders,
): Record<string, string> {
  // The sandbox's bank is on this machine.
  const forms = name === "test" ? "https: http://localhost:* http://127.0.0.1:*" : "https:";
  const around = embedders?.length ? ["'self'", core.vault.origin, ...embedders].join(" ") : "'none'";
  // `*` has no page of a file in it, which a merchant's developer may open.
  const ancestors = embedders?.includes("*") ? [] : [`frame-ancestors ${around}`];
  const policy = [...shown, `style-src ${styleSource}`, `form-action ${forms}`, ...ancestors];
  return {
    ...pageHeaders,
    "content-security-policy": policy.join("; "),
    // A bank that looks at the origin of a form may see ours, which says no more than its own records.
    "referrer-policy": "strict-origin",
    ...(embedders === undefined
      ? { "cross-origin-opener-policy": "same-origin" }
      : { "cross-origin-resource-policy": "cross-origin" }),
  };
}

/** Returns the headers of the page to which the bank returns. It does not know the pages around it. */
export function returnPageHeaders(styleSource: string): Record<string, string> {
  const policy = `default-src 'none'; script-src 'self'; connect-src 'self'; style-src ${styleSource}; base-uri 'none'; form-action 'none'`;
  return { ...pageHeaders, "content-security-policy": policy, "referrer-policy": "no-referrer" };
}

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
