/** The emulator's memory: payment method sessions, and the cards that were confirmed in them. */
import { randomBytes } from "node:crypto";

export type VaultedCard = {
  readonly card_number: string;
  readonly card_exp_month: string;
  readonly card_exp_year: string;
  readonly card_holder_name: string | null;
  readonly card_network: string;
};

export type MethodSession = {
  readonly id: string;
  readonly clientSecret: string;
  readonly storageType: "volatile" | "persistent";
  readonly customerId: string | null;
  readonly expiresAt: Date;
};

/** A card with its two names: the token of its session, and the id that the proxy takes. */
export type PaymentMethod = {
  readonly id: string;
  readonly token: string;
  readonly session: MethodSession;
  readonly card: VaultedCard;
  /** Deleted with the first request that is proxied (retrieve_and_delete_cvc_from_payment_token). */
  cvc: string | undefined;
};

const idOf = (prefix: string) => `${prefix}_${randomBytes(16).toString("hex")}`;

/** Keeps everything until the process ends. */
export class StoredCards {
  readonly #sessions = new Map<string, MethodSession>();
  readonly #methods: PaymentMethod[] = [];

  open(wanted: Pick<MethodSession, "storageType" | "customerId"> & { expiresInS: number }): MethodSession {
    const { storageType, customerId, expiresInS } = wanted;
    const expiresAt = new Date(Date.now() + expiresInS * 1_000);
    const session = { id: idOf("12345_pms"), clientSecret: idOf("cs"), storageType, customerId, expiresAt };
    this.#sessions.set(session.id, session);
    return session;
  }

  findSession(id: string, clientSecret: string): MethodSession | undefined {
    const session = this.#sessions.get(id);
    return session?.clientSecret === clientSecret ? session : undefined;
  }

  /** Reads a session for the account's own server, which needs no secret of the session. */
  readSession(id: string): { session: MethodSession; methods: readonly PaymentMethod[] } | undefined {
    const session = this.#sessions.get(id);
    return session && { session, methods: this.#methods.filter((method) => method.session === session) };
  }

  confirm(session: MethodSession, card: VaultedCard, cvc: string): PaymentMethod {
    const method = { id: idOf("12345_pm"), token: idOf("token"), session, card, cvc };
    this.#methods.push(method);
    return method;
  }

  /** Finds by the session's token or by the permanent id. */
  find(idOrToken: string): PaymentMethod | undefined {
    return this.#methods.find(({ id, token }) => id === idOrToken || token === idOrToken);
  }
}
