/** Merchants' accounts at the sandbox acquirers. Any well-formed key opens one, so nothing has to be set up first. */
import type { Book, Books } from "./books.ts";

/** The API key of account `test_acme` is `sandbox_test_acme`; further ones are `sandbox_test_acme-key2` and so on. */
const apiKeyShape = /^sandbox_(test|live)_[a-z0-9-]{1,40}$/;

export type Account = {
  readonly id: string;
  readonly environment: "test" | "live";
  /** True if the account may send card numbers. */
  rawCards: boolean;
  /** True if the account may hold first and capture later. */
  manualCapture: boolean;
  /** True if restricted keys of the account may read charges, as at Stripe's emulator. */
  readsCharges: boolean;
  /**
   * The address to which SANDBOX_B and Adyen's emulator report results, and the key with which they sign them (64
   * hexadecimal digits); empty until set.
   */
  notificationUrl: string;
  hmacKey: string;
};

// More than any test or demo opens; beyond it the oldest are dropped.
const accountsMax = 10_000;

export class Accounts {
  readonly #accounts: Book<Account>;

  constructor(books: Books) {
    this.#accounts = books.open("account", accountsMax);
  }

  /** Returns the account that a key opens, or undefined for anything that is not a key. */
  openedBy(apiKey: string | undefined): Account | undefined {
    const match = apiKeyShape.exec(apiKey ?? "");
    return match === null ? undefined : this.find(match[0].slice("sandbox_".length).replace(/-key\d+$/, ""));
  }

  find(id: string): Account {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    const account: Account = {
      id,
      environment: id.startsWith("live_") ? "live" : "test",
      rawCards: true,
      manualCapture: true,
      readsCharges: true,
      notificationUrl: "",
      hmacKey: "",
    };
    this.#accounts.set(id, account);
    return account;
  }

  save(account: Account): void {
    this.#accounts.set(account.id, account);
  }
}
