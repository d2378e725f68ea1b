/** A payment by a wallet: the rule for its cryptogram, the gateways that take it, and the network that has seen it. PURE. */
import type { CryptogramResend } from "../../core/rows/entities.ts";
import type { NetworkTokens } from "../../gateways/network-tokens.ts";
import type { Dice } from "./dice.ts";
import type { Observed } from "./observed.ts";

export type WalletPlan = {
  readonly resend: CryptogramResend;
  /** The gateways that take a device's number. */
  readonly takers: readonly string[];
  /** True if the network takes a cryptogram that it has seen. */
  readonly takesAgain: boolean;
};

const everyToken: NetworkTokens = { wallets: ["apple_pay", "google_pay"], networks: ["visa"] };

export function drawWallet(dice: Dice, gateways: readonly string[]): WalletPlan | undefined {
  if (!dice.chance(0.2)) return undefined;
  return {
    resend: dice.pick<CryptogramResend>(["NOT_SENT", "UNANSWERED", "DECLINED"]),
    takers: [...new Set(gateways)].filter(() => dice.chance(0.85)),
    takesAgain: dice.chance(0.5),
  };
}

/** Returns the token of a device's number with the name of a card's. */
export const walletTokenOf = (token: string) => `wnt_${token}`;

/** The network behind all gateways. A request that is executed again under its key is one use. */
export class Network {
  readonly plan: WalletPlan | undefined;
  readonly #uses = new Map<string, Set<string>>();

  constructor(plan: WalletPlan | undefined) {
    this.plan = plan;
  }

  /** Returns what a gateway takes of devices' numbers. */
  tokensOf(gateway: string): NetworkTokens | undefined {
    return this.plan?.takers.includes(gateway) ? everyToken : undefined;
  }

  /** Returns whether the network takes the cryptogram for this attempt; it has seen it either way. */
  take(cryptogram: string, attemptReference: string): boolean {
    const seen = this.#uses.get(cryptogram) ?? new Set();
    this.#uses.set(cryptogram, seen.add(attemptReference));
    return this.plan?.takesAgain !== false || seen.size === 1;
  }

  /** The most attempts for which one cryptogram was seen. */
  get mostUses(): number {
    return Math.max(0, ...[...this.#uses.values()].map((seen) => seen.size));
  }
}

export type WalletMoment = {
  readonly observed: Observed;
  readonly isRestored: boolean;
  readonly network: Network;
};

/** Returns the rule about a device's number that is broken now: W5, W6 or W7 of docs/safety.md. */
export function findWalletViolation(
  { observed, isRestored, network }: WalletMoment,
  before: Observed | undefined,
): string | undefined {
  const { session, attempts, authentications } = observed;
  const { plan: wallet } = network;
  if (wallet === undefined || session.submitted_at === null) return undefined;
  if (session.wallet_credential !== "NETWORK_TOKEN" || session.cryptogram_resend !== wallet.resend)
    return isRestored ? undefined : `a wallet pays as ${session.wallet_credential} by ${session.cryptogram_resend}`;
  if (authentications.length > 0 || attempts.some(({ round }) => round === 1))
    return "the customer of a device's number was authenticated";
  const other = attempts.find(({ gateway }) => !wallet.takers.includes(gateway));
  if (other) return `attempt ${other.sequence} sends a device's number to ${other.gateway}, which takes none`;
  if (isRestored) return undefined;
  if (wallet.resend === "NOT_SENT" && network.mostUses > 1) return "a network has seen a cryptogram twice";
  if (attempts.length <= (before?.attempts.length ?? 0)) return undefined;
  const used = attempts.slice(0, -1).find(({ status, looked_up_at }) => {
    if (status === "FAILED") return false;
    if (status === "UNKNOWN") return wallet.resend === "NOT_SENT" || looked_up_at === null;
    return status !== "DECLINED" || wallet.resend !== "DECLINED";
  });
  return used && `a cryptogram is sent again after attempt ${used.sequence}, which is ${used.status}`;
}
