/** Orders and authorizations at PayPal's emulator, and the operations on each. Money is in the ledger. */

import { currencies } from "../../gateways/paypal/currencies.ts";
import { unreachable } from "../../platform/errors.ts";
import { isObject, parseJsonObject } from "../../platform/outbound-http.ts";
import type { Account } from "../accounts.ts";
import { bankPageOf } from "../bank-pages.ts";
import type { Book, Books } from "../books.ts";
import type { Asking, CardPayment } from "../challenges.ts";
import type { CardResult, Issuer } from "../issuer.ts";
import type { Authorization, Ledger } from "../ledger.ts";
import type { SandboxRequest } from "../routes.ts";
import type { SavedCards } from "../saved-cards.ts";
import { askedByName } from "./emulator-cards.ts";
import type { Again, Executed } from "./emulator-keys.ts";
import {
  captureView,
  type Held,
  hasPassed,
  loneAuthorizationView,
  newId,
  type Order,
  orderView,
  payerLinks,
  refusal,
  sourceOnlyView,
} from "./emulator-objects.ts";

export type OrderParts = {
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly savedCards: SavedCards;
  readonly books: Books;
};

export type Asked = { readonly request: SandboxRequest; readonly account: Account };

type Json = Readonly<Record<string, unknown>>;

// A day of a busy demo; beyond it the oldest are dropped.
const ordersMax = 100_000;

export class EmulatorOrders {
  readonly #parts: OrderParts;
  readonly #orders: Book<Order>;
  readonly #orderOfAuthorization: Book<Order>;
  readonly #orderOfCapture: Book<Order>;
  /** The orders by the ids of the ledger's authorizations. */
  readonly #orderOfRecord: Book<Order>;
  readonly #locked = new WeakSet<Order>();

  constructor(parts: OrderParts) {
    this.#parts = parts;
    this.#orders = parts.books.open("paypal order", ordersMax);
    this.#orderOfAuthorization = parts.books.open("paypal authorization", ordersMax);
    this.#orderOfCapture = parts.books.open("paypal capture", ordersMax);
    this.#orderOfRecord = parts.books.open("paypal record", ordersMax);
    // A capture by hand has a name of PayPal's too.
    parts.ledger.onUnasked((record, { type }) => {
      const order = this.#orderOfRecord.get(record.id);
      if (type === "captured" && order?.authorization !== undefined) this.#nameCapture(order, order.authorization);
    });
  }

  find(id: string | undefined): Order | undefined {
    return this.#orders.get(id ?? "");
  }

  orderOf(authorizationId: string | undefined): Order | undefined {
    return this.#orderOfAuthorization.get(authorizationId ?? "");
  }

  orderOfCapture(captureId: string | undefined): Order | undefined {
    return this.#orderOfCapture.get(captureId ?? "");
  }

  /** Finds the order of an authorization of the ledger's. */
  orderOfRecord(recordId: string): Order | undefined {
    return this.#orderOfRecord.get(recordId);
  }

  create(asked: Asked): Executed {
    const body = bodyOf(asked);
    const units: readonly unknown[] = Array.isArray(body.purchase_units) ? body.purchase_units : [];
    const [unit] = units;
    if (body.intent !== "AUTHORIZE" || units.length !== 1 || !isObject(unit)) return { answer: refusal(400) };
    const money = readMoney(unit.amount);
    if (typeof money === "string") return { answer: refusal(422, money) };
    const order: Order = {
      id: newId(),
      account: asked.account,
      reference: String(unit.reference_id ?? "default"),
      invoiceId: String(unit.invoice_id ?? ""),
      customId: typeof unit.custom_id === "string" ? unit.custom_id : undefined,
      ...money,
      createdAt: new Date().toISOString(),
      needsPayer: false,
    };
    this.#orders.set(order.id, order);
    const whole = isWhole(asked);
    return shown(201, order, { body: orderView(order, whole), again: { order, view: whole ? "whole" : "brief" } });
  }

  read(asked: Asked): Executed {
    const order = this.#orders.get(asked.request.parameters.id ?? "");
    if (order?.account.id !== asked.account.id) return { answer: refusal(404, "INVALID_RESOURCE_ID") };
    const isSourceOnly = asked.request.query.get("fields") === "payment_source";
    return shown(200, order, { body: isSourceOnly ? sourceOnlyView(order) : orderView(order, true) });
  }

