/**
 * Customers at Stripe's emulator, and the payment methods that belong to them: the types of npm stripe 23.1.0 (2026),
 * Customers and PaymentMethods.
 */
import type { Book, Books } from "../books.ts";
import type { CardPayment } from "../challenges.ts";
import type { SavedCards } from "../saved-cards.ts";
import {
  type Answered,
  type Asked,
  type Intent,
  newId,
  type PaymentMethod,
  paymentMethodView,
  refusal,
} from "./emulator-objects.ts";

type Customer = { readonly id: string; readonly account: string; readonly pseudonym: string; isDeleted: boolean };

// A day of a busy demo; beyond it the oldest are dropped.
const customersMax = 100_000;

export class EmulatorCustomers {
  readonly #customers: Book<Customer>;
  readonly #methods: Book<PaymentMethod>;
  readonly #savedCards: SavedCards;

  constructor({ books, savedCards }: { books: Books; savedCards: SavedCards }, methods: Book<PaymentMethod>) {
    this.#customers = books.open("stripe customer", customersMax);
    this.#methods = methods;
    this.#savedCards = savedCards;
  }

  create({ account, form }: Asked): Answered {
    const pseudonym = form.get("metadata[customer]") ?? "";
    const customer: Customer = { id: newId("cus"), account: account.id, pseudonym, isDeleted: false };
    this.#customers.set(customer.id, customer);
    return { status: 200, body: { id: customer.id, object: "customer", metadata: { customer: pseudonym } } };
  }

  has(account: string, id: string): boolean {
    return this.#find(account, id) !== undefined;
  }

  /** Deletes a customer, whose payment methods are detached. */
  delete({ account, request }: Asked): Answered {
    const customer = this.#find(account.id, request.parameters.id);
    if (customer === undefined) return refusal(404, "resource_missing", { param: "id" });
    customer.isDeleted = true;
    this.#customers.set(customer.id, customer);
    for (const method of this.#methods.values()) if (method.customer === customer.id) this.#release(method);
    return { status: 200, body: { id: customer.id, object: "customer", deleted: true } };
  }

  /** Detaches a payment method; one without a customer is refused. */
  detach(asked: Asked): Answered {
    const method = this.#methodOf(asked);
    if (method === undefined) return refusal(404, "resource_missing", { param: "id" });
    if (method.customer === undefined) return refusal(400, undefined, { param: "payment_method" });
    this.#release(method);
    return { status: 200, body: paymentMethodView(method, 0) };
  }

  readMethod(asked: Asked): Answered {
    const method = this.#methodOf(asked);
    if (method === undefined) return refusal(404, "resource_missing", { param: "id" });
    return { status: 200, body: paymentMethodView(method, 0) };
  }

  /**
   * Returns the part that a stored card has in a confirmed payment: `setup_future_usage` attaches the method to the
   * payment's customer (the OpenAPI file), `off_session` charges an attached one. Undefined for a method that the payment
   * cannot use.
   */
  storedUse(
    { customer, account }: Intent,
    method: PaymentMethod,
    form: URLSearchParams,
  ): Pick<CardPayment, "saves" | "renews"> | undefined {
    // "Payment methods attached to other Customers cannot be used with this PaymentIntent": the OpenAPI file, `customer`.
    if (method.customer !== undefined && method.customer !== customer) return undefined;
    if (form.has("off_session")) {
      if (customer === undefined || method.customer === undefined) return undefined;
      const name = { acquirer: "STRIPE", account, customer, method: method.id } as const;
      return { renews: this.#savedCards.findMethod(name) ?? "unknown" };
    }
    if (!form.has("setup_future_usage") || customer === undefined) return {};
    const pseudonym = this.#find(account, customer)?.pseudonym;
    return { saves: { customer, pseudonym, method: method.id } };
  }

  /** Attaches a payment's method to its customer once it is approved. */
  attach({ authorization, paymentMethod, customer }: Intent): void {
    if (authorization?.saved === undefined || paymentMethod === undefined || customer === undefined) return;
    paymentMethod.customer = customer;
    this.#methods.set(paymentMethod.id, paymentMethod);
  }

  #release(method: PaymentMethod): void {
    const { account, customer, id } = method;
    if (customer !== undefined) this.#savedCards.erase({ acquirer: "STRIPE", account, customer, method: id });
    method.customer = undefined;
    this.#methods.set(id, method);
  }

  #methodOf({ account, request }: Asked): PaymentMethod | undefined {
    const method = this.#methods.get(request.parameters.id ?? "");
    return method?.account === account.id ? method : undefined;
  }

  #find(account: string, id: string | undefined): Customer | undefined {
    const customer = this.#customers.get(id ?? "");
    return customer?.account === account && !customer.isDeleted ? customer : undefined;
  }
}
