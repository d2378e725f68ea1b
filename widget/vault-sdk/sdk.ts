/**
 * The vault's script on the merchant's page: puts the card frame there and exchanges messages with it. It never sees a
 * card.
 */
import { unreachable } from "../unreachable.ts";
import type { CardFields } from "./card-checks.ts";
import {
  type Appearance,
  type FormState,
  type FromFrame,
  type InitMessage,
  parseFromFrame,
  type ToFrame,
} from "./frame-messages.ts";

/** The place and look of the card frame, and its callbacks. */
export type CardFrameOptions = {
  /** The element that the frame fills; its width is the frame's. */
  readonly container: HTMLElement;
  /** The URL in the vault object; the frame comes from the same origin. */
  readonly sdkUrl: string;
  /** The policy in the vault object: the origins that may embed the frame. Without one, none may. */
  readonly framePolicy?: string | undefined;
  /** BCP 47; English if the frame has no texts in this language. */
  readonly locale?: string;
  readonly appearance?: Appearance;
  /** The fields to ask for beyond the card. */
  readonly fields?: CardFields | undefined;
  /** Called whenever the form's state changes. */
  readonly onChange?: (state: FormState) => void;
  /** Called when the customer presses Enter in a field. */
  readonly onSubmitRequest?: (() => void) | undefined;
};

/** A card that the vault stores, with what may be shown of it. */
export type TokenizedCard = { readonly token: string; readonly brand: string; readonly last4: string };

/** A card frame in the page, as the page may use it. */
export type CardFrame = {
  /** Resolves when the customer can type; rejects with `vault_unavailable` or `blocked_by_policy`. */
  readonly ready: Promise<void>;
  /**
   * Tokenizes the card, one call at a time: a second one while the first runs gets the first's answer. Rejects with a
   * CardFrameError, and always settles: a frame that was removed, was moved in the page or has gone silent is an error
   * too.
   */
  tokenize(sdkAuthorization: string): Promise<TokenizedCard>;
  /** Focuses the first field that needs input. */
  focus(): void;
  setDisabled(disabled: boolean): void;
  /**
   * Empties the security code, for another payment with the rest of the input. An external vault's form may lack it.
   */
  clearCode?(): void;
  /** Shows the marks of these brands, and refuses cards of others. */
  accept(brands: readonly string[]): void;
  /**
   * Asks for the security code of a stored card of this network alone, or for a whole card again. An external vault's form
   * lacks it.
   */
  ask?(brand?: string): void;
  /**
   * Once the security code is complete, gets a stored card's token from `open` and posts the code for it. Rejects as
   * `tokenize` and `open` do.
   */
  sendCode?(sdkAuthorization: string, open: () => Promise<string>): Promise<string>;
  /**
   * Posts a token that a wallet has encrypted for the merchant, and resolves with the vault's token for it. Absent
   * until the frame is ready, and if its vault takes none. Rejects as `tokenize` does.
   */
  sendWallet?(sdkAuthorization: string, wallet: string, token: string): Promise<TokenizedCard>;
  /** Removes the frame; an open `tokenize` rejects with `destroyed`. */
  destroy(): void;
};

/**
 * `code` is the vault's, or `invalid_card` (the form shows why), `vault_unavailable`, `destroyed`, or
 * `blocked_by_policy`: the page's Content-Security-Policy refuses the frame, now and at every other attempt.
 */
export class CardFrameError extends Error {
  override readonly name = "CardFrameError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The global of the vault's script on the page's window. */
export type SwitchyardVault = { mountCardFrame(options: CardFrameOptions): CardFrame };

// A slow mobile line loads the frame's 14 KB in two seconds; after this long it will not arrive.
const readyTimeoutMs = 20_000;
// A loaded frame answers at once, on a very busy computer within seconds; a silent one is an error page in its place.
const answersAfterLoadMs = 10_000;
// The frame gives up on the vault after 20 s and says so; a silent one is not there.
const answerTimeoutMs = 25_000;
// WebKit loses messages that are posted as the frame's load ends. The frame accepts the first init message that it
// receives; later ones are sent after twice the time each, because browsers log an error for every one to a refused
// frame.
const greetAgainMs = 100;
// The heights of a row of the empty form at the usual font size, and of the edges around all rows, so that nothing on
// the page moves when the frame sends its own height.
const rowHeight = 74;
const floatingRowHeight = 56;
const edgesHeight = 8;
// Refusals that the card form shows at one of its fields.
const shownInFrame = ["invalid_card", "invalid_field", "test_card_required"];

/** Adds a card frame to the page and starts loading it. */
export function mountCardFrame(options: CardFrameOptions): CardFrame {
  const vaultOrigin = new URL(options.sdkUrl).origin;
  const iframe = createIframe(options, vaultOrigin);
  const line = new FrameLine();
  const ready = awaitFrame(line);
  rejectIfBlocked(ready, vaultOrigin);
  const calls = new FrameCalls(line);
  let isAsking = false;
  const focus = () => {
    iframe.focus();
    line.say({ type: "focus" });
  };

  const hear = ({ data, target }: MessageEvent<unknown>) => {
    const message = parseFromFrame(data);
    switch (message?.type) {
      case "ready":
        iframe.title = message.title;
        if (message.takesWallets) {
          frame.sendWallet = async (sdkAuthorization, wallet, token) =>
            (await calls.start({ type: "sendWallet", sdkAuthorization, wallet, token }))!;
        }
        line.open(target as MessagePort);
        return ready.resolve();
      case "asked":
        isAsking = false;
        return;
      case "resize":
        // The height is from before the form has changed.
        if (isAsking) return;
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
      case "coded":
        return calls.settle(message);
      case undefined:
        return;
      default:
        return unreachable(message);
    }
  };
  const greet = () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = hear;
    iframe.contentWindow?.postMessage(initOf(options), vaultOrigin, [port2]);
  };
  let loads = 0;
  const greetUntilReady = () => {
    // A frame that the page moves loads again, and its input and running calls are lost.
    if (loads++ > 0) calls.fail(unavailable());
    ready.within(answersAfterLoadMs);
    line.close();
    repeatUntil(line.opened, greet);
  };
  iframe.addEventListener("load", greetUntilReady);
  options.container.append(iframe);

