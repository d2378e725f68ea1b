/** The two calls of payments.v1.CheckoutService about an action, in Connect's JSON: too few for its client. */

/** A ticket that shows an action once, and the pages that take it. */
export type ActionPages = { readonly ticket: string; readonly frameUrl: string; readonly windowUrl: string };

/** The session, and the proof that this page may pay it. */
type ActionAccess = {
  readonly apiBase: string;
  readonly sessionId: string;
  readonly clientSecret: string;
};

/** The calls. The promises never reject: after a failure the session's status tells the rest. */
export type ActionCalls = {
  /** Returns undefined for an action that cannot be shown now. */
  open(authenticationId: string, returnTo?: string): Promise<ActionPages | undefined>;
  /** Gives the action up; a customer who has answered by then is too late. */
  cancel(authenticationId: string): Promise<unknown>;
};

// The longest time of a read of the session, on a network that swallows packets.
const timeoutMs = 10_000;

/** Connects the calls to one session. */
export function connectActions({ apiBase, sessionId, clientSecret }: ActionAccess): ActionCalls {
  const call = async <Answer>(rpc: string, fields: object): Promise<Answer | undefined> => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    try {
      const answer = await fetch(`${apiBase}/payments.v1.CheckoutService/${rpc}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${clientSecret}`,
          "content-type": "application/json",
          "connect-protocol-version": "1",
        },
        body: JSON.stringify({ sessionId, ...fields }),
        signal: limit.signal,
      });
      return answer.ok ? ((await answer.json()) as Answer) : undefined;
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    // A page to return to that is not registered must not cost the payment.
    open: async (authenticationId, returnTo) =>
      (await call<ActionPages>("OpenAction", { authenticationId, returnTo })) ??
      (returnTo === undefined ? undefined : await call<ActionPages>("OpenAction", { authenticationId })),
    cancel: (authenticationId) => call("CancelAction", { authenticationId }),
  };
}
