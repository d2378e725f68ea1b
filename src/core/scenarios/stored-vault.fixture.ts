/** A vault for stored cards in memory, for tests of the core. */
import type { OpenedCard, StoredCardVault } from "../../card-vault/card-vault.ts";
import { DomainError } from "../../platform/errors.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret, sha256 } from "../../platform/secrets.ts";

type Kept = Parameters<StoredCardVault["keep"]>[0];
type Opened = Parameters<StoredCardVault["open"]>[0];
type KeptCard = Exclude<Awaited<ReturnType<StoredCardVault["keep"]>>, "lost">;

/** The fingerprint of a number, of 32 hexadecimal digits. */
export const fingerprintOf = (number: string) => sha256(number).toString("hex").slice(0, 32);

/** Stores every card as the one with `number`. */
export class MemoryVault implements StoredCardVault {
  /** The number of the next card. */
  number = "4242424242424242";
  /** Fails every call while it is set. */
  isAway = false;
  /** While set, the vault has no card of any token. */
  hasLost = false;
  /** Knows numbers by a new key of fingerprints, and by the one before. */
  hasNewKey = false;
  /** Loses the answer to the next call, which it has executed. */
  losesAnswer = false;
  readonly cards = new Map<string, KeptCard>();
  readonly opened: Pick<Opened, "code" | "sessionId">[] = [];
  readonly erased: string[] = [];
  keeps = 0;

  async keep({ handle }: Kept): Promise<KeptCard | "lost"> {
    this.keeps++;
    const name = sha256(handle.expose()).toString("hex");
    const card = this.cards.get(name) ?? (this.hasLost ? undefined : cardOf(this.number, this.hasNewKey));
    return this.#answer(() => {
      if (card) this.cards.set(name, card);
      return card ?? "lost";
    });
  }

  async open({ handle, code, sessionId }: Opened): Promise<OpenedCard | "lost"> {
    return this.#answer(() => {
      if (!this.cards.has(sha256(handle.expose()).toString("hex"))) return "lost";
      this.opened.push({ code, sessionId });
      const token = new Secret(`tok_${systemRuntime.uuid()}`);
      return { token, expiresAt: new Date(systemRuntime.now().getTime() + 900_000) };
    });
  }

  async erase(handleHash: Buffer): Promise<void> {
    this.#answer(() => {
      this.cards.delete(handleHash.toString("hex"));
      this.erased.push(handleHash.toString("hex"));
    });
  }

  #answer<Answer>(work: () => Answer): Answer {
    if (this.isAway) throw unavailable();
    const answer = work();
    if (!this.losesAnswer) return answer;
    this.losesAnswer = false;
    throw unavailable();
  }
}

function cardOf(number: string, hasNewKey: boolean): KeptCard {
  const versions = [...(hasNewKey ? [fingerprintOf(`new ${number}`)] : []), fingerprintOf(number)];
  const fingerprint = { versions, isCounted: true };
  const brand = number.startsWith("5") ? "mastercard" : "visa";
  return { brand, last4: number.slice(-4), expMonth: 4, expYear: 2031, fingerprint };
}

function unavailable(): DomainError {
  return new DomainError("unavailable", "The card vault cannot answer at the moment.");
}
