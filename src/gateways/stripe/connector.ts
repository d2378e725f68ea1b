/**
 * Stripe: the requests of a card payment. answers.ts and payment-intent.ts interpret its answers.
 *
 * A payment is created without money first, so that it has a name before anything can be held, and then confirmed with
 * the card. If the name is lost, it is searched for, or the same creation is repeated: for a day its key names one
 * payment.
 */

import { randomUUID } from "node:crypto";
import type { GatewayReply } from "../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf } from "../amounts.ts";
import type {
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  CaptureAnswer,
  ChangingCall,
  Connector,
  CredentialField,
  EraseAnswer,
  GatewayAuthenticator,
  GatewayCall,
  GatewayDisputeAnswers,
  GatewayDisputes,
  GatewayOutcome,
  GatewayRefunds,
  Hold,
  LookUpAnswer,
  VerifyRow,
  VoidAnswer,
} from "../connector.ts";
import { classifyDecline } from "../declines.ts";
import { chainOf, type Renewal } from "../renewal-chains.ts";
import type { GatewayStatements } from "../statements.ts";
import type { StoredMethod } from "../stored-cards.ts";
import { untrusted } from "../unanswered.ts";
import {
  type Confirmed,
  chosenNetwork,
  isKeptError,
  isKeySpent,
  isOtherContent,
  readCapture,
  readConfirmation,
  readNewIntent,
  readPaymentMethod,
  readVoid,
  voidedIn,
  whyUnconfirmed,
} from "./answers.ts";
import { type Form, intentPath, StripeApi, type StripeParts } from "./api.ts";
import { readAction, readAuthenticated } from "./authentication.ts";
import { billingForm } from "./billing.ts";
import { currencies, whyNotPayable } from "./currencies.ts";
import { declines } from "./declines.ts";
import { StripeDisputeAnswers } from "./dispute-answers.ts";
import { StripeDisputes } from "./disputes.ts";
import { askingForm, captureForm, cardForm, creationForm, creationKey, everyCreationForm } from "./forms.ts";
import { judgeDecline } from "./judge-decline.ts";
import { mayBeForgotten } from "./key-life.ts";
import { foundIntents, isFor, readRecord, readSearch } from "./payment-intent.ts";
import { StripeRefunds } from "./refunds.ts";
import { askSetUp, completeSetUp, lookUpSetUp, setUp, undoSetUp } from "./set-up.ts";
import { stripeStatements } from "./settlement.ts";
import { customerOf, eraseMethod, renewalForm, savingForm } from "./stored-cards.ts";
import { secretKeyField, verifyAccount } from "./verify.ts";

