/**
 * SANDBOX_B: requests to the sandbox acquirer that reports only by notifications. answers.ts and read-notification.ts
 * interpret its answers.
 */

import { type CardForwarder, withoutPlaceholders } from "../../../card-vault/card-vault.ts";
import { isNetworkToken } from "../../../platform/card-token.ts";
import type { GatewayHttp, GatewayReply } from "../../../platform/outbound-http.ts";
import { AdyenDisputeAnswers } from "../../adyen/dispute-answers.ts";
import { adyenStatements } from "../../adyen/settlement.ts";
import { type Amount, capturedAmountOf, toGatewayAmount } from "../../amounts.ts";
import { redirectResultIn } from "../../authentication.ts";
import type {
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  BillingAddress,
  CaptureAnswer,
  ChangingCall,
  Connector,
  CredentialField,
  Credentials,
  GatewayAuthenticator,
  GatewayCall,
  GatewayDisputeAnswers,
  GatewayRefunds,
  Hold,
  LookUpAnswer,
  NotificationReading,
  RawNotification,
  VerifyRow,
  VoidAnswer,
} from "../../connector.ts";
import { chainOf } from "../../renewal-chains.ts";
import { notAnswered, withoutAction } from "../../unanswered.ts";
import {
  accountChecks,
  type ConnectorParts,
  cardBrands,
  executionLimitMs,
  networkTokens,
  statementsEveryMs,
} from "../connector-parts.ts";
import {
  notificationChecks,
  readAccount,
  readAuthenticated,
  readAuthorize,
  readCapture,
  readCompletion,
  readRefund,
  readVoid,
} from "./answers.ts";
import { currencies } from "./currencies.ts";
import { readNotification } from "./read-notification.ts";
import { storedFields } from "./stored-cards.ts";

/** The connector for a gateway that cannot be read and reports by notifications, as Adyen does. */
export class SandboxBConnector implements Connector {
  readonly gateway = "SANDBOX_B";
  readonly canRead = false;
  readonly refusesVoidedReference = false;
  readonly executionLimitMs = executionLimitMs;
  readonly failsOnRequest: boolean = true;
  readonly importsProof = true;
  readonly asksExemptions = true;
  readonly forwardFeatures = [];
  readonly cardBrands = cardBrands;
  readonly acceptsNetworkToken = networkTokens;
  readonly storedCards = "network";
  readonly setsUp = true;
  // SANDBOX_B ends a hold after five days.
  readonly holdLifeMs = 5 * 24 * 60 * 60 * 1_000;
  readonly credentialFields: readonly CredentialField[] = [
    {
      name: "apiKey",
      label: "API key",
      shape: /^sandbox_(test|live)_[a-z0-9-]{1,40}$/,
      hint: "sandbox_ followed by the merchant account, such as sandbox_test_acme.",
    },
    {
      name: "merchantAccount",
      label: "Merchant account",
      shape: /^(test|live)_[a-z0-9-]{1,40}$/,
      hint: "Any name will do, such as test_acme.",
    },
    {
      name: "notificationHmacKey",
      label: "Notification HMAC key",
      shape: /^[0-9A-Fa-f]{64}$/,
      hint: "The 64 hexadecimal digits the sandbox signs this account's notifications with.",
    },
  ];
  readonly authentication: GatewayAuthenticator = {
    // The bank's answer alone makes it hold.
    holdsOnlyWhenAsked: false,
    actionLifeMs: 60 * 60_000,
    framing: "frame",
    readReturn: redirectResultIn,
    complete: async (call, attempt, { returned }) => {
      if (returned === undefined) return { outcome: notAnswered };
      const details = { redirectResult: returned.expose() };
      const reply = await this.#post(call, "/b/payments/details", { details });
      return { outcome: readCompletion(reply, attempt), authenticated: readAuthenticated(reply) };
    },
  };
  readonly refunds: GatewayRefunds = {
    // Half of the week that SANDBOX_B promises to keep a key for, as Adyen does.
    keyLifeMs: 3.5 * 24 * 60 * 60 * 1_000,
    needsConfirmedCapture: true,
    refund: async (call, captured, refund) => {
      const amount = toGatewayAmount(currencies, refund);
      if (amount.type === "impossible") return { type: "refused", definitive: true, gatewayCode: "amount" };
      const reply = await this.#post(call, `${pathOf(captured.gatewayReference)}/refunds`, {
        reference: refund.refundReference,
        amount: { value: amount.value, currency: refund.currency },
      });
      return readRefund(reply, captured, refund);
    },
    lookUpRefund: async () => ({
      type: "cannotTell",
      reason: "SANDBOX_B cannot be read; its notifications report the result",
    }),
  };
  readonly disputeAnswers: GatewayDisputeAnswers = new AdyenDisputeAnswers((call, operation, body) =>
    this.#post(call, `/b/disputes/${operation}`, body),
  );
  readonly statements = adyenStatements({
    download: ({ credentials, timeoutMs, signal }, name, bytesMax) => {
      const url = `${this.#origin}/b/reports/${merchantAccountOf(credentials)}/${name}`;
      const headers = { "x-api-key": credentials.apiKey?.expose() ?? "" };
      return this.#http.download({ method: "GET", url, headers, timeoutMs, signal }, bytesMax);
    },
    canRead: () => true,
    everyMs: statementsEveryMs,
  });
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
    const chain = storedCard?.type === "renewal" ? chainOf(storedCard, this) : undefined;
    if (chain?.type === "notProcessed") return { outcome: chain };
    const body = authorizeBody(call.credentials, request, amount.value);
    const { reply, card } = await this.#forwarder.forward({
      connector: this.gateway,
      operation: isNetworkToken(request) ? "network_token" : "authorize",
      token: request.vaultToken,
      sessionId: request.sessionId,
      origin: this.#origin,
      pathVariables: {},
      headers: headersOf(call),
      body: JSON.stringify(storedCard ? { ...body, ...storedFields(body, storedCard, chain) } : body),
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

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    const amount = toGatewayAmount(currencies, capturedAmountOf(hold));
    if (amount.type === "impossible") return { type: "refused", definitive: true, gatewayCode: "amount" };
    const reply = await this.#post(call, `${pathOf(hold.gatewayReference)}/captures`, {
      reference: hold.attemptReference,
      amount: { value: amount.value, currency: hold.currency },
    });
    return readCapture(reply, hold);
  }

  async void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const { gatewayReference, attemptReference: reference } = attempt;
    const reply =
      gatewayReference === undefined
        ? await this.#post(call, "/b/cancels", { paymentReference: reference, reference })
        : await this.#post(call, `${pathOf(gatewayReference)}/cancels`, { reference });
    return readVoid(reply, attempt);
  }

  async lookUp(): Promise<LookUpAnswer> {
    return { type: "inconclusive", reason: "SANDBOX_B cannot be read; its notifications report the result" };
  }

  async verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    const account = readAccount(await this.#post(call, "/b/account", {}));
    const test = await this.#post(call, "/b/test-notification", {});
    return [...accountChecks(account, this.#environment), ...notificationChecks(call.credentials, test)];
  }

  async readNotification(credentials: Credentials, notification: RawNotification): Promise<NotificationReading> {
    return readNotification(credentials, notification, this.#environment);
  }

  #post(call: GatewayCall | ChangingCall, path: string, fields: object): Promise<GatewayReply> {
    const { timeoutMs, signal } = call;
    return this.#http.send({
      method: "POST",
      url: this.#origin + path,
      headers: { ...headersOf(call), "content-type": "application/json" },
      body: JSON.stringify({ merchantAccount: merchantAccountOf(call.credentials), ...fields }),
      timeoutMs,
      signal,
    });
  }
}

