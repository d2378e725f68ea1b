/** The two sandbox gateways as the straight payment calls them: requests, and the answers that it knows. PURE. */
import type { Card } from "../../../../vault/card.ts";

export type GatewayAccount = { readonly gateway: "SANDBOX_A" | "SANDBOX_B"; readonly account: string };

export type GatewayPayment = {
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  /** The attempt's id: the gateway's idempotency key and reference. */
  readonly attemptId: string;
};

/** A request to a gateway; the vault adds the card to an authorization. */
export type GatewayRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Authorized =
  | { readonly type: "held"; readonly reference: string }
  | { readonly type: "declined"; readonly code: string };

type Gateway = {
  authorize(account: string, payment: GatewayPayment): GatewayRequest;
  fill(body: string, card: Card): string;
  readAuthorized(status: number, body: string, payment: GatewayPayment): Authorized;
  capture(account: string, payment: GatewayPayment, reference: string): GatewayRequest;
  /** Reports whether the capture is done; otherwise a notification follows. Throws if it was refused. */
  readCaptured(status: number, body: string, payment: GatewayPayment): boolean;
};

export const gateways: Readonly<Record<GatewayAccount["gateway"], Gateway>> = {
  SANDBOX_A: {
    authorize: (account, { amountMinor, currency, orderRef, attemptId }) => ({
      path: "/a/v1/authorizations",
      headers: { ...headersOfA(account, attemptId), "content-type": formType },
      body: new URLSearchParams({
        amount: String(amountMinor),
        currency,
        reference: attemptId,
        capture_method: "manual",
        "metadata[order_ref]": orderRef,
      }).toString(),
    }),
    fill(body, { number, expMonth, expYear, cvc = "" }) {
      const form = new URLSearchParams(body);
      form.set("card[number]", number);
      form.set("card[exp_month]", String(expMonth));
      form.set("card[exp_year]", String(expYear));
      form.set("card[cvc]", cvc);
      return form.toString();
    },
    readAuthorized(status, body, payment) {
      const answer = JSON.parse(body);
      const { error } = answer;
      const record = status === 402 ? error.authorization : answer;
      requireSame([record.reference, record.amount, record.currency], payment, status);
      if (status === 200 && answer.status === "held") return { type: "held", reference: String(answer.id) };
      if (status === 402) return { type: "declined", code: String(error.decline_code) };
      throw new Error(`SANDBOX_A answered ${status}`);
    },
    capture: (account, { attemptId }, reference) => ({
      path: `/a/v1/authorizations/${encodeURIComponent(reference)}/capture`,
      headers: { ...headersOfA(account, `${attemptId}-capture`), "content-type": formType },
      body: "",
    }),
    readCaptured(status, body, payment) {
      const { reference, amount_captured: captured, currency, status: state } = JSON.parse(body);
      requireSame([reference, captured, currency], payment, status);
      if (status !== 200 || state !== "captured") throw new Error(`SANDBOX_A answered a capture with ${status}`);
      return true;
    },
  },
  SANDBOX_B: {
    authorize: (account, { amountMinor, currency, orderRef, attemptId }) => ({
      path: "/b/payments",
      headers: headersOfB(account, attemptId),
      body: JSON.stringify({
        merchantAccount: account,
        reference: attemptId,
        merchantOrderReference: orderRef,
        amount: { value: amountMinor, currency },
        additionalData: { manualCapture: "true" },
      }),
    }),
    fill(body, { number, expMonth, expYear, cvc }) {
      const expiry = { expiryMonth: String(expMonth).padStart(2, "0"), expiryYear: String(expYear) };
      return JSON.stringify({ ...JSON.parse(body), paymentMethod: { type: "scheme", number, ...expiry, cvc } });
    },
    readAuthorized(status, body, payment) {
      const { merchantReference, amount, resultCode, pspReference, refusalReasonCode } = JSON.parse(body);
      requireSame([merchantReference, amount?.value, amount?.currency], payment, status);
      if (resultCode === "Authorised") return { type: "held", reference: String(pspReference) };
      if (resultCode === "Refused") return { type: "declined", code: String(refusalReasonCode) };
      throw new Error(`SANDBOX_B answered ${status}`);
    },
    capture: (account, { attemptId, amountMinor, currency }, reference) => ({
      path: `/b/payments/${encodeURIComponent(reference)}/captures`,
      headers: headersOfB(account, `${attemptId}-capture`),
      body: JSON.stringify({
        merchantAccount: account,
        reference: attemptId,
        amount: { value: amountMinor, currency },
      }),
    }),
    readCaptured(status, body, payment) {
      const { reference, amount, status: state } = JSON.parse(body);
      requireSame([reference, amount?.value, amount?.currency], payment, status);
      if (status !== 201 || state !== "received") throw new Error(`SANDBOX_B answered a capture with ${status}`);
      return false;
    },
  },
};

const formType = "application/x-www-form-urlencoded";

function headersOfA(account: string, key: string) {
  return { authorization: `Bearer sandbox_${account}`, "idempotency-key": key };
}

function headersOfB(account: string, key: string) {
  return { "x-api-key": `sandbox_${account}`, "idempotency-key": key, "content-type": "application/json" };
}

function requireSame(answered: readonly unknown[], payment: GatewayPayment, status: number): void {
  const { attemptId, amountMinor, currency } = payment;
  if (answered[0] === attemptId && answered[1] === amountMinor && answered[2] === currency) return;
  throw new Error(`a gateway answered ${status} about another payment`);
}
