/** The HTML of the sandbox bank of SANDBOX_3DS: the page of the challenge, and pages that post a message on. */
import { bankStyle, escaped } from "./bank-pages.ts";
import type { SandboxAnswer } from "./routes.ts";

type Page = Exclude<SandboxAnswer, string>;

export const blankPage: Page = { status: 200, body: {}, page: "<!doctype html><title>Sandbox bank</title>" };

type ShownPayment = {
  readonly merchantName: string;
  readonly amount: string;
  readonly last4: string;
  /** The address to which the customer's code is posted. */
  readonly action: string;
  /** True if the customer confirms in the bank's app. */
  readonly isApp: boolean;
};

export function bankPage({ merchantName, amount, last4, action, isApp }: ShownPayment): Page {
  const form = `<form method="post" action="${action}"><label for="code">Code</label>
<input id="code" name="code" autocomplete="one-time-code">
<button>Confirm</button><button name="cancel" value="1" class="quiet">Cancel</button></form>
<p>The code is 123456; any other fails.</p>`;
  const app = `<p>Confirm in your bank’s app. It does so by itself after five seconds.</p>`;
  return pageOf(
    `<h1>Confirm your payment</h1>
<p>${escaped(merchantName)}: ${escaped(amount)} with the card ending in ${escaped(last4)}</p>${isApp ? app : form}`,
    isApp ? `<meta http-equiv="refresh" content="1;url=${action}">` : "",
  );
}

/** Returns a page that posts these fields at once. */
export function postingPage(address: string, fields: Readonly<Record<string, string>>): Page {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`,
  );
  return pageOf(
    `<form method="post" action="${escaped(address)}">${inputs.join("")}<noscript><button>Continue</button></noscript></form>
<script>document.forms[0].submit()</script>`,
  );
}

function pageOf(body: string, head = ""): Page {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox bank</title>${head}<style>${bankStyle}</style>${body}</html>`;
  return { status: 200, body: {}, page };
}
