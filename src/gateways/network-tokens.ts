/** What connectors share about the device numbers that wallets give. */
import type { AuthorizeRequest, NetworkTokens } from "./connector.ts";

/** Reports whether the vault sends a device's number with its cryptogram, not a card. */
export function isNetworkToken({ wallet }: Pick<AuthorizeRequest, "wallet">): boolean {
  return wallet?.credential === "NETWORK_TOKEN";
}

/** The networks of which both Apple Pay and Google Pay give cryptograms. What an account takes may be less; then it declines. */
export const ofBothWallets: NetworkTokens = {
  wallets: ["apple_pay", "google_pay"],
  networks: ["visa", "mastercard", "amex", "discover"],
};
