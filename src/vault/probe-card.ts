/** The names by which the core requests the card of a connector's test call instead of a customer's. Pure. */

/** Token and session of that request; no payment's session has this name, so none can be paid with it. */
export const probe = { token: "tok_probe", sessionId: "verify" } as const;

/** Reports whether a request is for this card instead of a customer's. */
export function isProbe({ token, sessionId }: { readonly token: string; readonly sessionId: string }): boolean {
  return token === probe.token && sessionId === probe.sessionId;
}