  async authorize(asked: Asked): Promise<Executed> {
    const order = this.#orders.get(asked.request.parameters.id ?? "");
    const { account } = asked;
    if (order?.account.id !== account.id) return { answer: refusal(404, "INVALID_RESOURCE_ID") };
    if (!account.rawCards) return { answer: refusal(403, "PERMISSION_DENIED") };
    if (!account.manualCapture) return { answer: refusal(422, "AUTH_CAPTURE_NOT_ENABLED") };
    const { challenge } = order.asked ?? {};
    if (challenge !== undefined && asked.request.body === "" && order.authorization === undefined) {
      if (!hasPassed(order)) return payerWanted(order);
      return this.locked(order, async () => {
        const result = await this.#parts.issuer.settle(challenge, (record) => this.#remember(order, record));
        return authorizeAnswer(order, result, isWhole(asked));
      });
    }
    const body = bodyOf(asked);
    const token = tokenIn(body);
    const card = readCard(token?.card ?? cardIn(body));
    if (typeof card === "string") return { answer: refusal(422, card) };
    if (order.authorization !== undefined) return { answer: refusal(422, "ORDER_ALREADY_AUTHORIZED") };
    const stored = storedUseIn(body, this.#parts.savedCards);
    if (stored === undefined) return { answer: refusal(400, "INVALID_PARAMETER_VALUE") };
    return this.locked(order, async () => {
      if (token === undefined) order.card = card;
      const result = await this.#parts.issuer.authorizeOrAsk(
        {
          acquirer: "PAYPAL",
          account: account.id,
          reference: order.reference,
          orderRef: order.customId ?? "",
          number: card.number,
          cryptogram: token?.cryptogram,
          asked: askedByName(card.name),
          value: order.value,
          currency: order.currency,
          ...stored,
        },
        askingOf(body),
        (record) => this.#remember(order, record),
      );
      if (result.type !== "asked") return authorizeAnswer(order, result, isWhole(asked));
      order.asked = { challenge: result.challenge, page: bankPageOf(asked.request, result.challenge) };
      return payerWanted(order);
    });
  }

