/** The vault's script on the merchant's page: puts the card frame there and talks to it. It never sees a card. */
import {
  type Appearance,
  type FormState,
  type FromFrame,
  type InitMessage,
  parseFromFrame,
  type ToFrame,
} from "./frame-messages.ts";

/** Where the card frame goes, how it looks, and whom it tells what. */
export type CardFrameOptions = {
  /** The element that the frame fills; its width is the frame's. */
  readonly container: HTMLElement;
  /** As in the vault object; the frame comes from the same origin. */
  readonly sdkUrl: string;
  /** As in the vault object: who may embed the frame. Without one, nobody may. */
  readonly framePolicy?: string | undefined;
  /** BCP 47; English where the frame has no such texts. */
  readonly locale?: string;
  readonly appearance?: Appearance;
  /** Called whenever the form's state changes. */
  readonly onChange?: (state: FormState) => void;
  /** Called when the customer presses Enter in a field. */
  readonly onSubmitRequest?: () => void;
};

/** A card that the vault keeps, and what may be shown of it. */
export type TokenizedCard = { readonly token: string; readonly brand: string; readonly last4: string };

/** A card frame in the page, as the page may use it. */
export type CardFrame = {
  /** Resolves when the customer can type; rejects with `vault_unavailable`. */
  readonly ready: Promise<void>;
  /** One call at a time: a second one while the first runs gets the first's answer. Rejects with a CardFrameError. */
  tokenize(sdkAuthorization: string): Promise<TokenizedCard>;
  /** Puts the cursor into the first field that needs attention. */
  focus(): void;
  setDisabled(disabled: boolean): void;
  /** Shows the marks of these brands, and takes no card of another. */
  accept(brands: readonly string[]): void;
  /** Removes the frame; an open `tokenize` rejects with `destroyed`. */
  destroy(): void;
};

/** `code` is the vault's, or `invalid_card` (the form says why), `vault_unavailable`, `destroyed`. */
export class CardFrameError extends Error {
  override readonly name = "CardFrameError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the vault's script puts on the page's window. */
export type SwitchyardVault = { mountCardFrame(options: CardFrameOptions): CardFrame };

// A slow mobile line loads the frame's 14 KB in two seconds; after this long it will not come.
const readyTimeoutMs = 20_000;
// WebKit loses what is posted as the frame's load ends. The frame takes the first greeting that it hears; later ones
// come after twice the time each, because a frame that was refused makes a browser complain of every one.
const greetAgainMs = 100;
// The height of the empty form at the usual font size, so that nothing on the page moves when the frame says its own.
const firstHeight = "262px";
// Refusals that the card form shows at one of its fields.
const shownInFrame = ["invalid_card", "invalid_field", "test_card_required"];

/** Adds a card frame to the page and starts loading it. */
export function mountCardFrame(options: CardFrameOptions): CardFrame {
  const vaultOrigin = new URL(options.sdkUrl).origin;
  const iframe = createIframe(options, vaultOrigin);
  const ready = Promise.withResolvers<void>();
  let port: MessagePort | undefined;
  // Said before there is a port.
  const unsaid: ToFrame[] = [];
  const say = (message: ToFrame) => void (port ? port.postMessage(message) : unsaid.push(message));
  const calls = new TokenizeCalls(say);
  const focus = () => {
    iframe.focus();
    say({ type: "focus" });
  };

  const timer = setTimeout(() => ready.reject(unavailable()), readyTimeoutMs);
  // Who never asks for `ready` must not get an unhandled rejection for it.
  ready.promise.catch(() => {}).finally(() => clearTimeout(timer));

  const hear = ({ data, target }: MessageEvent<unknown>) => {
    const message = parseFromFrame(data);
    switch (message?.type) {
      case "ready":
        iframe.title = message.title;
        port = target as MessagePort;
        for (const early of unsaid.splice(0)) say(early);
        return ready.resolve();
      case "resize":
        iframe.style.height = `${Math.ceil(message.height)}px`;
        return;
      case "change":
        return options.onChange?.({ complete: message.complete, empty: message.empty, brand: message.brand });
      case "submit":
        return options.onSubmitRequest?.();
      case "failed":
        // A press of the page's button has taken the focus out of the frame, which cannot take it back by itself.
        if (shownInFrame.includes(message.code)) focus();
        return calls.settle(message);
      case "tokenized":
        return calls.settle(message);
    }
  };
  const greet = () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = hear;
    iframe.contentWindow?.postMessage(initOf(options), vaultOrigin, [port2]);
  };
  const greetUntilReady = () => repeatUntil(ready.promise, greet);
  iframe.addEventListener("load", greetUntilReady, { once: true });
  options.container.append(iframe);