function headersOf(call: GatewayCall | ChangingCall): Record<string, string> {
  return {
    "x-api-key": call.credentials.apiKey?.expose() ?? "",
    ...("idempotencyKey" in call ? { "idempotency-key": call.idempotencyKey } : {}),
  };
}

function merchantAccountOf(credentials: Credentials): string {
  return credentials.merchantAccount?.expose() ?? "";
}

function pathOf(gatewayReference: string): string {
  return `/b/payments/${encodeURIComponent(gatewayReference)}`;
}

const scaExemptions = { LOW_VALUE: "lowValue", RISK_ANALYSIS: "transactionRiskAnalysis" } as const;

function authorizeBody(credentials: Credentials, request: AuthorizeRequest, value: number) {
  const { customerEmail, shopperIp, authentication, billingAddress, statementDescriptor, proof, exemption } = request;
  return {
    merchantAccount: merchantAccountOf(credentials),
    reference: request.attemptReference,
    merchantOrderReference: withoutPlaceholders(request.orderRef),
    amount: { value, currency: request.currency },
    ...(customerEmail === undefined ? {} : { shopperEmail: withoutPlaceholders(customerEmail) }),
    ...(shopperIp === undefined ? {} : { shopperIP: shopperIp }),
    ...(billingAddress && { billingAddress: plainAddressOf(billingAddress) }),
    ...(statementDescriptor === undefined ? {} : { shopperStatement: statementDescriptor }),
    additionalData: { manualCapture: "true", ...(exemption && { scaExemption: scaExemptions[exemption] }) },
    ...(authentication && { authentication: authentication.wish, returnUrl: authentication.returnUrl }),
    ...(proof && {
      mpiData: {
        cavv: proof.cryptogram,
        eci: proof.eci,
        dsTransID: proof.dsTransactionId,
        threeDSVersion: proof.version,
      },
    }),
    ...(isNetworkToken(request) ? tokenPayment : cardPayment),
  };
}

const cardPayment = {
  paymentMethod: {
    type: "scheme",
    number: "{{card.number}}",
    expiryMonth: "{{card.expMonth}}",
    expiryYear: "{{card.expYear}}",
    cvc: "{{card.cvc}}",
    holderName: "{{card.holder}}",
  },
};

// Fields of a decrypted token in Adyen's form: the device has authenticated the customer.
const tokenPayment = {
  mpiData: {
    tokenAuthenticationVerificationValue: "{{token.cryptogram}}",
    eci: "{{token.eci}}",
    directoryResponse: "Y",
    authenticationResponse: "Y",
  },
  paymentMethod: {
    type: "networkToken",
    number: "{{token.number}}",
    expiryMonth: "{{token.expMonth}}",
    expiryYear: "{{token.expYear}}",
  },
};

function plainAddressOf(address: BillingAddress): object {
  const lines = Object.entries(address).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return Object.fromEntries(lines.map(([name, line]) => [name, withoutPlaceholders(line)]));
}