  #remember(order: Order, record: Authorization): void {
    order.needsPayer = record.declineCode === "PAYER_ACTION_REQUIRED";
    if (order.needsPayer) return;
    order.authorization = { id: newId(), record, isWithdrawn: false };
    this.#orders.set(order.id, order);
    this.#orderOfAuthorization.set(order.authorization.id, order);
    this.#orderOfRecord.set(record.id, order);
  }

  readCapture({ account, request }: Asked): Executed {
    const order = this.orderOfCapture(request.parameters.id);
    const held = order?.authorization;
    if (order?.account.id !== account.id || held === undefined) return { answer: refusal(404, "INVALID_RESOURCE_ID") };
    return shown(200, order, { body: captureView(order, held, true) });
  }

  readAuthorization(asked: Asked): Executed {
    return this.#withHeld(asked, (order, held) => shown(200, order, { body: loneAuthorizationView(order, held) }));
  }

  async capture(asked: Asked): Promise<Executed> {
    return this.#withHeld(asked, (order, held) => {
      const { record } = held;
      const refused = whyNotCapturable(held);
      if (refused !== undefined) return { answer: refusal(422, refused) };
      const money = readMoney(bodyOf(asked).amount);
      if (typeof money === "string") return { answer: refusal(422, money) };
      if (money.currency !== record.currency) return { answer: refusal(422, "AUTH_CAPTURE_CURRENCY_MISMATCH") };
      if (money.value > record.value) return { answer: refusal(422, "MAX_CAPTURE_AMOUNT_EXCEEDED") };
      return this.locked(order, async () => {
        if (record.capture === "refuse" || record.capture === "fail_later") {
          this.#parts.ledger.void(record);
          held.isWithdrawn = true;
          return { answer: refusal(422, "AUTHORIZATION_DENIED") };
        }
        await this.#parts.issuer.captureDelay(record);
        if (!this.#parts.ledger.capture(record, money.value)) return { answer: refusal(422, "AUTHORIZATION_VOIDED") };
        this.#nameCapture(order, held);
        const answer = { status: 201, body: captureView(order, held, isWhole(asked)), about: order.reference };
        return { answer, again: { answer } };
      });
    });
  }

  #nameCapture(order: Order, held: Held): void {
    held.captureId = newId();
    this.#orders.set(order.id, order);
    this.#orderOfCapture.set(held.captureId, order);
  }

  void(asked: Asked): Executed | Promise<Executed> {
    return this.#withHeld(asked, (order, held) => {
      if (this.#locked.has(order)) return { answer: refusal(409, "PREVIOUS_REQUEST_IN_PROGRESS") };
      if (held.record.status === "captured") return { answer: refusal(422, "PREVIOUSLY_CAPTURED") };
      if (held.record.status !== "held") return { answer: refusal(422, "PREVIOUSLY_VOIDED") };
      this.#parts.ledger.void(held.record);
      if (!isWhole(asked)) return { answer: { status: 204, body: {}, about: order.reference } };
      const body = loneAuthorizationView(order, held);
      return shown(200, order, { body, again: { order, view: "authorization" } });
    });
  }

  /** Serializes changes of one payment; a second one meanwhile is refused. */
  async locked(order: Order, act: () => Promise<Executed>): Promise<Executed> {
    if (this.#locked.has(order)) return { answer: refusal(409, "PREVIOUS_REQUEST_IN_PROGRESS") };
    this.#locked.add(order);
    try {
      return await act();
    } finally {
      this.#locked.delete(order);
      this.#orders.set(order.id, order);
    }
  }

  #withHeld<Result extends Executed | Promise<Executed>>(
    { account, request }: Asked,
    act: (order: Order, held: Held) => Result,
  ): Result | Executed {
    const order = this.orderOf(request.parameters.id);
    if (order?.account.id !== account.id || order.authorization === undefined) {
      return { answer: refusal(404, "INVALID_RESOURCE_ID") };
    }
    return act(order, order.authorization);
  }
}

function authorizeAnswer(order: Order, result: CardResult, whole: boolean): Executed {
  const about = order.reference;
  const again: Again = { order, view: whole ? "whole" : "brief" };
  switch (result.type) {
    case "held":
      return { answer: { status: 201, body: orderView(order, whole, result.authorization), about }, again };
    case "declined":
      // A payment that the processor denied is an order that has ended; one that it did not see is an issue.
      return order.needsPayer
        ? { answer: { ...refusal(422, "PAYER_ACTION_REQUIRED"), about } }
        : { answer: { status: 201, body: orderView(order, whole), about }, again };
    case "failed":
      return { answer: { ...refusal(result.status), about }, again: order.authorization && again };
    case "refused":
      return { answer: { ...refusal(422, "ORDER_COMPLETED_OR_VOIDED"), about } };
    case "silent":
      return { answer: "hang_up", again: order.authorization && again };
    default:
      return unreachable(result);
  }
}

/** Refuses an authorization until the customer has acted: issue of `orders.authorize` in PayPal's OpenAPI file. */
function payerWanted(order: Order): Executed {
  const { body, ...answer } = refusal(422, "PAYER_ACTION_REQUIRED");
  const links = payerLinks(order);
  const refused = { ...answer, body: { ...body, ...(links.length > 0 && { links }) }, about: order.reference };
  return { answer: refused, again: { answer: refused } };
}

/**
 * Returns the permission to challenge the customer. Without `verification`, PayPal does so if the law requires it, and
 * has no address to return the customer to:
 * https://developer.paypal.com/docs/checkout/advanced/customize/3d-secure/api/ (2026).
 */
function askingOf(body: Json): Asking | undefined {
  const card = cardIn(body);
  const context = isObject(card.experience_context) ? card.experience_context : {};
  const attributes = isObject(card.attributes) ? card.attributes : {};
  const { method } = isObject(attributes.verification) ? attributes.verification : {};
  if (!URL.canParse(String(context.return_url))) return undefined;
  const urls = { returnUrl: String(context.return_url), cancelUrl: String(context.cancel_url) };
  return { wish: method === "SCA_ALWAYS" ? "always" : "as_needed", ...urls };
}

