/**
 * PayPal: the requests of a card payment. answers.ts and order.ts interpret its answers.
 *
 * An order is created without money first, so that it has a name before anything can be held, and then authorized with
 * the card. If the name is lost, the same creation is repeated: for six hours its key names one order.
 */

import { randomUUID } from "node:crypto";
import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import { isNetworkToken } from "../../platform/card-token.ts";
import { type GatewayReply, readJsonObject } from "../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf } from "../amounts.ts";
import type {
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  CaptureAnswer,
  CapturedPayment,
  CaptureState,
  ChangingCall,
  Connector,
  GatewayAuthenticator,
  GatewayCall,
  GatewayDisputeAnswers,
  GatewayDisputes,
  GatewayRefunds,
  Hold,
  LookUpAnswer,
  VerifyRow,
  VoidAnswer,
} from "../connector.ts";
import { ofBothWallets } from "../network-tokens.ts";
import { chainOf } from "../renewal-chains.ts";
import type { GatewayStatements } from "../statements.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import {
  captureByRecord,
  isDone,
  readAuthorized,
  readCapture,
  readCompleted,
  readNewOrder,
  readVoid,
  voidByRecord,
} from "./answers.ts";
import { authorizationPath, capturePath, orderPath, PayPalApi, type PayPalParts } from "./api.ts";
import { askingFields, isCancelled, readAction, readAuthenticated } from "./authentication.ts";
import { billingFields } from "./billing.ts";
import { toMoney, whyNotPayable } from "./currencies.ts";
import { PayPalDisputeAnswers } from "./dispute-answers.ts";
import { PayPalDisputes } from "./disputes.ts";
import { mayBeForgotten } from "./key-life.ts";
import {
  captureIn,
  isFor,
  nameOfOrder,
  type Order,
  orderNamedBy,
  parseName,
  partlyCaptured,
  readAuthorizationRecord,
  readOrder,
  readOrderRecord,
  stateOfCapture,
} from "./order.ts";
import { PayPalRefunds } from "./refunds.ts";
import { issueOf, refusedOrUnknown } from "./refusals.ts";
import { paypalStatements } from "./settlement.ts";
import { inNetworksWords, storedFields } from "./stored-cards.ts";
import { credentialFields, verifyAccount } from "./verify.ts";

