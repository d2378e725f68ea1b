/** SANDBOX_A: requests to the readable, synchronous sandbox acquirer. answers.ts interprets its answers. */

import { type CardForwarder, withoutPlaceholders } from "../../../card-vault/card-vault.ts";
import { isNetworkToken } from "../../../platform/card-token.ts";
import type { GatewayHttp, GatewayReply, GatewayRequest } from "../../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf, toGatewayAmount } from "../../amounts.ts";
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
  GatewayRefunds,
  Hold,
  LookUpAnswer,
  VerifyRow,
  VoidAnswer,
} from "../../connector.ts";
import { chainOf, type Renewal } from "../../renewal-chains.ts";
import type { StoredMethod } from "../../stored-cards.ts";
import { stripeStatements } from "../../stripe/settlement.ts";
import { withoutAction } from "../../unanswered.ts";
import {
  accountChecks,
  type ConnectorParts,
  cardBrands,
  executionLimitMs,
  networkTokens,
  statementsEveryMs,
} from "../connector-parts.ts";
import {
  readAccount,
  readAction,
  readAuthenticated,
  readAuthorize,
  readCapture,
  readLookUp,
  readVoid,
} from "./answers.ts";
import { currencies } from "./currencies.ts";
import { disputePath, fieldsOf, readAnswer, readOptions } from "./dispute-answers.ts";
import { readDisputes } from "./disputes.ts";
import { readListedRefunds, readRefund, readRefundRecord, readRefundRecords } from "./refund-answers.ts";
import { readErased, renewalFields, savingFields } from "./stored-cards.ts";

