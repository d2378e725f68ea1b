/** What both sandbox connectors share: what they are built from, and how an account is judged fit. */
import type { CardForwarder } from "../card-forwarder.ts";
import type { VerifyRow } from "../connector.ts";
import type { GatewayHttp } from "../gateway-http.ts";

/** What both sandbox connectors are built from. */
export type ConnectorParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** Where the pretend acquirers listen, without a path. */
  readonly origin: string;
  /** The environment whose credentials are taken; the other one's are refused by `verify`. */
  readonly environment: "test" | "live";
};

/** The sandbox's "late" card approves at most this long after it was asked (main.ts, usualDelays), twice over. */
export const executionLimitMs = 30_000;

/** The pretend acquirers take every network that the vault tells apart. */
export const cardBrands = ["visa", "mastercard", "amex", "discover", "diners", "jcb", "unionpay", "maestro"];

/** An account as the acquirer describes it, or why it could not be read. */
export type AccountReading =
  | {
      readonly type: "account";
      readonly environment: unknown;
      readonly rawCards: unknown;
      readonly manualCapture: unknown;
      readonly currencies: unknown;
    }
  | { readonly type: "unreadable"; readonly because: string };

/** A row for every check; all but the first fail where the account could not be read. */
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
      detail: reading.type === "account" ? "The key opens the account." : reading.because,
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
      "The account may hold first and capture later.",
      "The account captures at once; ask the gateway to allow manual capture.",
    ),
    row("currencies", count > 0, `The account takes ${count} currencies.`, "The account takes no currency."),
  ];
}
