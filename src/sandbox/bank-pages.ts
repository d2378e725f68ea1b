/**
 * The sandbox bank: the page on which a customer confirms a payment with a code, and its answer, which returns the
 * customer to the address that the gateway gave.
 */
import type { Challenge, Challenges } from "./challenges.ts";
import type { AcquirerName } from "./ledger.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";

/**
 * Returns the code that passes; any other fails. Adyen's test cards have a special code:
 * https://docs.adyen.com/development-resources/testing/3d-secure-2-authentication (2026).
 */
function passingCodeAt(acquirer: AcquirerName): string {
  return acquirer === "ADYEN" ? "password" : "123456";
}

/** Returns the address of a challenge's page, at the host that a request was sent to. */
export function bankPageOf({ headers }: Pick<SandboxRequest, "headers">, { id }: Challenge): string {
  return `http://${String(headers.host)}/bank/${id}`;
}

export function bankRoutes(challenges: Challenges): readonly Route[] {
  const path = /^\/bank\/(?<id>[^/]+)$/;
  return [
    {
      method: "GET",
      path,
      operation: "bank.page",
      handle: async ({ parameters }) => {
        const challenge = challenges.find(parameters.id ?? "");
        return challenge === undefined
          ? unknownPage
          : { status: 200, body: {}, page: pageOf(challenge), about: aboutOf(challenge) };
      },
    },
    {
      method: "POST",
      path,
      operation: "bank.answer",
      handle: async ({ parameters, body }) => {
        const challenge = challenges.find(parameters.id ?? "");
        if (challenge === undefined) return unknownPage;
        const form = new URLSearchParams(body);
        const isRight = form.get("code") === passingCodeAt(challenge.payment.acquirer);
        const state = form.has("cancel") ? "cancelled" : isRight ? "passed" : "failed";
        challenges.answer(challenge, state);
        const location = returnTo(challenge);
        return { status: 303, body: {}, page: "", headers: { location }, about: aboutOf(challenge) };
      },
    },
  ];
}

const unknownPage: SandboxAnswer = { status: 404, body: {}, page: "<!doctype html><p>This payment is unknown.</p>" };

function aboutOf({ payment }: Challenge): string {
  return payment.reference;
}

// Only Adyen's return leads on, and SANDBOX_B's, which is like it; any other return says only that the customer is
// back.
function returnTo({ returnUrl, cancelUrl = returnUrl, payment, id, state }: Challenge): string {
  const url = new URL(state === "cancelled" ? cancelUrl : returnUrl);
  const leadsOn = payment.acquirer === "B" || payment.acquirer === "ADYEN";
  url.searchParams.set(leadsOn ? "redirectResult" : "authorization", id);
  return url.href;
}

function pageOf({ payment, state }: Challenge): string {
  const { acquirer, orderRef, value, currency, number } = payment;
  const amount = `${(value / 100).toFixed(2)} ${currency}`;
  const form = `<form method="post"><label for="code">Code</label>
<input id="code" name="code" autocomplete="one-time-code">
<button>Confirm</button><button name="cancel" value="1" class="quiet">Cancel</button></form>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox bank</title><style>${bankStyle}</style><h1>Confirm your payment</h1>
<p>${escaped(orderRef)}: ${escaped(amount)} with the card ending in ${escaped(number.slice(-4))}</p>
${state === "waiting" ? form : "<p>You have answered. You can close this page.</p>"}
<p>The code is ${passingCodeAt(acquirer)}; any other fails.</p></html>`;
}

export const bankStyle = `
body { max-width: 24rem; margin: 0 auto; padding: 1.5rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.25rem }
input, button { box-sizing: border-box; width: 100%; min-height: 2.75rem; margin-top: .5rem; border: 1px solid #4b5563; border-radius: .375rem; padding: 0 .75rem; font: inherit }
button { background: #14532d; border-color: #14532d; color: #fff; font-weight: 600 }
.quiet { background: none; color: #14532d }
`;

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