function shown(
  status: number,
  { reference: about }: Order,
  { body, again }: { readonly body: object; readonly again?: Again },
): Executed {
  return { answer: { status, body, about }, again };
}

function whyNotCapturable({ record, isWithdrawn }: Held): string | undefined {
  if (isWithdrawn || record.status === "declined") return "AUTHORIZATION_DENIED";
  if (record.status === "voided") return "AUTHORIZATION_VOIDED";
  return record.status === "captured" ? "AUTHORIZATION_ALREADY_CAPTURED" : undefined;
}

function isWhole({ request }: Asked): boolean {
  return request.headers.prefer === "return=representation";
}

/** Returns the body of a request; empty if it is not an object. */
export function bodyOf({ request }: Asked): Json {
  return parseJsonObject(Buffer.from(request.body)) ?? {};
}

/** Reads an amount in PayPal's own smallest unit, or returns the issue with it. */
export function readMoney(money: unknown): { value: number; currency: string } | string {
  if (!isObject(money) || typeof money.value !== "string") return "CANNOT_BE_ZERO_OR_NEGATIVE";
  const currency = String(money.currency_code);
  const decimals = Object.hasOwn(currencies, currency) ? currencies[currency] : undefined;
  if (decimals === undefined) return "INVALID_CURRENCY_CODE";
  const [, whole = "", fraction = ""] = /^(\d{1,15})(?:\.(\d+))?$/.exec(money.value) ?? [];
  if (fraction.length > decimals) return decimals === 0 ? "DECIMALS_NOT_SUPPORTED" : "DECIMAL_PRECISION";
  const value = Number(whole + fraction.padEnd(decimals, "0"));
  return value > 0 ? { value, currency } : "CANNOT_BE_ZERO_OR_NEGATIVE";
}

/** Returns the device's number of a wallet's decrypted token, and its cryptogram. */
function tokenIn({ payment_source: source }: Json): { readonly card: Json; readonly cryptogram: string } | undefined {
  const [name, wallet] = isObject(source) ? (Object.entries(source)[0] ?? []) : [];
  const token = isObject(wallet) && isObject(wallet.decrypted_token) ? wallet.decrypted_token : undefined;
  if (token === undefined) return undefined;
  const [card, proof] = name === "apple_pay" ? [token.tokenized_card, token.payment_data] : [token.card, token];
  if (!isObject(card) || !isObject(proof)) return undefined;
  return { card, cryptogram: String(proof.cryptogram) };
}

function readCard({
  number,
  expiry,
  name,
}: Json): { number: string; expiry: string; name: string | undefined } | string {
  if (typeof number !== "string" || !/^\d{13,19}$/.test(number)) return "CARD_NUMBER_REQUIRED";
  if (typeof expiry !== "string") return "CARD_EXPIRY_REQUIRED";
  if (!(expiry >= new Date().toISOString().slice(0, 7))) return "CARD_EXPIRED";
  return { number, expiry, name: typeof name === "string" ? name : undefined };
}

/**
 * Returns the part that a stored card has in a payment, or undefined for parameters that are not compatible: the OpenAPI
 * file, `card_stored_credential`, and `security_code`.
 */
function storedUseIn(body: Json, savedCards: SavedCards): Pick<CardPayment, "saves" | "renews"> | undefined {
  const { stored_credential: stored, number, security_code: code } = cardIn(body);
  if (!isObject(stored)) return {};
  const {
    payment_initiator: initiator,
    payment_type: type,
    usage,
    previous_network_transaction_reference: first,
  } = stored;
  if (initiator === "CUSTOMER") {
    if (first !== undefined) return undefined;
    return usage === "FIRST" ? { saves: { customer: "" } } : {};
  }
  if (type === "ONE_TIME" || usage === "FIRST" || code !== undefined) return undefined;
  const networkId = isObject(first) ? first.id : undefined;
  return { renews: savedCards.findNetworkId(networkId, String(number)) ?? "unknown" };
}

function cardIn({ payment_source: source }: Json): Json {
  return isObject(source) && isObject(source.card) ? source.card : {};
}
