/**
 * The pretend bank: the page on which a customer confirms a payment with a code, and its answer, which returns the
 * customer to the address that the gateway gave.
 */
import type { Challenge, Challenges } from "./challenges.ts";
import type { Route, SandboxAnswer } from "./routes.ts";

/** The code that passes; any other fails. */
const passingCode = "123456";

/** Returns the address of a challenge's page. */
export function bankPageOf(origin: string, { id }: Challenge): string {
  return `${origin}/bank/${id}`;
}

/** Returns the routes of the bank's pages. */
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
        const state = form.has("cancel") ? "cancelled" : form.get("code") === passingCode ? "passed" : "failed";
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

// SANDBOX_B's return leads on, as Adyen's does; SANDBOX_A's only says that the customer is back, as Stripe's does.
function returnTo({ returnUrl, payment, id }: Challenge): string {
  const url = new URL(returnUrl);
  if (payment.acquirer === "B") url.searchParams.set("redirectResult", id);
  else url.searchParams.set("authorization", id);
  return url.href;
}

function pageOf({ payment, state }: Challenge): string {
  const { orderRef, value, currency, number } = payment;
  const amount = `${(value / 100).toFixed(2)} ${currency}`;
  const form = `<form method="post"><label>Code <input name="code" inputmode="numeric" autocomplete="one-time-code" autofocus></label>
<button>Confirm</button> <button name="cancel" value="1">Cancel</button></form>
<p>The code is ${passingCode}; any other fails.</p>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pretend bank</title><h1>Confirm your payment</h1>
<p>${escaped(orderRef)}: ${escaped(amount)} with the card ending in ${escaped(number.slice(-4))}</p>
${state === "waiting" ? form : "<p>You have answered. You can close this page.</p>"}</html>`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