/** The connector for Stripe's payment intents, with cards that the vault fills in. */
export class StripeConnector implements Connector {
  readonly gateway = "STRIPE";
  readonly canRead = true;
  /** A cancelled payment intent refuses every later confirmation: https://docs.stripe.com/api/payment_intents/cancel (2026). */
  readonly refusesVoidedReference = true;
  /**
   * The time that Stripe's own libraries wait for an answer (80 s: https://github.com/stripe/stripe-node#timeout,
   * 2026).
   */
  readonly executionLimitMs = 80_000;
  readonly failsOnRequest = false;
  readonly importsProof = true;
  readonly forwardFeatures = ["form_body"] as const;
  /** A customer's payment is held for 7 days: https://docs.stripe.com/payments/place-a-hold-on-a-payment-method (2026). */
  readonly holdLifeMs = 7 * 24 * 60 * 60 * 1_000;
  readonly storedCards = "own";
  readonly setsUp = true;
  readonly keepsSetUps = true;
  readonly credentialFields: readonly CredentialField[];
  readonly authentication: GatewayAuthenticator = {
    // True because of manual confirmation: see creation.ts.
    holdsOnlyWhenAsked: true,
    actionLifeMs: 0,
    framing: "frame",
    // The payment intent is read instead.
    readReturn: () => undefined,
    complete: (call, attempt) =>
      attempt.amountMinor === 0 ? completeSetUp(this.#api, call, attempt) : this.#complete(call, attempt),
    askAction: async (call, attempt) =>
      attempt.amountMinor === 0
        ? askSetUp(this.#api, call, attempt)
        : readAction(await this.#read(call, attempt.gatewayReference ?? ""), attempt),
  };
  readonly refunds: GatewayRefunds;
  readonly disputes: GatewayDisputes;
  readonly disputeAnswers: GatewayDisputeAnswers;
  readonly statements: GatewayStatements;
  readonly #api: StripeApi;

  constructor(parts: StripeParts) {
    this.#api = new StripeApi(parts);
    this.refunds = new StripeRefunds(this.#api);
    this.disputes = new StripeDisputes(this.#api);
    this.disputeAnswers = new StripeDisputeAnswers(this.#api);
    this.statements = stripeStatements((...asked) => this.#api.get(...asked), currencies);
    this.credentialFields = [secretKeyField(parts.environment)];
  }

  whyNotPayable(amount: Amount): string | undefined {
    return whyNotPayable(amount);
  }

  async authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
    const reason = whyNotPayable(request);
    if (reason !== undefined) {
      return { outcome: { type: "notProcessed", cause: "request_refused", reason } };
    }
    const { storedCard, amountMinor } = request;
    if (amountMinor === 0) return setUp(this.#api, call, request);
    if (storedCard?.type === "renewal") return this.#renew(call, request, storedCard);
    const left = this.#api.sharedDeadline(call);
    const [{ reply, card, chosenBrand }, created] = await Promise.all([
      this.#api.postCard(call, request, {
        key: `${call.idempotencyKey}_card`,
        form: { ...cardForm(request), ...billingForm(request) },
      }),
      this.#create(call, request),
    ]);
    const method = readPaymentMethod(reply, request);
    const intent = readNewIntent(created, request);
    if (method.type !== "ready" || intent.type !== "ready") {
      return { outcome: whyUnconfirmed(method, intent), card };
    }
    const attempt = { ...request, gatewayReference: intent.id };
    const form = {
      payment_method: method.id,
      "payment_method_options[card][network]": chosenNetwork(reply, chosenBrand),
      ...askingForm(request.authentication, request.proof),
      ...(storedCard && savingForm(storedCard)),
    };
    const mayAsk = request.authentication !== undefined;
    return { ...(await this.#confirm(call, left, { attempt, form, mayAsk })), card };
  }

  /** Charges a stored card without the vault, because the account has the card itself. */
  async #renew(call: ChangingCall, request: AuthorizeRequest, renewal: Renewal): Promise<AuthorizeAnswer> {
    const chain = chainOf(renewal, this);
    if (chain.type !== "own") return { outcome: chain };
    const left = this.#api.sharedDeadline(call);
    const intent = readNewIntent(await this.#create(call, request), request);
    if (intent.type !== "ready") return { outcome: intent };
    const attempt = { ...request, gatewayReference: intent.id };
    return this.#confirm(call, left, { attempt, form: renewalForm(renewal, chain), mayAsk: false });
  }

  /** Confirms a payment that is prepared, unless that took too long. */
  async #confirm(
    call: ChangingCall,
    left: () => ChangingCall,
    { attempt, form, mayAsk }: { readonly attempt: Named; readonly form: Form; readonly mayAsk: boolean },
  ): Promise<AuthorizeAnswer> {
    const { gatewayReference } = attempt;
    if (left().timeoutMs < call.timeoutMs * minLeft) return { outcome: { ...tooLate, gatewayReference } };
    const confirmed = await this.#api.post(left(), intentPath(gatewayReference, "confirm"), {
      key: call.idempotencyKey,
      form: { ...form, "expand[0]": "latest_charge" },
    });
    return this.#judge(left, attempt, { confirmed, mayAsk });
  }

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    if (whyNotPayable(capturedAmountOf(hold)) !== undefined) {
      return { type: "refused", definitive: true, gatewayCode: "amount" };
    }
    const left = this.#api.sharedDeadline(call);
    const reply = await this.#capture(call, hold, call.idempotencyKey);
    const answer = readCapture(reply, hold);
    const isFinal = answer.type === "done" || (answer.type === "refused" && answer.definitive);
    if (isFinal || !isKeySpent(reply)) return answer;
    // Stripe would return this error to every repeat of this key. Another key captures an untouched hold, and cannot
    // capture twice: a captured payment intent refuses (https://docs.stripe.com/api/payment_intents/capture, 2026).
    const record = await this.lookUp(left(), hold);
    if (record.type === "captured") {
      const { type: _, gatewayReference: __, capturedMinor, ...names } = record;
      return capturedMinor === capturedAmountOf(hold).amountMinor ? { type: "done", ...names } : answer;
    }
    if (record.type === "voided") return { type: "refused", definitive: true, gatewayCode: "canceled" };
    if (record.type !== "held") return answer;
    return readCapture(await this.#capture(left(), hold, `${call.idempotencyKey}_${randomUUID()}`), hold);
  }

  async void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const { gatewayReference, amountMinor } = attempt;
    if (amountMinor === 0) return undoSetUp(this.#api, call, attempt);
    if (gatewayReference !== undefined) return this.#cancel(call, attempt, gatewayReference);
    const left = this.#api.sharedDeadline(call);
    const searched = await this.#search(call, attempt);
    const found = foundIntents(searched);
    if (found === undefined && !isUnavailable(searched)) return readVoid(searched, attempt);
    if (found === undefined || found.length === 0) {
      // After a day its key may name another payment, but a search, if the account has one, is up to date by then.
      if (!mayBeForgotten(attempt)) return this.#cancelUnnamed(left, attempt);
      if (found === undefined) return unnameable;
      // An unrecorded attempt is either so old that the search is right, or younger, so that its key still names it.
      return attempt.isUnrecorded ? this.#cancelUnnamed(left, attempt) : { type: "absent" };
    }
    if (!found.every((intent) => isFor(intent, attempt))) return untrusted(200);
    const answers: VoidAnswer[] = [];
    for (const { id } of found) answers.push(await this.#cancel(left(), attempt, String(id)));
    return answers.find(({ type }) => type !== "done") ?? { type: "done" };
  }

  async lookUp(call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer> {
    const { gatewayReference, amountMinor } = attempt;
    if (amountMinor === 0) return lookUpSetUp(this.#api, call, attempt);
    if (gatewayReference === undefined) return readSearch(await this.#search(call, attempt), attempt);
    return readRecord(await this.#read(call, gatewayReference), attempt);
  }

  verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    return verifyAccount(this.#api, call);
  }

  eraseMethod(call: ChangingCall, stored: StoredMethod): Promise<EraseAnswer> {
    return eraseMethod(this.#api, call, stored);
  }

  /** Creates the payment intent, which holds nothing yet; for the customer whose card is stored, if there is one. */
  async #create(call: GatewayCall, attempt: AttemptAtGateway, form = creationForm(attempt)): Promise<GatewayReply> {
    const key = creationKey(attempt);
    if (attempt.storedCard === undefined) return this.#api.post(call, "/v1/payment_intents", { key, form });
    const left = this.#api.sharedDeadline(call);
    const customer = await customerOf(this.#api, call, attempt.storedCard);
    if ("type" in customer) return customer;
    return this.#api.post(left(), "/v1/payment_intents", { key, form: { ...form, customer: customer.id } });
  }

  /** Confirms a payment whose customer has answered. Its card and its return address are Stripe's already. */
  async #complete(call: ChangingCall, attempt: AttemptAtGateway): Promise<AuthorizeAnswer> {
    const left = this.#api.sharedDeadline(call);
    const named = { ...attempt, gatewayReference: attempt.gatewayReference ?? "" };
    const confirmed = await this.#api.post(call, intentPath(named.gatewayReference, "confirm"), {
      key: call.idempotencyKey,
      form: { "expand[0]": "latest_charge" },
    });
    return this.#judge(left, named, { confirmed, mayAsk: false });
  }

  /** Judges the answer to a confirmation. An unknown result has the intent's name. */
  async #judge(
    left: () => ChangingCall,
    attempt: Named,
    { confirmed, mayAsk }: { readonly confirmed: GatewayReply; readonly mayAsk: boolean },
  ): Promise<AuthorizeAnswer> {
    const { gatewayReference } = attempt;
    const read = readConfirmation(confirmed, attempt);
    if (mayAsk && read.type === "actionNeeded" && read.url !== undefined) {
      const action = { url: read.url, method: "GET", fields: {} } as const;
      return { outcome: { type: "actionNeeded", gatewayReference, action } };
    }
    const { outcome, reply = confirmed } = await this.#settle(left, attempt, read);
    const authenticated = readAuthenticated(reply);
    return { outcome: outcome.type === "unknown" ? { ...outcome, gatewayReference } : outcome, authenticated };
  }

  /**
   * Judges a decline. One that came without its charge is read once more, because a plain code may hide a block of
   * Radar's; a record that contradicts the decline makes it unknown. A payment that waits for a customer whom nothing
   * challenges is cancelled first: until then, a hold may still appear.
   */
  async #settle(
    left: () => ChangingCall,
    attempt: Named,
    confirmed: Confirmed,
  ): Promise<{ readonly outcome: GatewayOutcome; readonly reply?: GatewayReply }> {
    if (confirmed.type === "outcome") return confirmed;
    if (confirmed.type === "actionNeeded") {
      const cancelled = await this.#cancel(left(), attempt, attempt.gatewayReference);
      const isCancelled = cancelled.type === "done";
      return { outcome: isCancelled ? classifyDecline(declines, "authentication_required") : uncancelled };
    }
    const reply = await this.#read(left(), attempt.gatewayReference);
    const record = readRecord(reply, attempt);
    if (record.type === "declined") return { outcome: record, reply };
    const isAnswered = reply.type === "answer" && reply.status === 200;
    return { outcome: isAnswered ? untrusted(reply.status) : judgeDecline(confirmed.error, undefined) };
  }

  /**
   * Cancels a payment whose name is unknown. Creating it again under the same key returns the name that any
   * confirmation must have used; cancelled, it refuses a later confirmation.
   */
  async #cancelUnnamed(left: () => ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const reply = await this.#createAgain(left, attempt);
    const intent = readNewIntent(reply, attempt);
    if (intent.type === "ready") return this.#cancel(left(), attempt, intent.id);
    // An error that is kept for the key, or that refuses the request as such: no confirmation ever had a name to use.
    const isRefused = intent.type === "notProcessed" && reply.type === "answer" && reply.status === 400;
    if (isKeptError(reply) || isRefused) return { type: "absent" };
    return readVoid(reply, attempt);
  }

  /** Repeats the creation, with the bytes that the key belongs to. A key that is unknown takes the newest. */
  async #createAgain(left: () => ChangingCall, attempt: AttemptAtGateway): Promise<GatewayReply> {
    const [newest, ...older] = everyCreationForm(attempt);
    let reply = await this.#create(left(), attempt, newest);
    for (const form of older) {
      if (!isOtherContent(reply)) break;
      reply = await this.#create(left(), attempt, form);
    }
    return reply;
  }

  #capture(call: GatewayCall, hold: Hold, key: string): Promise<GatewayReply> {
    return this.#api.post(call, intentPath(hold.gatewayReference, "capture"), { key, form: captureForm(hold) });
  }

  async #cancel(call: ChangingCall, attempt: AttemptAtGateway, id: string): Promise<VoidAnswer> {
    // A search may find several under one reference, and a key is for one request only.
    const key = `${call.idempotencyKey}_${id}`;
    const left = this.#api.sharedDeadline(call);
    const request = { key, form: { cancellation_reason: "abandoned" } };
    const reply = await this.#api.post(call, intentPath(id, "cancel"), request);
    const named = { ...attempt, gatewayReference: id };
    // The hold has attached the payment method to its customer, where it stays.
    const method = attempt.forgetsCard && voidedIn(reply, named)?.payment_method;
    if (typeof method !== "string") return readVoid(reply, named);
    const kept = { customer: "", method, isLast: false };
    const erased = await eraseMethod(this.#api, { ...left(), idempotencyKey: key }, kept);
    return erased.type === "unknown" ? erased : { type: "done" };
  }

  #read(call: GatewayCall, id: string): Promise<GatewayReply> {
    return this.#api.get(call, intentPath(id), { "expand[0]": "latest_charge" });
  }

  #search(call: GatewayCall, attempt: AttemptAtGateway): Promise<GatewayReply> {
    return this.#api.get(call, "/v1/payment_intents/search", {
      query: `metadata['attempt_id']:'${attempt.attemptReference}'`,
      limit: "10",
      "expand[0]": "data.latest_charge",
    });
  }
}

/** An attempt whose payment intent is known. */
type Named = AttemptAtGateway & { readonly gatewayReference: string };

// In the last tenth of its time, a confirmation would mostly leave a hold to be voided (1 s of the default 10 s).
const minLeft = 0.1;

const tooLate = {
  type: "unknown",
  kind: "TIMEOUT",
  reason: "preparing the payment left no time to confirm it",
} as const;

const uncancelled = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "the customer would have to act, and the payment could not be cancelled",
} as const;

const unnameable = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "the account has no search, and the payment is too old to be named by its key",
} as const;

/** Reports whether the account has no search, as in India: https://docs.stripe.com/search (2026). */
function isUnavailable(reply: GatewayReply): boolean {
  return reply.type === "answer" && reply.status === 400;
}
