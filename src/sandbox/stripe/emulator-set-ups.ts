/** Setup intents at Stripe's emulator, which store a card and hold no money: the types of npm stripe 23.1.0 (2026), SetupIntents. */
import { unreachable } from "../../platform/errors.ts";
import { bankPageOf } from "../bank-pages.ts";
import type { Book } from "../books.ts";
import type { CardPayment } from "../challenges.ts";
import type { CardResult } from "../issuer.ts";
import type { EmulatorCustomers } from "./emulator-customers.ts";
import { askingOf, metadataIn, proofOf, seconds } from "./emulator-forms.ts";
import type { Executed } from "./emulator-keys.ts";
import {
  type Answered,
  type Asked,
  authenticationFailure,
  cardError,
  type Intent,
  newId,
  type PaymentMethod,
  redirectTo,
  refusal,
  statusOf,
} from "./emulator-objects.ts";
import type { IntentParts } from "./emulator-parts.ts";

// A day of a busy demo; beyond it the oldest are dropped.
const objectsMax = 100_000;

export class EmulatorSetUps {
  readonly #parts: IntentParts;
  readonly #intents: Book<Intent>;
  /** The intents by the ids of their challenges. */
  readonly #asked: Book<Intent>;
  readonly #methods: Book<PaymentMethod>;
  readonly #customers: EmulatorCustomers;

  constructor(parts: IntentParts, methods: Book<PaymentMethod>, customers: EmulatorCustomers) {
    this.#parts = parts;
    this.#methods = methods;
    this.#customers = customers;
    this.#intents = parts.books.open("stripe setup intent", objectsMax);
    this.#asked = parts.books.open("stripe setup challenge", objectsMax);
    parts.challenges.onPassed((challenge) => {
      const intent = this.#asked.get(challenge.id);
      if (intent) void parts.issuer.settle(challenge, (authorization) => this.#keep(intent, authorization));
    });
  }

  create({ account, form }: Asked): Answered {
    const customer = form.get("customer") ?? "";
    if (!this.#customers.has(account.id, customer)) return refusal(400, "resource_missing", { param: "customer" });
    const usage = form.get("usage") ?? "";
    if (!/^(on|off)_session$/.test(usage)) return refusal(400, undefined, { param: "usage" });
    const intent: Intent = {
      id: newId("seti"),
      account: account.id,
      customer,
      livemode: account.environment === "live",
      value: 0,
      currency: "",
      created: seconds(),
      isManual: false,
      usage,
      metadata: metadataIn(form),
      isCancelled: false,
    };
    this.#intents.set(intent.id, intent);
    return shown(intent);
  }

  read({ account, request }: Asked): Answered {
    const intent = this.#intents.get(request.parameters.id ?? "");
    return intent?.account === account.id ? shown(intent) : refusal(404, "resource_missing");
  }

  cancel({ account, request }: Asked): Answered {
    const intent = this.#intents.get(request.parameters.id ?? "");
    if (intent?.account !== account.id) return refusal(404, "resource_missing");
    if (["canceled", "succeeded", "processing"].includes(setUpStatus(intent))) return unexpectedState(intent);
    if (intent.asked !== undefined) this.#parts.challenges.answer(intent.asked.challenge, "cancelled");
    intent.isCancelled = true;
    this.#intents.set(intent.id, intent);
    return shown(intent);
  }

  async confirm(asked: Asked): Promise<Answered | Executed> {
    const { account, request, form } = asked;
    const intent = this.#intents.get(request.parameters.id ?? "");
    if (intent?.account !== account.id) return refusal(404, "resource_missing");
    const method = this.#methods.get(form.get("payment_method") ?? "");
    if (method?.account !== account.id) return refusal(400, "resource_missing", { param: "payment_method" });
    if (setUpStatus(intent) !== "requires_payment_method") return unexpectedState(intent);
    const stored = this.#customers.storedUse(
      intent,
      method,
      new URLSearchParams({ setup_future_usage: "off_session" }),
    );
    if (stored === undefined) return refusal(400, undefined, { param: "payment_method" });
    intent.paymentMethod = method;
    const { value, metadata } = intent;
    const payment: CardPayment = {
      acquirer: "STRIPE",
      account: account.id,
      reference: metadata.attempt_id ?? "",
      orderRef: method.metadata.order_ref ?? "",
      number: method.number,
      value,
      currency: intent.currency,
      proof: proofOf(asked),
      ...stored,
    };
    const result = await this.#parts.issuer.authorizeOrAsk(payment, askingOf(asked), (decided) =>
      this.#keep(intent, decided),
    );
    if (result.type !== "asked") return answerOf(intent, result);
    const { challenge } = result;
    intent.asked = { challenge, page: bankPageOf(request, challenge) };
    this.#intents.set(intent.id, intent);
    this.#asked.set(challenge.id, intent);
    return shown(intent);
  }

  #keep(intent: Intent, authorization: NonNullable<Intent["authorization"]>): void {
    intent.authorization = authorization;
    this.#customers.attach(intent);
    this.#intents.set(intent.id, intent);
  }
}

/** Returns the status of a setup intent: https://docs.stripe.com/payments/paymentintents/lifecycle (2026). */
function setUpStatus(intent: Intent): string {
  const status = statusOf(intent);
  return status === "requires_capture" ? "succeeded" : status === "requires_confirmation" ? "processing" : status;
}

function setUpView(intent: Intent) {
  const { id, created, customer, livemode, usage, metadata, paymentMethod, asked, authorization } = intent;
  const declined = authorization?.declineCode === undefined ? null : cardError(intent, authorization);
  const isUnauthenticated = authorization === undefined && /^(failed|cancelled)$/.test(asked?.challenge.state ?? "");
  const status = setUpStatus(intent);
  return {
    id,
    object: "setup_intent",
    created,
    customer: customer ?? null,
    livemode,
    usage,
    metadata,
    status,
    last_setup_error: isUnauthenticated
      ? { ...authenticationFailure, code: "setup_intent_authentication_failure" }
      : declined,
    next_action: status === "requires_action" && asked ? redirectTo(asked) : null,
    payment_method: paymentMethod?.id ?? null,
    payment_method_types: ["card"],
  };
}

function answerOf(intent: Intent, result: CardResult): Answered | Executed {
  const about = intent.metadata.attempt_id ?? "";
  switch (result.type) {
    case "held":
      return shown(intent);
    case "declined": {
      const error = { ...cardError(intent, result.authorization), setup_intent: setUpView(intent) };
      return { status: 402, body: { error }, about };
    }
    case "failed":
      return { ...refusal(result.status, undefined), about };
    case "refused":
      return unexpectedState(intent);
    case "silent":
      return { answer: "hang_up", kept: intent.authorization === undefined ? refusal(500, undefined) : shown(intent) };
    default:
      return unreachable(result);
  }
}

function shown(intent: Intent): Answered {
  return { status: 200, body: setUpView(intent), about: intent.metadata.attempt_id ?? "" };
}

function unexpectedState(intent: Intent): Answered {
  return refusal(400, "setup_intent_unexpected_state", { setup_intent: setUpView(intent) });
}