  return {
    ready: ready.promise,
    tokenize: (sdkAuthorization) => calls.start(sdkAuthorization),
    focus,
    setDisabled: (disabled) => say({ type: "setDisabled", disabled }),
    accept: (brands) => say({ type: "accept", brands: brands.join(" ") }),
    destroy() {
      const destroyed = new CardFrameError("destroyed", "The card frame was removed.");
      ready.reject(destroyed);
      calls.fail(destroyed);
      port?.close();
      iframe.remove();
    },
  };
}

/** At once, and again after twice the time each, until the promise settles. */
function repeatUntil(settled: Promise<unknown>, work: () => void): void {
  let waitMs = greetAgainMs;
  let next: ReturnType<typeof setTimeout>;
  const turn = () => {
    work();
    next = setTimeout(turn, waitMs);
    waitMs *= 2;
  };
  turn();
  settled.catch(() => {}).finally(() => clearTimeout(next));
}

/** The frame's answers, matched to the one call that waits. */
class TokenizeCalls {
  readonly #say: (message: ToFrame) => void;
  #requests = 0;
  #open: { readonly request: number; readonly answer: PromiseWithResolvers<TokenizedCard> } | undefined;

  constructor(say: (message: ToFrame) => void) {
    this.#say = say;
  }

  start(sdkAuthorization: string): Promise<TokenizedCard> {
    if (this.#open === undefined) {
      this.#requests += 1;
      this.#open = { request: this.#requests, answer: Promise.withResolvers() };
      this.#say({ type: "tokenize", request: this.#requests, sdkAuthorization });
    }
    return this.#open.answer.promise;
  }

  settle(message: Extract<FromFrame, { request: number }>): void {
    if (this.#open?.request !== message.request) return;
    if (message.type === "failed") {
      this.#open.answer.reject(new CardFrameError(message.code, message.detail));
    } else {
      this.#open.answer.resolve({ token: message.token, brand: message.brand, last4: message.last4 });
    }
    this.#open = undefined;
  }

  fail(error: CardFrameError): void {
    this.#open?.answer.reject(error);
    this.#open = undefined;
  }
}

function initOf({ locale = "en", appearance = {} }: CardFrameOptions): InitMessage {
  const { theme = "auto", variables = {} } = appearance;
  return { type: "switchyard-card-frame", locale, theme, variables };
}

function createIframe({ framePolicy = "" }: CardFrameOptions, vaultOrigin: string): HTMLIFrameElement {
  const iframe = document.createElement("iframe");
  iframe.src = `${vaultOrigin}/frame?p=${encodeURIComponent(framePolicy)}`;
  iframe.title = "Card details";
  iframe.referrerPolicy = "no-referrer";
  // Set as properties: a page's policy may forbid style attributes.
  Object.assign(iframe.style, { display: "block", width: "100%", height: firstHeight, border: "0" });
  return iframe;
}

function unavailable(): CardFrameError {
  return new CardFrameError("vault_unavailable", "The card form did not load.");
}

declare global {
  var SwitchyardVault: SwitchyardVault | undefined;
}

globalThis.SwitchyardVault = Object.freeze({ mountCardFrame });