/** The connector for PayPal's orders, with cards that the vault fills in. */
export class PayPalConnector implements Connector {
  readonly gateway = "PAYPAL";
  readonly canRead = true;
  /** An order cannot be cancelled: until it expires, a late authorization still holds money. */
  readonly refusesVoidedReference = false;
  /** PayPal documents no limit. Card networks let a bank take about half a minute; this is three times that. */
  readonly executionLimitMs = 90_000;
  readonly failsOnRequest = false;
  /**
   * PayPal honours a hold for three days, and keeps it for 29: https://developer.paypal.com/docs/api/payments/v2/ (2026).
   * It is never authorized anew.
   */
  readonly holdLifeMs = 3 * 24 * 60 * 60 * 1_000;
  readonly storedCards = "network";
  readonly acceptsNetworkToken = ofBothWallets;
  readonly credentialFields = credentialFields;
  /** The expiry is one value, `2031-04`. */
  readonly forwardFeatures = ["composed_value"] as const;
  readonly authentication: GatewayAuthenticator = {
    holdsOnlyWhenAsked: true,
    actionLifeMs: 0,
    // Unverified; PayPal documents a redirect of the whole page.
    framing: "window",
    // The order is read instead.
    readReturn: () => undefined,
    isCancelled,
    complete: (call, attempt) => this.#complete(call, attempt),
    askAction: async (call, attempt) => {
      const id = orderIn(attempt);
      return readAction(await this.#api.get(call, `${orderPath(id)}?fields=payment_source`), attempt, id);
    },
  };
  readonly refunds: GatewayRefunds;
  readonly disputes: GatewayDisputes;
  readonly disputeAnswers: GatewayDisputeAnswers;
  readonly statements: GatewayStatements;
  readonly #api: PayPalApi;

  constructor(parts: PayPalParts) {
    this.#api = new PayPalApi(parts);
    this.refunds = new PayPalRefunds(this.#api);
    this.disputes = new PayPalDisputes(this.#api);
    this.disputeAnswers = new PayPalDisputeAnswers(this.#api);
    this.statements = paypalStatements(this.#api);
  }

  whyNotPayable(amount: Amount): string | undefined {
    return whyNotPayable(amount);
  }

  async authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
    const reason = whyNotPayable(request);
    if (reason !== undefined) {
      return { outcome: { type: "notProcessed", cause: "request_refused", reason } };
    }
    const { storedCard, wallet } = request;
    const isToken = isNetworkToken(request);
    if (isToken && wallet?.name === undefined) return { outcome: unknownWallet };
    const chain = storedCard?.type === "renewal" ? chainOf(storedCard, this) : undefined;
    if (chain?.type === "notProcessed") return { outcome: chain };
    const left = this.#api.sharedDeadline(call);
    const order = readNewOrder(await this.#create(call, request), request);
    if (order.type !== "ready") return { outcome: order };
    const gatewayReference = nameOfOrder(order.id);
    if (left().timeoutMs < call.timeoutMs * minLeft) return { outcome: { ...tooLate, gatewayReference } };
    const { authentication } = request;
    const stored = storedCard && storedFields(storedCard, chain);
    const change = {
      orderId: order.id,
      key: call.idempotencyKey,
      body: isToken ? tokenBody(request) : cardBody(request, stored),
    };
    const { reply, card } = await this.#api.postCard(left(), request, change, isToken ? wallet?.name : undefined);
    const read = readAuthorized(reply, request, order.id, authentication !== undefined);
    const outcome = storedCard && read.type === "declined" ? inNetworksWords(read, card?.brand) : read;
    return {
      outcome: outcome.type === "unknown" ? { gatewayReference, ...outcome } : outcome,
      card,
      authenticated: readAuthenticated(reply),
    };
  }

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    const ordered = capturedAmountOf(hold);
    if (whyNotPayable(ordered) !== undefined) return { type: "refused", definitive: true, gatewayCode: "amount" };
    const left = this.#api.sharedDeadline(call);
    const reply = await this.#capture(call, hold, call.idempotencyKey);
    const answer = readCapture(reply, hold);
    const isKept = answer.type === "refused" && !answer.definitive && issueOf(reply) !== undefined;
    if (answer.type !== "undecided" && !isKept) return answer;
    const record = await this.#api.get(left(), authorizationPath(hold.gatewayReference));
    const state = await this.#stateOf(left, record, hold);
    const judged = captureByRecord(state, statusIn(record), ordered);
    if (judged.type === "done") return this.#confirm(left, record, { hold, judged });
    if (judged.type !== "unknown" || answer.type === "undecided") return judged;
    if (state.type !== "held") return answer;
    // PayPal may return this refusal to every repeat of the key. Another key captures an untouched hold, and cannot
    // capture twice: a final capture of the whole amount refuses every other
    // (https://developer.paypal.com/docs/api/payments/v2/, 2026).
    const again = readCapture(await this.#capture(left(), hold, `${call.idempotencyKey}_${randomUUID()}`), hold);
    return again.type === "undecided" ? answer : again;
  }

  /** Reads the capture by its name; without one, its order shows it. */
  async readCapture(call: GatewayCall, captured: CapturedPayment): Promise<CaptureState> {
    const { captureReference, gatewayReference } = captured;
    const left = this.#api.sharedDeadline(call);
    const path = captureReference === undefined ? authorizationPath(gatewayReference) : capturePath(captureReference);
    const record = await this.#api.get(left(), path);
    const state =
      captureReference === undefined
        ? await this.#captureInOrder(left, record, captured)
        : stateOfCapture(jsonOf(record), captured);
    const isAnswered = record.type === "answer" && record.status < 500;
    return state.type === "unknown" && isAnswered ? { ...state, isAnswered } : state;
  }

  async void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const left = this.#api.sharedDeadline(call);
    const { gatewayReference } = attempt;
    if (gatewayReference === undefined) return this.#voidUnnamed(left, attempt);
    const name = parseName(gatewayReference);
    return "order" in name
      ? this.#voidOrder(left, attempt, name.order)
      : this.#voidAuthorization(left, attempt, name.authorization);
  }

  async lookUp(call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer> {
    const { gatewayReference } = attempt;
    if (gatewayReference === undefined) return unfindable;
    const name = parseName(gatewayReference);
    if ("order" in name) return readOrderRecord(await this.#api.get(call, orderPath(name.order)), attempt);
    const left = this.#api.sharedDeadline(call);
    return this.#stateOf(left, await this.#api.get(left(), authorizationPath(name.authorization)), attempt);
  }

  /** Returns the state of an authorization that was read. Of a part that was captured, its order shows how much. */
  async #stateOf(left: () => GatewayCall, record: GatewayReply, attempt: AttemptAtGateway): Promise<LookUpAnswer> {
    const state = readAuthorizationRecord(record, attempt);
    return state === partlyCaptured ? captureIn(await this.#orderOf(left, record, attempt), attempt) : state;
  }

  /** Reads the order that an authorization names; undefined for anything else. */
  async #orderOf(left: () => GatewayCall, record: GatewayReply, attempt: AttemptAtGateway): Promise<Order | undefined> {
    const orderId = orderNamedBy(record, attempt);
    if (orderId === undefined) return undefined;
    const order = readOrder(jsonOf(await this.#api.get(left(), orderPath(orderId))), attempt);
    return order?.id === orderId ? order : undefined;
  }

  /** Returns the state of an order's one capture. */
  async #captureInOrder(
    left: () => GatewayCall,
    record: GatewayReply,
    captured: CapturedPayment,
  ): Promise<CaptureState> {
    const [capture, ...others] = (await this.#orderOf(left, record, captured))?.captures ?? [];
    return others.length > 0 ? { type: "unknown" } : stateOfCapture(capture, captured);
  }

  /** Takes a capture that the authorization shows as done only if it is: one that is under review is accepted. */
  async #confirm(
    left: () => GatewayCall,
    record: GatewayReply,
    { hold, judged }: { readonly hold: Hold; readonly judged: CaptureAnswer & { type: "done" } },
  ): Promise<CaptureAnswer> {
    const capturedMinor = capturedAmountOf(hold).amountMinor;
    const captured = { ...hold, capturedMinor, captureReference: judged.captureReference };
    const { type } = await this.#captureInOrder(left, record, captured);
    return type === "captured" ? judged : { ...judged, type: "accepted" };
  }

  verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    return verifyAccount(this.#api, call);
  }

  /**
   * Creates the order, which holds nothing yet. Its content never changes for an attempt, so that it can be repeated at
   * any time.
   */
  #create(call: GatewayCall, { orderRef, ...attempt }: AttemptAtGateway): Promise<GatewayReply> {
    return this.#api.post(call, "/v2/checkout/orders", {
      key: `${attempt.attemptReference}_new`,
      body: {
        intent: "AUTHORIZE",
        purchase_units: [
          {
            reference_id: attempt.attemptReference,
            invoice_id: attempt.attemptReference,
            custom_id: orderRef === undefined ? undefined : customId(orderRef),
            amount: toMoney(attempt),
          },
        ],
      },
    });
  }

  /** Authorizes the order of a customer who has answered. PayPal has its card already. */
  async #complete(call: ChangingCall, attempt: AttemptAtGateway): Promise<AuthorizeAnswer> {
    const id = orderIn(attempt);
    const reply = await this.#api.post(call, orderPath(id, "authorize"), { key: call.idempotencyKey });
    const outcome = readCompleted(reply, attempt, id);
    const gatewayReference = nameOfOrder(id);
    return {
      outcome: outcome.type === "unknown" ? { gatewayReference, ...outcome } : outcome,
      authenticated: readAuthenticated(reply),
    };
  }

  #capture(call: GatewayCall, hold: Hold, key: string): Promise<GatewayReply> {
    const body = { amount: toMoney(capturedAmountOf(hold)), final_capture: true, soft_descriptor: descriptorOf(hold) };
    return this.#api.post(call, authorizationPath(hold.gatewayReference, "capture"), { key, body });
  }

  /** Creates the order again under the same key, which returns the name that any authorization must have used. */
  async #voidUnnamed(left: () => ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    if (mayBeForgotten(attempt)) return unnameable;
    const reply = await this.#create(left(), attempt);
    if (reply.type !== "answer") return unansweredChange(reply);
    // Once the order is authorized, its amount may be the one held.
    const order = isDone(reply) ? readOrder(readJsonObject(reply), attempt) : undefined;
    return order === undefined ? refusedOrUnknown(reply) : this.#voidOrder(left, attempt, order.id);
  }

