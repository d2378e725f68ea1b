/** The network's codes of a decline as Adyen writes them. Knows no acquirer's protocol beside that. */
import type { Authorization } from "./ledger.ts";

/**
 * Returns the fields that an account can request, in the form `03 : Do not try again`:
 * https://docs.adyen.com/development-resources/raw-acquirer-responses (2026). The texts are the sandbox's own.
 */
export function networkFields({ networkCode, adviceCode, network }: Authorization): {
  readonly additionalData?: Readonly<Record<string, string>>;
} {
  if (networkCode === undefined && adviceCode === undefined) return {};
  return {
    additionalData: {
      paymentMethod: network === "mastercard" ? "mc" : network,
      ...(networkCode !== undefined && { refusalReasonRaw: `${networkCode} : Declined` }),
      ...(adviceCode !== undefined && { merchantAdviceCode: `${adviceCode} : Advice` }),
    },
  };
}
