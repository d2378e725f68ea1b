/** Shared parts of the connectors that accept the device numbers of wallets. */
import type { WalletName } from "../platform/card-token.ts";

/** The device numbers that a gateway accepts: by wallet, and by network under its name in the vault. */
export type NetworkTokens = { readonly wallets: readonly WalletName[]; readonly networks: readonly string[] };

/** The gateways whose connectors take them, for those who have no connector. */
export const gatewaysOfNetworkTokens: readonly string[] = ["ADYEN", "PAYPAL", "SANDBOX_A", "SANDBOX_B"];

/** The networks of which both Apple Pay and Google Pay give cryptograms. What an account takes may be less; then it declines. */
export const ofBothWallets: NetworkTokens = {
  wallets: ["apple_pay", "google_pay"],
  networks: ["visa", "mastercard", "amex", "discover"],
};
