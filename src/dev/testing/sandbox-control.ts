/** Calls the sandbox gateways' admin paths, for tests that read their records or decide when an operation continues. */
import type { CardBehaviour, DirectoryBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import type { Account } from "../../sandbox/accounts.ts";
import type { FaultKind, FaultPlan } from "../../sandbox/faults.ts";
import type { AcquirerName, Authorization, Refund } from "../../sandbox/ledger.ts";
import type { PauseFilter } from "../../sandbox/pauses.ts";
import type { SavedCards } from "../../sandbox/saved-cards.ts";

/** Reads the records of the sandbox gateways, stops and releases their operations, and sets their faults. */
export class SandboxControl {
  readonly origin: string;
  readonly #admin: string;

  constructor(origin: string) {
    this.origin = origin;
    this.#admin = `${origin}/admin`;
  }

  /** Returns every authorization on record, or those under a reference, including those whose answer was lost. */
  async authorizations(reference?: string): Promise<readonly Authorization[]> {
    const query = new URLSearchParams(reference === undefined ? {} : { reference });
    return (await this.#ask<{ authorizations: Authorization[] }>("GET", `authorizations?${query}`)).authorizations;
  }

  async savedCards(): Promise<ReturnType<SavedCards["kept"]>> {
    return (await this.#ask<{ cards: ReturnType<SavedCards["kept"]> }>("GET", "saved-cards")).cards;
  }

  /** Returns the number of answers by operation, such as `a.capture`. */
  async requests(reference?: string): Promise<Readonly<Record<string, number>>> {
    const query = new URLSearchParams(reference === undefined ? {} : { reference });
    return (await this.#ask<{ requests: Record<string, number> }>("GET", `requests?${query}`)).requests;
  }

  /** Resolves with the number of matching pauses once there is one. */
  async paused(filter: PauseFilter): Promise<number> {
    const query = new URLSearchParams(JSON.parse(JSON.stringify(filter)));
    return (await this.#ask<{ paused: number }>("GET", `pauses?${query}`)).paused;
  }

  /** Resolves once the merchant's side has taken every notification that nothing holds back. */
  async quiet(): Promise<void> {
    await this.#ask("GET", "quiet");
  }

  /** Holds back an operation's answers, or its requests before they are executed: `a.capture`, `a.capture.arrival`. */
  async hold(operation: string): Promise<void> {
    await this.#ask("POST", "hold", { operation });
  }

  async release(filter: PauseFilter = {}): Promise<void> {
    await this.#ask("POST", "release", filter);
  }

  /** Replaces all faults by this plan; without a plan there are none. */
  async setFaults(plan?: FaultPlan): Promise<void> {
    await this.#ask("PUT", "faults", plan ?? {});
  }

  async faults(): Promise<Readonly<Partial<Record<FaultKind, number>>>> {
    return (await this.#ask<{ counts: Partial<Record<FaultKind, number>> }>("GET", "faults")).counts;
  }

  /** Returns the idempotency keys to whose repeats the emulator of Adyen answers an error. */
  async keptErrors(): Promise<readonly string[]> {
    return (await this.#ask<{ keys: string[] }>("GET", "kept-errors")).keys;
  }

  /** Refunds a part of an authorization by hand at its acquirer; without a value, the rest. */
  async refundByHand(id: string, value?: number): Promise<Refund> {
    const answer = await this.#ask<{ refund?: Refund; refused?: string }>("POST", "refund", { id, value });
    if (answer.refund === undefined) throw new Error(`the acquirer refuses to refund by hand: ${answer.refused}`);
    return answer.refund;
  }

  async captureByHand(id: string, value?: number): Promise<void> {
    const { done } = await this.#ask<{ done: boolean }>("POST", "capture", { id, value });
    if (!done) throw new Error("the acquirer has no such hold to capture by hand");
  }

  async voidByHand(id: string): Promise<void> {
    const { done } = await this.#ask<{ done: boolean }>("POST", "void", { id });
    if (!done) throw new Error("the acquirer has no such hold to void by hand");
  }

  /** Sets the acquirers' clock this far ahead of the true time. */
  async payOut(): Promise<void> {
    await this.#ask("POST", "payout", {});
  }

  async setClockAhead(aheadMs: number): Promise<void> {
    await this.#ask("PUT", "clock", { aheadMs });
  }

  async setDown(acquirer: AcquirerName, down: boolean): Promise<void> {
    await this.#ask("PUT", "down", { acquirer, down });
  }

  async setCard(acquirer: AcquirerName, number: string, behaviour: CardBehaviour): Promise<void> {
    await this.#ask("PUT", "cards", { acquirer, number, behaviour });
  }

  /** Replaces the reaction of SANDBOX_3DS to a card. */
  async setDirectory(number: string, behaviour: DirectoryBehaviour): Promise<void> {
    await this.#ask("PUT", "directory", { number, behaviour });
  }

  /** Has the wallets' emulators forge their tokens at one of the vault's checks; without a name, no longer. */
  async forgeWalletTokens(forgery = ""): Promise<void> {
    await this.#ask("PUT", "wallets", { forgery });
  }

  async setAccount(account: string, settings: Partial<Omit<Account, "id" | "environment">>): Promise<void> {
    await this.#ask("PUT", "accounts", { account, ...settings });
  }

  async #ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${this.#admin}/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`the sandbox answered ${response.status} to ${method} /admin/${path}`);
    return (await response.json()) as Answer;
  }
}
