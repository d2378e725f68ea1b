/** The sheets of Apple Pay and Google Pay, and the buttons that open them, in the same terms. */

/** A wallet that the service offers for a session, as GetCheckout returns it. */
export type Offer = {
  readonly type: string;
  readonly networks: readonly string[];
  readonly countryCode: string;
  readonly amount: string;
  readonly currency: string;
  /** The hash of order, amount and currency, in base64. */
  readonly binding: string;
  readonly google?:
    | {
        readonly merchantId: string;
        readonly publicKey: string;
        readonly authMethods: readonly string[];
        readonly environment: string;
      }
    | undefined;
};

/** The content of every sheet. */
export type Shown = { readonly offer: Offer; readonly merchantName: string };

/** An open sheet. */
export type Sheet = {
  /**
   * The wallet's token as text; rejects with a WidgetError, `wallet_cancelled` if the customer has closed the sheet.
   */
  readonly token: Promise<string>;
  /** Closes it: as paid, as refused, or without a word where the outcome is not known. Then a token that is not there will not come. */
  close(end: "paid" | "refused" | "unknown"): void;
};

/** Asks the service for the session that Apple's sheet needs. */
type StartSession = (validationUrl: string) => Promise<unknown>;

export type Wallet = {
  /** Resolves if this browser can pay with it. */
  isReady(shown: Shown): Promise<boolean>;
  button(shown: Shown, look: { readonly root: Node; readonly locale: string; readonly press: () => void }): HTMLElement;
  /** Called inside the press, or the browser refuses. */
  open(shown: Shown, start: StartSession): Sheet;
};

type AppleSheet = {
  onvalidatemerchant: (event: { readonly validationURL: string }) => void;
  onpaymentauthorized: (event: { readonly payment: { readonly token: { readonly paymentData: unknown } } }) => void;
  oncancel: () => void;
  begin(): void;
  abort(): void;
  completeMerchantValidation(session: unknown): void;
  completePayment(result: { readonly status: number }): void;
};
type GoogleClient = {
  isReadyToPay(request: object): Promise<{ readonly result: boolean }>;
  createButton(options: object): HTMLElement;
  loadPaymentData(
    request: object,
  ): Promise<{ readonly paymentMethodData: { readonly tokenizationData: { readonly token: string } } }>;
};
declare const ApplePaySession: {
  new (version: number, request: object): AppleSheet;
  canMakePayments(): boolean;
  readonly STATUS_SUCCESS: number;
  readonly STATUS_FAILURE: number;
};
declare const google: {
  readonly payments: { readonly api: { PaymentsClient: new (options: object) => GoogleClient } };
};

const failed = (code: string, message: string) => ({ code, message });
const cancelled = failed("wallet_cancelled", "The customer has closed the sheet.");
const unavailable = failed("wallet_unavailable", "The wallet cannot be used at the moment.");

/** https://developer.apple.com/documentation/applepayontheweb/applepaysession (2026); version 3 is in Safari 11.1. */
const apple: Wallet = {
  async isReady() {
    try {
      return ApplePaySession.canMakePayments();
    } catch {
      // The browser is not Safari, or the page is not secure.
      return false;
    }
  },
  button(_shown, { press }) {
    const button = document.createElement("button");
    button.className = "apple-pay";
    button.ariaLabel = "Apple Pay";
    button.onclick = press;
    return button;
  },
  open({ offer, merchantName }, start) {
    const sheet = new ApplePaySession(3, {
      countryCode: offer.countryCode,
      currencyCode: offer.currency,
      supportedNetworks: offer.networks.map((network) => (network === "mastercard" ? "masterCard" : network)),
      merchantCapabilities: ["supports3DS"],
      total: { label: merchantName, amount: offer.amount, type: "final" },
      applicationData: offer.binding,
    });
    let isAuthorized = false;
    let isOpen = true;
    let end!: (error: unknown) => void;
    const token = new Promise<string>((resolve, reject) => {
      end = reject;
      sheet.onvalidatemerchant = ({ validationURL }) => {
        start(validationURL)
          .then((session) => sheet.completeMerchantValidation(session))
          .catch(() => close("unknown"));
      };
      sheet.onpaymentauthorized = ({ payment }) => {
        isAuthorized = true;
        resolve(JSON.stringify(payment.token.paymentData));
      };
      sheet.oncancel = () => {
        isOpen = false;
        reject(cancelled);
      };
    });
    const close = (as: "paid" | "refused" | "unknown") => {
      if (!isOpen) return;
      isOpen = false;
      end(unavailable);
      if (!isAuthorized || as === "unknown") return sheet.abort();
      const { STATUS_SUCCESS, STATUS_FAILURE } = ApplePaySession;
      sheet.completePayment({ status: as === "paid" ? STATUS_SUCCESS : STATUS_FAILURE });
    };
    sheet.begin();
    return { token, close };
  },
};

