/**
 * The cards that payments at the sandbox acquirers have stored, by the names with which a renewal continues them. Knows
 * no acquirer's protocol.
 */
import { isObject } from "../platform/outbound-http.ts";
import type { Book, Books } from "./books.ts";
import type { CardPayment, StoredPayment } from "./challenges.ts";
import { type AcquirerName, type Authorization, networkIdOf } from "./ledger.ts";

type SavedCard = StoredPayment & {
  readonly acquirer: AcquirerName;
  readonly account: string;
  readonly number: string;
  isErased: boolean;
};

type SavedName = Pick<SavedCard, "acquirer" | "account" | "customer" | "method">;

// A day of a busy demo; beyond it the oldest are dropped.
const cardsMax = 100_000;

export class SavedCards {
  readonly #byMethod: Book<SavedCard>;
  readonly #byNetworkId: Book<SavedCard>;
  /** The customers' numbers that were stored once. */
  readonly #known: Book<true>;

  constructor(books: Books) {
    this.#byMethod = books.open("saved card", cardsMax);
    this.#byNetworkId = books.open("saved card by network", cardsMax);
    this.#known = books.open("saved number", cardsMax);
  }

  save({ acquirer, account, number, saves }: CardPayment, authorization: Authorization): void {
    const { saved } = authorization;
    if (saved === undefined || saves === undefined) return;
    const customer = saves.pseudonym ?? saves.customer;
    const known = JSON.stringify([customer, authorization.last4]);
    const isAgain = customer !== "" && this.#known.has(known);
    const { openedAt: savedAt } = authorization;
    const card: SavedCard = { acquirer, account, ...saved, number, savedAt, isAgain, isErased: false };
    this.#known.set(known, true);
    this.#byMethod.set(nameOf(card), card);
    const networkId = networkIdOf(authorization);
    if (networkId !== undefined) this.#byNetworkId.set(networkId, card);
  }

  /** Finds a card that an acquirer keeps; undefined for another account's or customer's, and for one that was erased. */
  findMethod(name: SavedName): SavedCard | undefined {
    const found = this.#byMethod.get(nameOf(name));
    return found?.customer === name.customer && !found.isErased ? found : undefined;
  }

  /** Finds the first payment of a chain by its network's name, wherever it was made; undefined for another card's. */
  findNetworkId(networkId: unknown, number: string): SavedCard | undefined {
    const found = this.#byNetworkId.get(String(networkId).replace(/^nti_/, ""));
    return found?.number === number ? found : undefined;
  }

  /** Erases a card at its acquirer, or all of a customer's; returns false if there never was one. */
  erase({ acquirer, account, customer, method }: Omit<SavedName, "method"> & { readonly method?: string }): boolean {
    const found = this.#byMethod
      .values()
      .filter((one) => one.acquirer === acquirer && one.account === account && one.customer === customer)
      .filter((one) => method === undefined || one.method === method);
    for (const one of found) {
      one.isErased = true;
      this.#byMethod.set(nameOf(one), one);
    }
    return found.length > 0;
  }

  /** Returns every card that an acquirer still keeps, without its number. */
  kept(): readonly Omit<SavedCard, "number">[] {
    return this.#byMethod
      .values()
      .filter(({ isErased }) => !isErased)
      .map(({ number: _, ...card }) => card);
  }
}

function nameOf({ acquirer, account, method }: Omit<SavedName, "customer">): string {
  return JSON.stringify([acquirer, account, method]);
}

/**
 * Returns the part that a stored card has in a payment with Adyen's fields. With ContAuth the
 * merchant charges it, unless it comes with a security code or is a card on file, whose customer is there: the texts of
 * Adyen's OpenAPI file, `shopperInteraction` and `networkTxReference`.
 */
export function storedUseIn(
  json: Readonly<Record<string, unknown>>,
  number: string,
  savedCards: SavedCards,
): Pick<CardPayment, "saves" | "renews"> {
  const { shopperReference: customer, recurringProcessingModel: model, shopperInteraction } = json;
  if (typeof customer !== "string" || typeof model !== "string") return {};
  if (shopperInteraction !== "ContAuth") return { saves: { customer } };
  const { paymentMethod, additionalData } = json;
  if (model === "CardOnFile" || (isObject(paymentMethod) && paymentMethod.cvc !== undefined)) return {};
  const networkId = isObject(additionalData) ? additionalData.networkTxReference : undefined;
  return { renews: savedCards.findNetworkId(networkId, number) ?? "unknown" };
}
