/**
 * The card frame's script: accepts one port from the page that may embed it, and sends the card straight to the vault.
 */

import type { CreateTokenResponseJson } from "../../gen/vault/v1/vault_pb.ts";
import { unreachable } from "../unreachable.ts";
import type { CardBody, FieldName, FieldProblem } from "./card-checks.ts";
import { CardForm } from "./card-form.ts";
import { type FromFrame, type InitMessage, parseInit, parseToFrame, type ToFrame } from "./frame-messages.ts";

// The vault answers in milliseconds; this is for a line that has gone silent.
const tokenizeTimeoutMs = 20_000;

/** The field and problem for a member that the vault refuses in its request. */
const fieldOfParam: Readonly<Record<string, readonly [FieldName, FieldProblem]>> = {
  number: ["number", "number_wrong"],
  expMonth: ["expiry", "expiry_wrong"],
  expYear: ["expiry", "expiry_wrong"],
  cvc: ["cvc", "cvc_incomplete"],
  holder: ["holder", "holder_wrong"],
  postalCode: ["postalCode", "postal_code_wrong"],
  brand: ["number", "brand_not_accepted"],
};

type Say = (message: FromFrame) => void;

listenForPage();

/** Accepts the page's port once, from the embedding page itself, and only from an origin in the signed policy. */
function listenForPage(): void {
  const accept = (event: MessageEvent<unknown>) => {
    const init = parseInit(event.data);
    const port = event.ports[0];
    if (event.source !== window.parent || !isEmbedder(event.origin) || init === undefined || port === undefined) return;
    window.removeEventListener("message", accept);
    serve(port, init, event.origin);
  };
  window.addEventListener("message", accept);
}

/** Reports whether the policy admits the origin. `*` is in a test environment's policy that names no origin. */
function isEmbedder(origin: string): boolean {
  const embedders = document.querySelector<HTMLMetaElement>("meta[name=embedders]")?.content ?? "";
  return embedders === "*" || embedders.split(" ").includes(origin);
}

function serve(port: MessagePort, init: InitMessage, page: string): void {
  const say: Say = (message) => port.postMessage(message);
  const form = new CardForm({
    onChange: (state) => say({ type: "change", ...state }),
    onEnter: () => say({ type: "submit" }),
  });
  form.dress(init);
  port.onmessage = ({ data }) => {
    const message = parseToFrame(data);
    switch (message?.type) {
      case "tokenize":
      case "sendWallet":
        if (isGrantedTo(page, message.sdkAuthorization)) return void tokenize(form, message, say);
        return say({ ...notGranted, request: message.request });
      case "focus":
        return form.focus();
      case "clearCode":
        return form.clearCode();
      case "setDisabled":
        return form.setDisabled(message.disabled);
      case "accept":
        return form.accept(message.brands.split(" "));
      case "ask":
        form.ask(message.brand);
        return say({ type: "asked" });
      case "checkCode":
        return say({ ...(form.takeCode() === undefined ? incomplete : coded), request: message.request });
      case "sendCode":
        if (isGrantedTo(page, message.sdkAuthorization)) return void sendCode(form, message, say);
        return say({ ...notGranted, request: message.request });
      case undefined:
        return;
      default:
        return unreachable(message);
    }
  };
  new ResizeObserver(() => say({ type: "resize", height: document.body.scrollHeight })).observe(document.body);
  say({ type: "ready", title: document.title, takesWallets: true });
}

const coded = { type: "coded" } as const;

const incomplete = { type: "failed", code: "invalid_card", detail: "The card form is not complete." } as const;

const notGranted = {
  type: "failed",
  code: "origin_not_allowed",
  detail: "This session is not for a page of this origin.",
} as const;

/**
 * Reports whether the grant admits the page. The frame policy says who may embed the frame, the grant whose session it
 * is: a page that its own policy admits gets no card into another merchant's session. A text that is no grant is left
 * to the vault, which checks every signature.
 */
function isGrantedTo(page: string, sdkAuthorization: string): boolean {
  try {
    const claims = sdkAuthorization.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const { origins }: { origins: readonly string[] } = JSON.parse(atob(claims));
    return origins.length === 0 || origins.includes(page);
  } catch {
    return true;
  }
}

async function tokenize(form: CardForm, message: ToFrame & { type: "tokenize" | "sendWallet" }, say: Say) {
  const { request, sdkAuthorization } = message;
  const isWallet = message.type === "sendWallet";
  const card = isWallet ? { wallet: message.wallet, token: message.token } : form.takeCard();
  if (card === undefined) return say({ ...incomplete, request });
  const answer = await post(isWallet ? "/wallet-tokens" : "/tokens", card, sdkAuthorization);
  if ("code" in answer) {
    const { code, detail } = answer;
    return say(isWallet ? { type: "failed", request, code, detail } : refusedBy(form, answer, request));
  }
  const { token, brand, last4 } = answer;
  say(token && brand && last4 ? { type: "tokenized", request, token, brand, last4 } : { ...unreached, request });
}

/** Posts the security code of a stored card for its token, which can pay from then on. */
async function sendCode(
  form: CardForm,
  { request, sdkAuthorization, token }: ToFrame & { type: "sendCode" },
  say: Say,
): Promise<void> {
  const cvc = form.takeCode();
  if (cvc === undefined) return say({ ...incomplete, request });
  const answer = await post("/security-codes", { token, cvc }, sdkAuthorization);
  say("code" in answer ? refusedBy(form, answer, request) : { ...coded, request });
}

/** Shows the vault's refusal at its field, and returns the message about it. */
function refusedBy(form: CardForm, { code, detail, param }: Refusal, request: number): FromFrame {
  if (code === "test_card_required") form.showProblem("number", "test_card_required");
  else if (param !== undefined && Object.hasOwn(fieldOfParam, param)) form.showProblem(...fieldOfParam[param]!);
  return { type: "failed", request, code, detail };
}

type Refusal = { readonly code: string; readonly detail: string; readonly param?: string };

const unreached = {
  type: "failed",
  code: "vault_unavailable",
  detail: "The vault cannot be reached. Try again.",
} as const;

/** Posts to the frame's own origin. Never throws. */
async function post(
  path: string,
  body:
    | CardBody
    | { readonly token: string; readonly cvc: string }
    | { readonly wallet: string; readonly token: string },
  sdkAuthorization: string,
): Promise<CreateTokenResponseJson | Refusal> {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${sdkAuthorization}` },
      body: JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(tokenizeTimeoutMs),
    });
    if (response.status === 204) return {};
    const answer = (await response.json()) as CreateTokenResponseJson & Partial<Refusal>;
    const { code, detail, param } = answer;
    if (response.ok) return answer;
    if (code !== undefined && detail !== undefined) return { code, detail, ...(param !== undefined && { param }) };
  } catch {
    // The connection failed, timed out, or brought another answer than the vault's: the page shows the same message for
    // each.
  }
  return unreached;
}
