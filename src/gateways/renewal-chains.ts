/** Decides which chains a connector continues. PURE. */
import type { Chain, NotProcessed, StoredCardUse } from "./connector.ts";

/** A payment that the merchant makes with a stored card. */
export type Renewal = Extract<StoredCardUse, { type: "renewal" }>;

/**
 * Returns the chain of a renewal if it is of the connector's kind, and otherwise why the renewal cannot be sent there.
 * In that case nothing is sent.
 */
export function chainOf<Type extends Chain["type"]>(
  { chain }: Renewal,
  { gateway, storedCards }: { readonly gateway: string; readonly storedCards: Type },
): Extract<Chain, { type: Type }> | NotProcessed {
  if (isOfType(chain, storedCards)) return chain;
  const reason =
    storedCards === "own"
      ? `${gateway} continues only agreements that began in its account`
      : "the agreement has no network transaction id";
  return { type: "notProcessed", cause: "request_refused", reason };
}

function isOfType<Type extends Chain["type"]>(chain: Chain, type: Type): chain is Extract<Chain, { type: Type }> {
  return chain.type === type;
}
