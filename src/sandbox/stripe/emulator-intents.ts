/** Payment methods and payment intents at Stripe's emulator, and the operations on each. Money is in the ledger. */

import { currencies } from "../../gateways/stripe/currencies.ts";
import { unreachable } from "../../platform/errors.ts";
import { bankPageOf } from "../bank-pages.ts";
import type { Book } from "../books.ts";
import type { CardPayment, Challenge } from "../challenges.ts";
import type { CardResult } from "../issuer.ts";
import { type Authorization, isPart } from "../ledger.ts";
import { isCardNumber } from "./emulator-cards.ts";
import { EmulatorCustomers } from "./emulator-customers.ts";
import { askingOf, metadataIn, proofOf, seconds } from "./emulator-forms.ts";
import type { Executed } from "./emulator-keys.ts";
import {
  type Answered,
  type Asked,
  cardError,
  type Intent,
  intentView,
  networksOf,
  newId,
  type PaymentMethod,
  paymentMethodView,
  refusal,
  statusOf,
} from "./emulator-objects.ts";
import type { IntentParts } from "./emulator-parts.ts";
import { EmulatorSetUps } from "./emulator-set-ups.ts";

// A day of a busy demo; beyond it the oldest are dropped.
const objectsMax = 100_000;

export class EmulatorIntents {
  readonly customers: EmulatorCustomers;
  readonly setUps: EmulatorSetUps;
  readonly #parts: IntentParts;
  readonly #intents: Book<Intent>;
  readonly #methods: Book<PaymentMethod>;
  /** The intents by the ids of their challenges. */
  readonly #asked: Book<Intent>;
  readonly #byAuthorization: Book<Intent>;
  /** The intents that another request is working on. */
  readonly #locked = new WeakSet<Intent>();
  /** The new intents, which the search does not find yet. */
  readonly #unindexed = new WeakSet<Intent>();