  /** Voids everything that the order has authorized. */
  async #voidOrder(left: () => ChangingCall, attempt: AttemptAtGateway, id: string): Promise<VoidAnswer> {
    const reply = await this.#api.get(left(), orderPath(id));
    if (reply.type !== "answer") return unansweredChange(reply);
    if (reply.status !== 200) return refusedOrUnknown(reply);
    const order = readOrder(readJsonObject(reply), attempt);
    if (order?.id !== id) return untrusted(reply.status);
    const answers: VoidAnswer[] = [];
    for (const authorization of order.authorizations) {
      const known = voidByRecord(authorization.status);
      const isOpen = known.type === "refused";
      answers.push(isOpen ? await this.#voidAuthorization(left, attempt, authorization.id) : known);
    }
    // Open authorizations come first, then captured money; a voided one is final.
    const rank = ["unknown", "refused", "alreadyCaptured", "accepted", "done", "absent"];
    const [worst] = answers.toSorted((one, other) => rank.indexOf(one.type) - rank.indexOf(other.type));
    return worst ?? { type: "absent" };
  }

  /** Sends no key: PayPal takes none here, and refuses a second void as "voided before". */
  async #voidAuthorization(left: () => ChangingCall, attempt: AttemptAtGateway, id: string): Promise<VoidAnswer> {
    const answer = readVoid(await this.#api.post(left(), authorizationPath(id, "void"), {}), attempt);
    if (answer.type !== "undecided") return answer;
    const record = await this.#api.get(left(), authorizationPath(id));
    if (record.type !== "answer") return unansweredChange(record);
    const json = record.status === 200 ? readJsonObject(record) : undefined;
    return isFor(json, attempt) ? voidByRecord(json.status) : untrusted(record.status);
  }
}

