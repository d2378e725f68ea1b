/** What connectors share about the device numbers that wallets give. */
import type { WalletCredential, WalletName } from "../platform/card-token.ts";

/** A wallet's part of a request. Its name is unknown while the vault could not be asked. */
export type WalletOfRequest = { readonly credential: WalletCredential; readonly name?: WalletName | undefined };

/** What a gateway takes of devices' numbers: the wallets, and the networks by their names in the vault. */
export type NetworkTokens = { readonly wallets: readonly WalletName[]; readonly networks: readonly string[] };

/** Reports whether the vault sends a device's number with its cryptogram, not a card. */
export function isNetworkToken({ wallet }: { readonly wallet?: WalletOfRequest | undefined }): boolean {
  return wallet?.credential === "NETWORK_TOKEN";
}

/** The networks of which both Apple Pay and Google Pay give cryptograms. What an account takes may be less; then it declines. */
export const ofBothWallets: NetworkTokens = {
  wallets: ["apple_pay", "google_pay"],
  networks: ["visa", "mastercard", "amex", "discover"],
};
