/** Parts that both sandbox connectors share: their constructor's parts, and the checks of an account. */
import type { CardForwarder } from "../../card-vault/card-vault.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import type { VerifyRow } from "../connector.ts";
import type { NetworkTokens } from "../network-tokens.ts";

export type ConnectorParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** Origin of the sandbox acquirers, without a path. */
  readonly origin: string;
  /** The environment whose credentials are accepted; `verify` refuses the other one's. */
  readonly environment: "test" | "live";
};

/**
 * The sandbox's "late" card approves at most this long after the request (main.ts, defaultDelays), with a factor of two.
 */
export const executionLimitMs = 30_000;

/** Networks that the sandbox acquirers accept: every one that the vault distinguishes. */
export const cardBrands = ["visa", "mastercard", "amex", "discover", "diners", "jcb", "unionpay", "maestro"];

/** Both take devices' numbers of each wallet and network. */
export const networkTokens: NetworkTokens = { wallets: ["apple_pay", "google_pay"], networks: cardBrands };

/** The sandbox acquirers pay out within minutes, so their statements are read more often than others. */
export const statementsEveryMs = 60_000;

/** An account as the acquirer describes it, or why it could not be read. */
export type AccountReading =
  | {
      readonly type: "account";
      readonly id: string;
      readonly environment: unknown;
      readonly rawCards: unknown;
      readonly manualCapture: unknown;
      readonly currencies: unknown;
    }
  | { readonly type: "unreadable"; readonly reason: string };

/** Returns a row for every check; all but the first fail if the account could not be read. */
export function accountChecks(reading: AccountReading, environment: "test" | "live"): VerifyRow[] {
  const read = reading.type === "account" ? reading : undefined;
  const row = (check: VerifyRow["check"], passed: boolean, right: string, wrong: string): VerifyRow => ({
    check,
    state: passed ? "passed" : "failed",
    required: true,
    detail: read === undefined ? "Not checked: the account could not be read." : passed ? right : wrong,
  });
  const count = Array.isArray(read?.currencies) ? read.currencies.length : 0;
  return [
    {
      check: "credentials",
      state: read === undefined ? "failed" : "passed",
      required: true,
      detail: reading.type === "account" ? "The key opens the account." : reading.reason,
      account: read?.id,
    },
    row(
      "environment",
      read?.environment === environment,
      `The account is a ${environment} account.`,
      `The account is not a ${environment} account; its credentials belong to the other environment.`,
    ),
    row(
      "raw_cards",
      read?.rawCards === true,
      "The account may send card numbers.",
      "The account may not send card numbers; ask the gateway to allow it.",
    ),
    row(
      "manual_capture",
      read?.manualCapture === true,
      "The account may authorize first and capture later.",
      "The account captures at once; ask the gateway to allow manual capture.",
    ),
    row("currencies", count > 0, `The account accepts ${count} currencies.`, "The account accepts no currency."),
  ];
}