// In the last tenth of its time, an authorization would mostly leave a hold to be voided (1 s of the default 10 s).
const minLeft = 0.1;

const tooLate = {
  type: "unknown",
  kind: "TIMEOUT",
  reason: "preparing the payment left no time to authorize it",
} as const;

const unfindable = {
  type: "inconclusive",
  isUnfound: true,
  reason: "the gateway finds an order only by its own name, which never reached us",
} as const;

const unnameable = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "the order is too old to be named by its key",
} as const;

/** Returns the body with the card; fields of a stored card replace those of the same name, undefined ones leave them out. */
function cardBody(request: AuthorizeRequest, stored?: object): object {
  return {
    payment_source: {
      card: {
        number: "{{card.number}}",
        expiry: "{{card.expYear}}-{{card.expMonth}}",
        security_code: "{{card.cvc}}",
        name: "{{card.holder}}",
        ...askingFields(request.authentication),
        ...billingFields(request),
        ...stored,
      },
    },
  };
}

const unknownWallet = {
  type: "notProcessed",
  cause: "request_refused",
  reason: "PayPal is told which wallet gave the number, and the vault has not said",
} as const;

/**
 * Returns the body with a device's number. Apple Pay's fields: orders_v2 of paypal-rest-api-specifications, `apple_pay_decrypted_token_data`.
 * Google Pay's, which that file leaves empty: https://github.com/paypal/PayPal-TypeScript-Server-SDK,
 * doc/models/google-pay-decrypted-token-data.md (2026).
 */
function tokenBody(request: AuthorizeRequest): object {
  const card = { number: "{{token.number}}", expiry: "{{token.expYear}}-{{token.expMonth}}" };
  const proof = { cryptogram: "{{token.cryptogram}}", eci_indicator: "{{token.eci}}" };
  if (request.wallet?.name === "apple_pay") {
    const decrypted = { transaction_amount: toMoney(request), tokenized_card: card, payment_data_type: "3DSECURE" };
    return { payment_source: { apple_pay: { decrypted_token: { ...decrypted, payment_data: proof } } } };
  }
  const message = { message_id: "{{token.messageId}}", message_expiration: "{{token.messageExpiration}}" };
  const method = { payment_method: "CARD", authentication_method: "CRYPTOGRAM_3DS" };
  return { payment_source: { google_pay: { decrypted_token: { ...message, ...method, card, ...proof } } } };
}

/** Returns the order of an attempt whose customer is being authenticated. */
function orderIn({ gatewayReference = "" }: AttemptAtGateway): string {
  const name = parseName(gatewayReference);
  return "order" in name ? name.order : "";
}

// https://developer.paypal.com/docs/api/orders/v2/#definition-purchase_unit_request (2026).
const customIdCharactersMax = 127;

function customId(orderRef: string): string {
  return [...withoutPlaceholders(orderRef)].slice(0, customIdCharactersMax).join("");
}

/**
 * Returns at most 22 characters, as PayPal shows them:
 * https://developer.paypal.com/docs/api/payments/v2/#authorizations_capture (2026).
 */
function descriptorOf({ statementDescriptor = "" }: Hold): string | undefined {
  const plain = statementDescriptor
    .replace(/[^\x20-\x7e]/g, "")
    .slice(0, 22)
    .trim();
  return plain === "" ? undefined : plain;
}

function jsonOf(reply: GatewayReply) {
  return reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
}

function statusIn(reply: GatewayReply): unknown {
  return reply.type === "answer" ? readJsonObject(reply)?.status : undefined;
}
