/** The form of a page's origin. PURE. */

// URLs take more in a host than names have, such as quotes, semicolons and asterisks, and serialize it unchanged. An
// origin ends up in a response header and in HTML, where these have a meaning.
const form = /^https?:\/\/(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d+)?$/;

/** Reports whether a value is an origin as browsers serialize it, such as `https://shop.example`. */
export function isPageOrigin(value: unknown): value is string {
  return typeof value === "string" && form.test(value) && URL.canParse(value) && new URL(value).origin === value;
}