// A constant: no option and no answer names another script.
const googleScript = "https://pay.google.com/gp/p/js/pay.js";
// The row waits for it, so that no button moves another.
const scriptWithinMs = 3_000;
const readyWithinMs = 1_500;

let loading: Promise<void> | undefined;

/** Loads Google's script, unless the page has it. */
function loadGoogle(): Promise<void> {
  loading ??= within(
    scriptWithinMs,
    new Promise<void>((resolve, reject) => {
      if ("google" in globalThis && google.payments?.api) return resolve();
      const script = document.createElement("script");
      script.src = trusted(googleScript);
      script.async = true;
      script.onload = () => resolve();
      script.onerror = () => reject(new Error("it did not load; the page's Content-Security-Policy may block it"));
      document.head.append(script);
    }),
  );
  return loading;
}

type ScriptAddresses = { createScriptURL(address: string): string };
type TrustedTypes = { createPolicy(name: string, rules: ScriptAddresses): ScriptAddresses };

let policy: ScriptAddresses | undefined;

/** Wraps the address for a page that requires Trusted Types, by a policy for this script alone. */
function trusted(address: string): string {
  try {
    const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
    policy ??= trustedTypes?.createPolicy("switchyard-google", { createScriptURL: () => googleScript });
    return policy?.createScriptURL(address) ?? address;
  } catch {
    // The page allows no policy of this name: then the browser decides about the plain text.
    return address;
  }
}

function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("it took too long")), limitMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

const clients = new Map<string, GoogleClient>();

function clientOf(environment: string): GoogleClient {
  const client = clients.get(environment) ?? new google.payments.api.PaymentsClient({ environment });
  clients.set(environment, client);
  return client;
}

/** https://developers.google.com/pay/api/web/reference/request-objects (2026). */
function requestOf({ offer }: Shown, tokenization?: object): object {
  const parameters = {
    allowedAuthMethods: offer.google!.authMethods,
    allowedCardNetworks: offer.networks.map((network) => network.toUpperCase()),
  };
  const method = { type: "CARD", parameters, ...(tokenization && { tokenizationSpecification: tokenization }) };
  return { apiVersion: 2, apiVersionMinor: 0, allowedPaymentMethods: [method] };
}

const googlePay: Wallet = {
  async isReady(shown) {
    try {
      await loadGoogle();
      return (await within(readyWithinMs, clientOf(shown.offer.google!.environment).isReadyToPay(requestOf(shown))))
        .result;
    } catch (error) {
      loading = undefined;
      console.warn(`Switchyard: Google Pay is left out: ${error}`);
      return false;
    }
  },
  button(shown, { root, locale, press }) {
    const button = clientOf(shown.offer.google!.environment).createButton({
      ...requestOf(shown),
      buttonRootNode: root,
      buttonSizeMode: "fill",
      buttonType: "plain",
      buttonLocale: locale.split("-")[0],
      onClick: press,
    });
    return button;
  },
  open(shown) {
    const { offer, merchantName } = shown;
    const { environment, merchantId, publicKey } = offer.google!;
    const request = {
      ...requestOf(shown, { type: "DIRECT", parameters: { protocolVersion: "ECv2", publicKey } }),
      merchantInfo: { merchantId, merchantName },
      transactionInfo: {
        totalPriceStatus: "FINAL",
        totalPrice: offer.amount,
        currencyCode: offer.currency,
        countryCode: offer.countryCode,
      },
    };
    const token = clientOf(environment)
      .loadPaymentData(request)
      .then(
        ({ paymentMethodData }) => paymentMethodData.tokenizationData.token,
        ({ statusCode }: { readonly statusCode?: string }) => {
          throw statusCode === "CANCELED" ? cancelled : unavailable;
        },
      );
    let close!: () => void;
    const closed = new Promise<never>((_, reject) => (close = () => reject(unavailable)));
    // It closes by itself.
    return { token: Promise.race([token, closed]), close };
  },
};

export const wallets: Readonly<Record<string, Wallet>> = { apple_pay: apple, google_pay: googlePay };