/** The connector for a gateway that answers at once and can be read, as Stripe does. */
export class SandboxAConnector implements Connector {
  readonly gateway = "SANDBOX_A";
  readonly canRead = true;
  readonly refusesVoidedReference = true;
  readonly executionLimitMs = executionLimitMs;
  readonly failsOnRequest: boolean = true;
  readonly importsProof = true;
  readonly asksExemptions = true;
  readonly forwardFeatures = ["form_body"] as const;
  readonly cardBrands = cardBrands;
  readonly acceptsNetworkToken = networkTokens;
  readonly storedCards = "own";
  readonly setsUp = true;
  // SANDBOX_A ends a hold after seven days.
  readonly holdLifeMs = 7 * 24 * 60 * 60 * 1_000;
  readonly credentialFields: readonly CredentialField[] = [
    {
      name: "apiKey",
      label: "API key",
      shape: /^sandbox_(test|live)_[a-z0-9-]{1,40}$/,
      hint: "Any name will do: sandbox_test_ followed by 1 to 40 lower-case letters, digits and hyphens.",
    },
  ];
  readonly authentication: GatewayAuthenticator = {
    holdsOnlyWhenAsked: true,
    actionLifeMs: 0,
    framing: "frame",
    // The account is read instead.
    readReturn: () => undefined,
    complete: async (call, attempt) => {
      const path = `${pathOf(attempt.gatewayReference ?? "")}/confirm`;
      const reply = await this.#post(call, path, {});
      return { outcome: withoutAction(readAuthorize(reply, attempt)), authenticated: readAuthenticated(reply) };
    },
    askAction: async (call, attempt) =>
      readAction(await this.#get(call, pathOf(attempt.gatewayReference ?? "")), attempt),
  };
  readonly refunds: GatewayRefunds = {
    // Half of the day that SANDBOX_A promises to keep a key for, as Stripe does.
    keyLifeMs: 12 * 60 * 60 * 1_000,
    needsConfirmedCapture: false,
    refund: async (call, captured, refund) => {
      const { refundReference: reference, currency, reason } = refund;
      const amount = toGatewayAmount(currencies, refund);
      if (amount.type === "impossible") return { type: "refused", definitive: true, gatewayCode: "amount" };
      const fields = { amount: String(amount.value), currency, reference, ...(reason && { reason }) };
      const reply = await this.#post(call, `${pathOf(captured.gatewayReference)}/refunds`, fields);
      return readRefund(reply, captured, refund);
    },
    lookUpRefund: async (call, captured, refund) => {
      const { gatewayReference } = refund;
      if (gatewayReference === undefined) {
        return readRefundRecords(
          await this.#get(call, `${pathOf(captured.gatewayReference)}/refunds`),
          captured,
          refund,
        );
      }
      const path = `/a/v1/refunds/${encodeURIComponent(gatewayReference)}`;
      return readRefundRecord(await this.#get(call, path), captured, refund);
    },
    listRefunds: async (call, captured) =>
      readListedRefunds(await this.#get(call, `${pathOf(captured.gatewayReference)}/refunds`), captured),
  };
  readonly disputes: GatewayDisputes = {
    listedBy: "opened",
    listDisputes: async (call, { since, page }) => {
      const created = String(Math.floor(since.getTime() / 1_000));
      const query = new URLSearchParams({ created_from: created, ...(page !== undefined && { after: page }) });
      return readDisputes(await this.#get(call, `/a/v1/disputes?${query}`));
    },
    disputesOf: async (call, { gatewayReference: authorization }) => {
      const page = readDisputes(await this.#get(call, `/a/v1/disputes?${new URLSearchParams({ authorization })}`));
      if (page.type === "refused") return "unreadable";
      const isWhole = page.type === "page" && page.next === undefined;
      return isWhole && page.disputes.every((one) => one.paymentReference === authorization)
        ? page.disputes
        : undefined;
    },
  };
  readonly statements = stripeStatements(
    (call, path, query) => this.#get(call, `/a${path}?${new URLSearchParams(query)}`),
    currencies,
    statementsEveryMs,
  );
  readonly disputeAnswers: GatewayDisputeAnswers = {
    takesExplanation: true,
    options: async (call, { gatewayReference }) =>
      readOptions(await this.#get(call, disputePath(gatewayReference)), gatewayReference),
    accept: async (call, { gatewayReference }) =>
      readAnswer(await this.#post(call, `${disputePath(gatewayReference)}/close`, {}), gatewayReference),
    submit: async (call, { gatewayReference }, evidence) =>
      readAnswer(await this.#post(call, disputePath(gatewayReference), fieldsOf(evidence)), gatewayReference),
  };
  readonly #http: GatewayHttp;
  readonly #forwarder: CardForwarder;
  readonly #origin: string;
  readonly #environment: ConnectorParts["environment"];

  constructor(parts: ConnectorParts) {
    this.#http = parts.http;
    this.#forwarder = parts.forwarder;
    this.#origin = parts.origin;
    this.#environment = parts.environment;
  }

  whyNotPayable(amount: Amount): string | undefined {
    const exact = toGatewayAmount(currencies, amount);
    return exact.type === "exact" ? undefined : exact.reason;
  }

  async authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
    const amount = toGatewayAmount(currencies, request);
    if (amount.type === "impossible") {
      return { outcome: { type: "notProcessed", cause: "request_refused", reason: amount.reason } };
    }
    const { storedCard } = request;
    if (storedCard?.type === "renewal") return this.#renew(call, request, storedCard, amount.value);
    const { reply, card } = await this.#forwarder.forward({
      connector: this.gateway,
      operation: isNetworkToken(request) ? "network_token" : "authorize",
      token: request.vaultToken,
      sessionId: request.sessionId,
      origin: this.#origin,
      pathVariables: {},
      headers: changingHeaders(call),
      body: formOf({ ...authorizeFields(request, amount.value), ...(storedCard && savingFields(storedCard)) }),
      holder: request.customerName,
      timeoutMs: call.timeoutMs,
      signal: call.signal,
    });
    const outcome = readAuthorize(reply, request);
    return {
      outcome: request.authentication ? outcome : withoutAction(outcome),
      card,
      authenticated: readAuthenticated(reply),
    };
  }

  /** Charges a stored card: without the vault, for SANDBOX_A has the card itself. */
  async #renew(
    call: ChangingCall,
    request: AuthorizeRequest,
    renewal: Renewal,
    value: number,
  ): Promise<AuthorizeAnswer> {
    const chain = chainOf(renewal, this);
    if (chain.type !== "own") return { outcome: chain };
    const fields = { ...paymentFields(request, value), ...renewalFields(renewal, chain) };
    return { outcome: withoutAction(readAuthorize(await this.#post(call, "/a/v1/authorizations", fields), request)) };
  }

  async eraseMethod(call: ChangingCall, { customer, method, isLast }: StoredMethod): Promise<EraseAnswer> {
    const path = `/a/v1/payment_methods/${encodeURIComponent(method)}/detach`;
    const detached = readErased(await this.#post(call, path, { customer }), method);
    if (!isLast || detached.type !== "done") return detached;
    const customers = `/a/v1/customers/${encodeURIComponent(customer)}`;
    return readErased(
      await this.#send(call, { method: "DELETE", path: customers, headers: headersOf(call) }),
      customer,
    );
  }

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    const { statementDescriptor, captureMinor } = hold;
    const part = captureMinor === undefined ? undefined : toGatewayAmount(currencies, capturedAmountOf(hold));
    if (part?.type === "impossible") return { type: "refused", definitive: true, gatewayCode: "amount" };
    const fields = {
      ...(part && { amount_to_capture: String(part.value) }),
      ...(statementDescriptor !== undefined && { statement_descriptor: statementDescriptor }),
    };
    return readCapture(await this.#post(call, `${pathOf(hold.gatewayReference)}/capture`, fields), hold);
  }

  async void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const { gatewayReference, attemptReference } = attempt;
    const reply =
      gatewayReference === undefined
        ? await this.#post(call, "/a/v1/authorizations/void", { reference: attemptReference })
        : await this.#post(call, `${pathOf(gatewayReference)}/void`, {});
    return readVoid(reply, attempt);
  }

  async lookUp(call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer> {
    const query = new URLSearchParams({ reference: attempt.attemptReference });
    return readLookUp(await this.#get(call, `/a/v1/authorizations?${query}`), attempt);
  }

  async verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    return accountChecks(readAccount(await this.#get(call, "/a/v1/account")), this.#environment);
  }

  #get(call: GatewayCall, path: string): Promise<GatewayReply> {
    return this.#send(call, { method: "GET", path, headers: headersOf(call) });
  }

  #post(call: ChangingCall, path: string, fields: Record<string, string>): Promise<GatewayReply> {
    const headers = { ...changingHeaders(call), "content-type": "application/x-www-form-urlencoded" };
    return this.#send(call, { method: "POST", path, headers, body: formOf(fields) });
  }

  #send(
    { timeoutMs, signal }: GatewayCall,
    { path, ...request }: Pick<GatewayRequest, "method" | "headers" | "body"> & { readonly path: string },
  ): Promise<GatewayReply> {
    return this.#http.send({ ...request, url: this.#origin + path, timeoutMs, signal });
  }
}

function headersOf(call: GatewayCall): Record<string, string> {
  return { authorization: `Bearer ${call.credentials.apiKey?.expose() ?? ""}` };
}

function changingHeaders(call: ChangingCall): Record<string, string> {
  return { ...headersOf(call), "idempotency-key": call.idempotencyKey };
}

function pathOf(gatewayReference: string): string {
  return `/a/v1/authorizations/${encodeURIComponent(gatewayReference)}`;
}

function formOf(fields: Record<string, string>): string {
  return new URLSearchParams(fields).toString();
}

function paymentFields(request: AuthorizeRequest, value: number): Record<string, string> {
  return {
    amount: String(value),
    currency: request.currency,
    reference: request.attemptReference,
    capture_method: "manual",
    "metadata[order_ref]": withoutPlaceholders(request.orderRef),
  };
}

function authorizeFields(request: AuthorizeRequest, value: number): Record<string, string> {
  const { customerEmail, authentication, proof, exemption } = request;
  return {
    ...paymentFields(request, value),
    ...(customerEmail === undefined ? {} : { receipt_email: withoutPlaceholders(customerEmail) }),
    ...(isNetworkToken(request) ? tokenFields(request) : cardFields),
    ...billingFields(request),
    ...(authentication && { authentication: authentication.wish, return_url: authentication.returnUrl }),
    ...(exemption && { exemption: exemption.toLowerCase() }),
    ...(proof && {
      "three_d_secure[version]": proof.version,
      "three_d_secure[cryptogram]": proof.cryptogram,
      "three_d_secure[transaction_id]": proof.dsTransactionId,
      "three_d_secure[electronic_commerce_indicator]": proof.eci,
    }),
  };
}

const cardFields = {
  "card[number]": "{{card.number}}",
  "card[exp_month]": "{{card.expMonth}}",
  "card[exp_year]": "{{card.expYear}}",
  "card[cvc]": "{{card.cvc}}",
  "card[holder]": "{{card.holder}}",
};

function tokenFields({ wallet }: AuthorizeRequest): Record<string, string> {
  return {
    "network_token[number]": "{{token.number}}",
    "network_token[exp_month]": "{{token.expMonth}}",
    "network_token[exp_year]": "{{token.expYear}}",
    "network_token[cryptogram]": "{{token.cryptogram}}",
    "network_token[eci]": "{{token.eci}}",
    ...(wallet?.name && { "network_token[wallet]": wallet.name }),
  };
}

function billingFields(request: AuthorizeRequest): Record<string, string> {
  const { billingAddress } = request;
  if (billingAddress === undefined && isNetworkToken(request)) return {};
  if (billingAddress === undefined) return { "billing_details[address][postal_code]": "{{card.postalCode}}" };
  const { line1, line2, city, postalCode, region, country } = billingAddress;
  const given = { line1, line2, city, postal_code: postalCode, state: region, country };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, text]) =>
      text === undefined ? [] : [[`billing_details[address][${name}]`, withoutPlaceholders(text)]],
    ),
  );
}
