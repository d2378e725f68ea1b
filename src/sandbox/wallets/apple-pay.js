/* Emulates ApplePaySession, as far as the widget uses it. */
const shownAtLeastMs = 600;

// As WebKit, which throws for others.
const networks = new Set(["visa", "masterCard", "amex", "discover", "jcb"]);

globalThis.ApplePaySession = class ApplePaySession {
  static STATUS_SUCCESS = 0;
  static STATUS_FAILURE = 1;
  static canMakePayments() {
    return true;
  }

  #request;
  #sheet;
  #merchant;

  constructor(version, request) {
    if (version < 1 || !request.total || !request.supportedNetworks.length)
      throw new TypeError("the request is not complete");
    // As Safari: a sheet opens only inside a press.
    if (navigator.userActivation && !navigator.userActivation.isActive)
      throw new DOMException("no gesture", "InvalidAccessError");
    for (const network of request.supportedNetworks) {
      if (!networks.has(network)) throw new TypeError(`"${network}" is not a valid payment network.`);
    }
    this.#request = request;
  }

  begin() {
    const { total, currencyCode, applicationData } = this.#request;
    this.#sheet = given.openSheet({
      wallet: "Apple Pay",
      merchant: total.label,
      amount: `${total.amount} ${currencyCode}`,
      cards: given.cards.device,
      onCancel: () => this.oncancel?.({}),
      onPay: async (number) => {
        const { merchantIdentifier } = this.#merchant;
        const asked = { merchantIdentifier, number, amount: total.amount, currency: currencyCode, applicationData };
        const paymentData = await given.post("/wallets/apple/token", asked);
        const token = {
          paymentData,
          paymentMethod: { network: "Visa" },
          transactionIdentifier: paymentData.header.transactionId,
        };
        this.onpaymentauthorized?.({ payment: { token } });
      },
    });
    this.#sheet.setReady(false);
    setTimeout(() => this.onvalidatemerchant?.({ validationURL: `${given.origin}/paymentservices/paymentSession` }));
  }

  completeMerchantValidation(session) {
    this.#merchant = session;
    this.#sheet.setReady(true);
  }

  completePayment({ status }) {
    this.#sheet.say(status === ApplePaySession.STATUS_SUCCESS ? "Done" : "Payment not completed");
    setTimeout(() => this.#sheet.close(), shownAtLeastMs);
  }

  abort() {
    this.#sheet.close();
  }
};
