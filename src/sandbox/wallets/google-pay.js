/* Emulates google.payments.api, as far as the widget uses it. */
const buttonStyle = `
.gpay-emulator { width: 100%; height: 100%; min-height: 40px; border: 0; border-radius: 8px; background: #000; color: #fff;
  font: 500 18px/1 system-ui, sans-serif; cursor: pointer; }
.gpay-emulator:focus-visible { outline: 2px solid #1d4ed8; outline-offset: 2px; }
@media (prefers-color-scheme: dark) { .gpay-emulator { background: #fff; color: #000; } }
`;

class PaymentsClient {
  #environment;

  constructor({ environment }) {
    this.#environment = environment;
  }

  async isReadyToPay({ allowedPaymentMethods: [method] }) {
    return { result: method.type === "CARD" && method.parameters.allowedAuthMethods.length > 0 };
  }

  createButton({ onClick, buttonRootNode = document }) {
    const style = new CSSStyleSheet();
    style.replaceSync(buttonStyle);
    buttonRootNode.adoptedStyleSheets = [...buttonRootNode.adoptedStyleSheets, style];
    const holder = document.createElement("div");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "gpay-emulator";
    button.textContent = "Google Pay";
    button.onclick = onClick;
    holder.append(button);
    return holder;
  }

  loadPaymentData({ allowedPaymentMethods: [method], transactionInfo, merchantInfo }) {
    if (this.#environment !== "TEST") return Promise.reject({ statusCode: "BUILD_ERROR" });
    const { allowedAuthMethods } = method.parameters;
    const { publicKey } = method.tokenizationSpecification.parameters;
    const cards = [
      ...(allowedAuthMethods.includes("CRYPTOGRAM_3DS") ? given.cards.device : []),
      ...(allowedAuthMethods.includes("PAN_ONLY") ? given.cards.pan : []),
    ];
    return new Promise((resolve, reject) => {
      const sheet = given.openSheet({
        wallet: "Google Pay",
        merchant: merchantInfo.merchantName,
        amount: `${transactionInfo.totalPrice} ${transactionInfo.currencyCode}`,
        cards,
        onCancel: () => reject({ statusCode: "CANCELED" }),
        onPay: async (number) => {
          const { token } = await given.post("/wallets/google/token", { publicKey, number });
          sheet.close();
          resolve({ paymentMethodData: { type: "CARD", tokenizationData: { type: "DIRECT", token } } });
        },
      });
    });
  }
}

globalThis.google = { payments: { api: { PaymentsClient } } };
