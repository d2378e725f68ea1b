/** The facts that the dashboard's server knows of a request before its rpc runs: its id and its client's address. */
import { createContextKey } from "@connectrpc/connect";

export type RequestFacts = { readonly requestId: string; readonly address: string };

/** Set by the dashboard's server. */
export const requestFactsKey = createContextKey<RequestFacts>(
  { requestId: "", address: "unknown" },
  { description: "request facts" },
);