  constructor(parts: IntentParts) {
    this.#parts = parts;
    this.#intents = parts.books.open("stripe intent", objectsMax);
    this.#methods = parts.books.open("stripe payment method", objectsMax);
    this.customers = new EmulatorCustomers(parts, this.#methods);
    this.setUps = new EmulatorSetUps(parts, this.#methods, this.customers);
    this.#asked = parts.books.open("stripe challenge", objectsMax);
    this.#byAuthorization = parts.books.open("stripe authorization", objectsMax);
    // "After next_actions are handled, no additional confirmation is required": https://docs.stripe.com/api/payment_intents
    // (2026), `confirmation_method`.
    parts.challenges.onPassed((challenge) => {
      const intent = this.#asked.get(challenge.id);
      if (intent?.isManual === false) void this.#decide(intent, challenge);
    });
  }

  find(id: string | undefined): Intent | undefined {
    return this.#intents.get(id ?? "");
  }

  /** Finds the payment intent of an authorization of the ledger's. */
  findByAuthorization(authorization: Authorization): Intent | undefined {
    return this.#byAuthorization.get(authorization.id);
  }

  createMethod({ account, form }: Asked): Answered {
    if (!account.rawCards) return refusal(402, undefined);
    const [number, year] = [form.get("card[number]") ?? "", Number(form.get("card[exp_year]"))];
    const cardRefusal = (code: string) => refusal(402, code, { type: "card_error" });
    if (!isCardNumber(number)) return cardRefusal("incorrect_number");
    if (!(year >= new Date().getUTCFullYear())) return cardRefusal("invalid_expiry_year");
    const method: PaymentMethod = {
      id: newId("pm"),
      account: account.id,
      livemode: account.environment === "live",
      number,
      expMonth: Number(form.get("card[exp_month]")),
      expYear: year,
      name: form.get("billing_details[name]"),
      email: form.get("billing_details[email]"),
      metadata: metadataIn(form),
    };
    this.#methods.set(method.id, method);
    return { status: 200, body: paymentMethodView(method, seconds()), about: method.metadata.attempt_id ?? "" };
  }

  create({ account, form }: Asked): Answered {
    const [value, currency] = [Number(form.get("amount")), (form.get("currency") ?? "").toUpperCase()];
    if (!Number.isSafeInteger(value) || value < 1) return refusal(400, "parameter_invalid_integer");
    if (value > 99_999_999) return refusal(400, "amount_too_large");
    if (!Object.hasOwn(currencies, currency)) return refusal(400, undefined, { param: "currency" });
    if (form.get("capture_method") !== "manual" || !account.manualCapture) {
      return refusal(400, undefined, { param: "capture_method" });
    }
    const customer = form.get("customer") ?? undefined;
    if (customer !== undefined && !this.customers.has(account.id, customer)) {
      return refusal(400, "resource_missing", { param: "customer" });
    }
    const intent: Intent = {
      id: newId("pi"),
      customer,
      account: account.id,
      livemode: account.environment === "live",
      value,
      currency,
      created: seconds(),
      isManual: form.get("confirmation_method") === "manual",
      metadata: metadataIn(form),
      isCancelled: false,
    };
    this.#intents.set(intent.id, intent);
    this.#unindexed.add(intent);
    const { pauses, searchLagMs } = this.#parts;
    void pauses.wait("stripe.search-index", referenceOf(intent), searchLagMs).then(() => {
      this.#unindexed.delete(intent);
    });
    return shown(intent);
  }

  search({ account, request }: Asked): Answered {
    const wanted = /^metadata\['attempt_id'\]:'([^']*)'$/.exec(request.query.get("query") ?? "")?.[1];
    if (wanted === undefined) return refusal(400, "parameter_invalid_string", { param: "query" });
    const found = this.#intents
      .values()
      .filter((one) => one.account === account.id && !this.#unindexed.has(one) && one.metadata.attempt_id === wanted);
    const data = found.map((intent) => intentView(intent, { expandsCharge: true }));
    return { status: 200, body: { object: "search_result", data, has_more: false, url: request.path }, about: wanted };
  }

  /** Finds the intent of the path; a change is refused while another one runs, instead of waiting for it. */
  async #withIntent(
    { account, request }: Asked,
    act: (intent: Intent) => Answered | Promise<Answered | Executed>,
  ): Promise<Answered | Executed> {
    const intent = this.find(request.parameters.id);
    if (intent?.account !== account.id) return refusal(404, "resource_missing");
    if (request.method === "GET") return act(intent);
    if (this.#locked.has(intent)) return refusal(429, "lock_timeout");
    this.#locked.add(intent);
    try {
      return await act(intent);
    } finally {
      this.#locked.delete(intent);
      this.#intents.set(intent.id, intent);
    }
  }

  read(asked: Asked): Promise<Answered | Executed> {
    return this.#withIntent(asked, (intent) => shown(intent, asked));
  }

  confirm(asked: Asked): Promise<Answered | Executed> {
    return this.#withIntent(asked, async (intent) => {
      if (statusOf(intent) === "requires_confirmation" && intent.asked !== undefined) {
        return confirmAnswer(intent, await this.#decide(intent, intent.asked.challenge), asked);
      }
      const method = this.#methods.get(asked.form.get("payment_method") ?? "");
      if (method?.account !== intent.account) return refusal(400, "resource_missing", { param: "payment_method" });
      if (statusOf(intent) !== "requires_payment_method") return unexpectedState(intent);
      // The network has to be one of the card's: the OpenAPI file, `payment_method_options[card][network]`.
      const network = asked.form.get("payment_method_options[card][network]") ?? undefined;
      if (network !== undefined && proofOf(asked) === undefined && !networksOf(method).includes(network))
        return refusal(400, "parameter_invalid_string", { param: "payment_method_options[card][network]" });
      const stored = this.customers.storedUse(intent, method, asked.form);
      if (stored === undefined) return refusal(400, undefined, { param: "payment_method" });
      intent.paymentMethod = method;
      intent.network = network;
      const chargeId = newId("ch");
      const result = await this.#parts.issuer.authorizeOrAsk(
        { ...paymentOf(intent, method, proofOf(asked)), ...stored },
        askingOf(asked),
        (decided) => {
          this.#keep(intent, decided);
          intent.chargeId = chargeId;
        },
      );
      if (result.type !== "asked") {
        intent.chargeId = chargeId;
        return confirmAnswer(intent, result, asked);
      }
      const { challenge } = result;
      intent.asked = { challenge, page: bankPageOf(asked.request, challenge) };
      this.#asked.set(challenge.id, intent);
      return shown(intent, asked);
    });
  }

  /** Decides a payment whose customer has passed. */
  #decide(intent: Intent, challenge: Challenge): Promise<CardResult> {
    intent.chargeId = newId("ch");
    return this.#parts.issuer.settle(challenge, (authorization) => this.#keep(intent, authorization));
  }

  #keep(intent: Intent, authorization: Authorization): void {
    intent.authorization = authorization;
    this.customers.attach(intent);
    this.#intents.set(intent.id, intent);
    this.#byAuthorization.set(authorization.id, intent);
  }

  capture(asked: Asked): Promise<Answered | Executed> {
    return this.#withIntent(asked, async (intent) => {
      const { authorization } = intent;
      if (authorization?.status !== "held") return unexpectedState(intent);
      if (authorization.capture === "refuse" || authorization.capture === "fail_later") {
        return refusal(400, "capture_charge_authorization_expired", { payment_intent: intentView(intent) });
      }
      const value = Number(asked.form.get("amount_to_capture") ?? authorization.value);
      if (!isPart(value, authorization.value)) {
        const details = { param: "amount_to_capture", payment_intent: intentView(intent) };
        return refusal(400, "amount_too_large", details);
      }
      await this.#parts.issuer.captureDelay(authorization);
      if (!this.#parts.ledger.capture(authorization, value)) return unexpectedState(intent);
      intent.metadata = { ...intent.metadata, ...metadataIn(asked.form) };
      return shown(intent);
    });
  }

  cancel(asked: Asked): Promise<Answered | Executed> {
    return this.#withIntent(asked, (intent) => {
      if (["canceled", "succeeded"].includes(statusOf(intent))) return unexpectedState(intent);
      if (intent.authorization !== undefined) this.#parts.ledger.void(intent.authorization);
      if (intent.asked !== undefined) this.#parts.challenges.answer(intent.asked.challenge, "cancelled");
      intent.isCancelled = true;
      return shown(intent);
    });
  }
}

