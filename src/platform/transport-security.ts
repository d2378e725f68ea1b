/** The header that makes browsers use only TLS for a host (RFC 6797). PURE. */

// Two years, as browsers require for their preload lists.
const transportSecurity = "max-age=63072000";

/** Returns headers for every answer of a server with this origin; none for plain HTTP or an unknown origin. */
export function transportSecurityOf(origin: string | undefined): Readonly<Record<string, string>> {
  return origin?.startsWith("https:") ? { "strict-transport-security": transportSecurity } : {};
}
