/** The accounts a merchant may have at the pretend acquirers. Any well-formed key opens one, so nothing has to be set up first. */

/** The API key of account `test_acme` is `sandbox_test_acme`. */
export const apiKeyShape = /^sandbox_(test|live)_[a-z0-9-]{1,40}$/;

/** A merchant's account at a pretend acquirer. */
export type Account = {
  readonly id: string;
  readonly environment: "test" | "live";
  /** Whether the account may send card numbers. */
  rawCards: boolean;
  /** Whether the account may hold first and capture later. */
  manualCapture: boolean;
  /** Where SANDBOX_B and Adyen's stand-in report results, and the key it signs them with (64 hexadecimal digits); empty until set. */
  notificationUrl: string;
  hmacKey: string;
};

// More than any test or demo opens; the oldest are forgotten beyond it.
const accountsMax = 10_000;

/** The accounts that are open. */
export class Accounts {
  readonly #accounts = new Map<string, Account>();

  /** The account a key opens, or undefined for anything that is no key. */
  openedBy(apiKey: string | undefined): Account | undefined {
    const match = apiKeyShape.exec(apiKey ?? "");
    return match === null ? undefined : this.find(match[0].slice("sandbox_".length));
  }

  find(id: string): Account {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    const account: Account = {
      id,
      environment: id.startsWith("live_") ? "live" : "test",
      rawCards: true,
      manualCapture: true,
      notificationUrl: "",
      hmacKey: "",
    };
    this.#accounts.set(id, account);
    const oldest = this.#accounts.keys().next().value;
    if (this.#accounts.size > accountsMax && oldest !== undefined) this.#accounts.delete(oldest);
    return account;
  }
}