function paymentOf(intent: Intent, { metadata, number }: PaymentMethod, proof: CardPayment["proof"]): CardPayment {
  const { account, value, currency } = intent;
  const orderRef = metadata.order_ref ?? "";
  return { acquirer: "STRIPE", account, reference: referenceOf(intent), orderRef, number, value, currency, proof };
}

function confirmAnswer(intent: Intent, result: CardResult, { form }: Asked): Answered | Executed {
  const about = referenceOf(intent);
  switch (result.type) {
    case "held": {
      const view = { expandsCharge: form.get("expand[0]") === "latest_charge", seenAs: result.authorization };
      return { status: 200, body: intentView(intent, view), about };
    }
    case "declined":
      return {
        status: 402,
        // The emulator expands nothing in an error: a client that needs the charge reads it.
        body: { error: { ...cardError(intent, result.authorization), payment_intent: intentView(intent) } },
        about,
      };
    case "failed":
      return { ...refusal(result.status, undefined), about };
    case "refused":
      return unexpectedState(intent);
    case "silent": {
      const kept = intent.authorization === undefined ? refusal(500, undefined) : shown(intent);
      return { answer: "hang_up", kept };
    }
    default:
      return unreachable(result);
  }
}

function shown(intent: Intent, asked?: Asked): Answered {
  const expandsCharge = asked?.request.query.get("expand[0]") === "latest_charge";
  return { status: 200, body: intentView(intent, { expandsCharge }), about: referenceOf(intent) };
}

function unexpectedState(intent: Intent): Answered {
  const answer = refusal(400, "payment_intent_unexpected_state", { payment_intent: intentView(intent) });
  return { ...answer, about: referenceOf(intent) };
}

function referenceOf({ metadata }: Intent): string {
  return metadata.attempt_id ?? "";
}
