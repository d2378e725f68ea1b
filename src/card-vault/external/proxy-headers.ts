/**
 * Headers for the external vault to send: none that contains a part of a card, and none that changes how a request is
 * read. Pure.
 */
import { gatewayHeaders } from "../../platform/gateway-facts.ts";

// The same as our own vault's (src/vault/forward.ts). A test compares them.
const reservedHeader =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/;
const headerName = /^[a-z0-9-]+$/;
const headerValue = /^[\x20-\x7e]*$/;

/**
 * Returns the headers with those of every gateway request, and the content type of JSON; undefined if one may not be
 * sent.
 */
export function proxyHeadersOf(headers: Readonly<Record<string, string>>): Record<string, string> | undefined {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    if (lowerName === "content-type") continue;
    const wellFormed = headerName.test(lowerName) && headerValue.test(value);
    if (!wellFormed || reservedHeader.test(lowerName) || value.includes("{{")) return undefined;
    checked[lowerName] = value;
  }
  return { ...checked, ...gatewayHeaders, "Content-Type": "application/json" };
}