  const frame: CardFrame = {
    ready: ready.promise,
    tokenize: async (sdkAuthorization) => (await calls.start({ type: "tokenize", sdkAuthorization }))!,
    focus,
    setDisabled: (disabled) => line.keep({ type: "setDisabled", disabled }),
    clearCode: () => line.say({ type: "clearCode" }),
    accept: (brands) => line.keep({ type: "accept", brands: brands.join(" ") }),
    ask(brand = "") {
      isAsking = true;
      // The frame sends its own height later; nothing on the page may wait for it.
      iframe.style.height = heightOf(options, brand === "" ? undefined : 1);
      line.keep({ type: "ask", brand });
    },
    async sendCode(sdkAuthorization, open) {
      await calls.start({ type: "checkCode" });
      const token = await open();
      await calls.start({ type: "sendCode", sdkAuthorization, token });
      return token;
    },
    destroy() {
      const destroyed = new CardFrameError("destroyed", "The card frame was removed.");
      ready.reject(destroyed);
      calls.end(destroyed);
      line.end();
      iframe.remove();
    },
  };
  return frame;
}

/** Replaces Promise.withResolvers, which the oldest browsers that the form supports do not have (browser-files.ts). */
function withResolvers<Value>(): PromiseWithResolvers<Value> {
  let settle!: Pick<PromiseWithResolvers<Value>, "resolve" | "reject">;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

/**
 * Returns the frame's readiness, which fails after its time; `within` sets another limit, which counts until it is
 * ready.
 */
function awaitFrame(line: FrameLine) {
  const ready = withResolvers<void>();
  let timer: ReturnType<typeof setTimeout>;
  let isOpen = true;
  const within = (timeoutMs: number) => {
    clearTimeout(timer);
    if (!isOpen) return;
    timer = setTimeout(() => ready.reject(unavailable()), timeoutMs);
  };
  within(readyTimeoutMs);
  // A page that never reads `ready` must not get an unhandled rejection for it.
  ready.promise
    .catch(() => line.end())
    .finally(() => {
      isOpen = false;
      clearTimeout(timer);
    });
  return { ...ready, within };
}

/** Rejects the frame's readiness at once if the page's policy blocks the frame, with an error that says what to add. */
function rejectIfBlocked({ promise, reject }: PromiseWithResolvers<void>, vaultOrigin: string): void {
  const listening = new AbortController();
  const hear = ({ blockedURI, disposition, effectiveDirective }: SecurityPolicyViolationEvent) => {
    if (disposition !== "enforce" || effectiveDirective !== "frame-src" || !blockedURI.startsWith(vaultOrigin)) return;
    const message = `This page's Content-Security-Policy blocks the card form: add ${vaultOrigin} to its frame-src.`;
    reject(new CardFrameError("blocked_by_policy", message));
  };
  document.addEventListener("securitypolicyviolation", hear, { signal: listening.signal });
  promise.catch(() => {}).finally(() => listening.abort());
}

/** Runs `work` at once, and again after twice the time each, until the promise settles. */
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

/**
 * The page's messages to the frame: queued until it listens; lasting ones are sent again to a frame that has reloaded.
 */
class FrameLine {
  #port: MessagePort | undefined;
  readonly #unsaid: ToFrame[] = [];
  readonly #lasting = new Map<string, ToFrame>();
  #opening = withResolvers<void>();

  /** Resolves when the frame listens, or never will. */
  get opened(): Promise<void> {
    return this.#opening.promise;
  }

  say(message: ToFrame): void {
    if (this.#port) this.#port.postMessage(message);
    else this.#unsaid.push(message);
  }

  keep(message: ToFrame): void {
    this.#lasting.set(message.type, message);
    this.#port?.postMessage(message);
  }

  open(port: MessagePort): void {
    this.#opening.resolve();
    this.#port = port;
    for (const message of [...this.#lasting.values(), ...this.#unsaid.splice(0)]) this.say(message);
  }

  /** Queues messages until it is opened again. */
  close(): void {
    this.end();
    this.#port = undefined;
    this.#opening = withResolvers();
  }

  end(): void {
    this.#opening.resolve();
    this.#port?.close();
  }
}

/** A message that the frame answers. */
type Call =
  | { readonly type: "tokenize"; readonly sdkAuthorization: string }
  | { readonly type: "checkCode" }
  | {
      readonly type: "sendWallet";
      readonly sdkAuthorization: string;
      readonly wallet: string;
      readonly token: string;
    }
  | { readonly type: "sendCode"; readonly sdkAuthorization: string; readonly token: string };

/** The frame's answers, matched to the one waiting call. */
class FrameCalls {
  readonly #line: FrameLine;
  #requests = 0;
  #ended: CardFrameError | undefined;
  #open: { readonly request: number; readonly answer: PromiseWithResolvers<TokenizedCard | undefined> } | undefined;

  constructor(line: FrameLine) {
    this.#line = line;
  }

  /** Resolves with a card for `tokenize` and `sendWallet` alone. */
  async start(call: Call): Promise<TokenizedCard | undefined> {
    if (this.#ended) throw this.#ended;
    if (this.#open === undefined) {
      this.#requests += 1;
      const answer = withResolvers<TokenizedCard | undefined>();
      this.#open = { request: this.#requests, answer };
      const timer = setTimeout(() => this.fail(unavailable()), answerTimeoutMs);
      answer.promise.catch(() => {}).finally(() => clearTimeout(timer));
      this.#line.say({ ...call, request: this.#requests });
    }
    return this.#open.answer.promise;
  }

  settle(message: Extract<FromFrame, { request: number }>): void {
    if (this.#open?.request !== message.request) return;
    if (message.type === "failed") {
      this.#open.answer.reject(new CardFrameError(message.code, message.detail));
    } else if (message.type === "tokenized") {
      this.#open.answer.resolve({ token: message.token, brand: message.brand, last4: message.last4 });
    } else this.#open.answer.resolve(undefined);
    this.#open = undefined;
  }

  /** Fails the waiting call and every later one with this error. */
  end(error: CardFrameError): void {
    this.#ended = error;
    this.fail(error);
  }

  fail(error: CardFrameError): void {
    this.#open?.answer.reject(error);
    this.#open = undefined;
  }
}

function initOf({ locale = "en", appearance = {}, fields }: CardFrameOptions): InitMessage {
  const { theme = "auto", labels = "above", variables = {} } = appearance;
  return { type: "switchyard-card-frame", locale, theme, labels, variables, fields: usableFields(fields) };
}

/** Returns the known fields with a boolean value, and warns of the others. */
function usableFields(fields: unknown): CardFields {
  const pairs = Object.entries(Object(fields)).filter(([name, value]) => {
    const isUsable = ["holderName", "postalCode"].includes(name) && typeof value === "boolean";
    if (!isUsable) console.warn(`Switchyard.mount: fields.${name} is not valid. It is left out.`);
    return isUsable;
  });
  return Object.fromEntries(pairs);
}

function createIframe(options: CardFrameOptions, vaultOrigin: string): HTMLIFrameElement {
  const { framePolicy = "", locale = "en" } = options;
  const iframe = document.createElement("iframe");
  // The vault renders the frame in its language: no text loads later, and none can fail to.
  iframe.src = `${vaultOrigin}/frame?l=${encodeURIComponent(locale)}&p=${encodeURIComponent(framePolicy)}`;
  iframe.title = "Card details";
  iframe.referrerPolicy = "no-referrer";
  // Set as properties: a page's policy may forbid style attributes.
  Object.assign(iframe.style, { display: "block", width: "100%", height: heightOf(options), border: "0" });
  return iframe;
}

/** Returns the height of the empty form; by default with all rows that the page asks for. */
function heightOf(
  { appearance = {}, fields }: CardFrameOptions,
  rows = 3 + (fields?.postalCode ? 1 : 0) - (fields?.holderName === false ? 1 : 0),
): string {
  const [, length = "1", unit = "rem"] = /^([\d.]+)(px|rem)$/.exec(appearance.variables?.spacing ?? "") ?? [];
  const spacing = Number(length) * (unit === "rem" ? 16 : 1);
  const row = appearance.labels === "floating" ? floatingRowHeight : rowHeight;
  return `${rows * (row + spacing) - spacing + edgesHeight}px`;
}

function unavailable(): CardFrameError {
  return new CardFrameError("vault_unavailable", "The card form did not load.");
}

declare global {
  var SwitchyardVault: SwitchyardVault | undefined;
}

globalThis.SwitchyardVault = Object.freeze({ mountCardFrame });
