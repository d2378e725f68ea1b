/** The emulator's card form: confirms the card in the session that the grant is for, from its own origin. */
const field = (id) => document.getElementById(id);
const fields = ["number", "expiry", "cvc"].map(field);
const digits = (id) => field(id).value.replace(/\D/g, "");

const sessionOf = (sdkAuthorization) => {
  const claim = atob(sdkAuthorization)
    .split(",")
    .find((pair) => pair.startsWith("payment_method_session_id="));
  return claim.split("=")[1];
};

const confirmCard = async (sdkAuthorization) => {
  const response = await fetch(`/v1/payment-method-sessions/${sessionOf(sdkAuthorization)}/confirm`, {
    method: "POST",
    headers: { authorization: sdkAuthorization, "content-type": "application/json" },
    body: JSON.stringify({
      payment_method_type: "card",
      payment_method_data: {
        card: {
          card_number: digits("number"),
          card_exp_month: digits("expiry").slice(0, 2),
          card_exp_year: `20${digits("expiry").slice(-2)}`,
          card_cvc: digits("cvc"),
        },
      },
    }),
  });
  const answer = await response.json();
  if (!response.ok) return { type: "failed", code: "card_refused", message: "The vault did not take the card." };
  const [{ payment_method_token: token }] = answer.associated_payment_methods;
  const { last4_digits: last4, card_network: brand } = answer.payment_method_data.card;
  return { type: "tokenized", card: { token: token.data, brand: brand.toLowerCase(), last4 } };
};

addEventListener("message", ({ source, ports: [port] }) => {
  if (source !== parent || !port) return;
  port.onmessage = async ({ data }) => {
    if (data.type === "setDisabled") for (const input of fields) input.disabled = data.disabled;
    if (data.type !== "tokenize") return;
    const failed = { type: "failed", code: "vault_unavailable", message: "The vault cannot be reached." };
    port.postMessage(await confirmCard(data.sdkAuthorization).catch(() => failed));
  };
  addEventListener("input", () => {
    const complete = fields.every(({ value }) => value !== "");
    port.postMessage({ type: "change", state: { complete, empty: !complete, brand: "unknown" } });
  });
  addEventListener("keydown", ({ key }) => key === "Enter" && port.postMessage({ type: "submit" }));
  port.postMessage({ type: "ready" });
});
