/** The form around the card frame: pay button, one loading state, messages. Contains no payment logic. */

import { formStyle } from "./form-style.ts";
import { isRightToLeft } from "./locale.ts";
import { type Appearance, variableNames } from "./options.ts";

/** The place, look and language of the form. */
export type FormOptions = {
  readonly container: Element;
  readonly locale: string;
  readonly appearance: Appearance;
  readonly submitButton: boolean;
  /** The rows of fields that the card form will have. */
  readonly rows: number;
  /** True if stored cards may stand above the card form: their place is kept, and the pay button comes with them. */
  readonly storedCards: boolean;
  /** `wallets` if their buttons may stand above it: their place is kept. */
  readonly wallets: "wallets" | "";
  readonly onPay: () => void;
  /** Called when the customer retries a form that did not load. */
  readonly onRetry: () => void;
};

/**
 * `status` waits for its turn in a screen reader, `error` interrupts; `good` marks a success, `notice` needs to be
 * read.
 */
export type Message = {
  readonly kind: "status" | "error";
  readonly text: string;
  readonly tone?: "good" | "notice";
};

/** A form in the page, as the payment uses it. */
export type Form = {
  /** The container for the vault's frame. */
  readonly cardContainer: HTMLElement;
  /** The container for an action, which is shown in the card's place. */
  readonly actionPlace: HTMLElement;
  /** The container for the wallets' buttons. */
  readonly wallets: HTMLElement;
  /** The requested appearance, with a theme that fits the page. */
  readonly appearance: Appearance;
  /** Sets the explanation of a pay button that cannot be pressed yet. */
  explainWait(text: string): void;
  /** Offers a retry with this label. */
  offerRetry(label: string): void;
  /**
   * Shows the card frame, in whose place a skeleton stands before; from now on the customer can pay. Withdraws the offer
   * of a retry, and its message.
   */
  showCard(): void;
  /** Takes a variable of the appearance back. */
  leaveOut(variable: string): void;
  /** Adds a style sheet of a part that has loaded; the same one only once. */
  addStyle(style: string): void;
  /** Sets the merchant's name and the amount, as the service gives them. */
  setSummary(summary: { merchantName: string; amount: string; pay: string }): void;
  setBusy(busy: boolean): void;
  /** Hides the controls of a finished payment. */
  setFinished(finished: boolean): void;
  /** Replaces the previous message; undefined clears it. The same message is not announced again. */
  say(message: Message | undefined): void;
  /** Restores the initial state, for a fresh session. */
  reset(): void;
  remove(): void;
};

/** Builds the form in a shadow tree, so that neither page nor widget restyles the other. */
export function createForm({
  container,
  locale,
  submitButton,
  rows,
  storedCards,
  wallets,
  onPay,
  onRetry,
  ...asked
}: FormOptions): Form {
  const appearance = { ...asked.appearance, theme: themeFor(container, asked.appearance.theme) };
  const host = createHost(locale);
  // A list takes the place of the rows, and the button another's.
  host.style.setProperty("--rows", `${storedCards ? rows + 1.4 : rows}`);
  const summary = element("p", "summary");
  summary.hidden = asked.appearance.summary === "hidden";
  const merchant = element("bdi", "merchant");
  const amount = element("strong", "amount");
  summary.append(merchant, amount);
  const cardContainer = element("div", "card");
  const actionPlace = element("div", "action");
  const walletPlace = element("div", wallets);
  // The button is not disabled: a disabled button would lose the keyboard's focus, and explain nothing when it is
  // pressed.
  let isReady = false;
  let isBusy = false;
  const wait = element("span", "");
  wait.id = "wait";
  wait.hidden = true;
  const button = pressable("pay", () => (isReady ? onPay() : say({ kind: "status", text: wait.textContent })));
  const dressButton = () => {
    button.ariaDisabled = String(isBusy || !isReady);
    button.ariaBusy = String(isBusy);
    button.setAttribute("aria-describedby", isReady ? "" : "wait");
  };
  const label = element("span", "label");
  button.append(element("span", "spinner"), label);
  const status = element("p", "");
  status.role = "status";
  const error = element("p", "error");
  error.role = "alert";
  let hasRetried = false;
  const again = pressable("again", () => {
    hasRetried = true;
    onRetry();
  });
  const hideCard = (hidden: boolean) => {
    cardContainer.inert = hidden;
    button.hidden = !submitButton || (hidden && storedCards);
    isReady = !hidden;
    host.removeAttribute("data-formless");
    dressButton();
  };
  host.shadowRoot!.append(summary, walletPlace, cardContainer, actionPlace, button, wait, status, error, again);
  container.append(host);
  applyAppearance(host, appearance);
  const say = (message: Message | undefined) => {
    status.className = message?.tone ?? "busy";
    host.toggleAttribute("data-paid", message?.tone === "good");
    // A part is missing: without it there is nothing to enter or to press.
    host.toggleAttribute("data-formless", message?.kind === "error" && (!isReady || !cardContainer.firstChild));
    setText(status, message?.kind === "status" ? message.text : "");
    setText(error, message?.kind === "error" ? message.text : "");
  };
  const reset = () => {
    // Until the amount is known the button only reserves its space.
    button.dataset.waiting = "";
    button.disabled = false;
    cardContainer.replaceChildren();
    hideCard(true);
    say(undefined);
    again.hidden = true;
  };
  reset();
  return {
    cardContainer,
    actionPlace,
    wallets: walletPlace,
    appearance,
    explainWait: (text) => setText(wait, text),
    offerRetry(text) {
      setText(again, text);
      again.hidden = false;
      // Returns the keyboard focus of a person who pressed the button that is now gone.
      if (hasRetried && document.activeElement === document.body) again.focus();
    },
    showCard() {
      hideCard(false);
      if (!again.hidden || status.textContent === wait.textContent) say(undefined);
      again.hidden = true;
    },
    leaveOut: (variable) => host.style.setProperty(`--${variable}`, "initial"),
    addStyle: (style) => addSheet(host.shadowRoot!, style),
    setSummary(shown) {
      setText(merchant, shown.merchantName);
      setText(amount, shown.amount);
      setText(label, shown.pay);
      delete button.dataset.waiting;
    },
    setBusy(busy) {
      isBusy = busy;
      dressButton();
    },
    setFinished(finished) {
      button.disabled = finished;
      // A reported outcome is not reported again.
      again.hidden ||= finished;
    },
    say,
    reset,
    remove: () => host.remove(),
  };
}

function createHost(locale: string): HTMLElement {
  const host = document.createElement("div");
  host.lang = locale;
  host.dir = isRightToLeft(locale) ? "rtl" : "ltr";
  addSheet(host.attachShadow({ mode: "open" }), formStyle);
  return host;
}

const sheets = new Map<string, CSSStyleSheet>();

/** Adopts a style sheet: that needs no 'unsafe-inline' in the page's content security policy. */
function addSheet(root: ShadowRoot, style: string): void {
  const sheet = sheets.get(style) ?? new CSSStyleSheet();
  if (!sheets.has(style)) sheet.replaceSync(style);
  sheets.set(style, sheet);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}

/**
 * Resolves `auto`, and a value that is no theme, to dark only if the page itself can be dark: dark means light letters,
 * which a page that stays light would not show. A page declares it with `color-scheme`, in CSS or in a meta element.
 */
function themeFor(container: Element, theme: Appearance["theme"]): "auto" | "light" | "dark" {
  if (theme === "light" || theme === "dark") return theme;
  const { colorScheme } = getComputedStyle(container);
  const meta = document.querySelector<HTMLMetaElement>("meta[name=color-scheme]");
  const schemes = colorScheme === "normal" && meta ? meta.content : colorScheme;
  if (!schemes.includes("dark")) return "light";
  return schemes.includes("light") ? "auto" : "dark";
}

function applyAppearance(host: HTMLElement, { theme, labels, variables }: Appearance): void {
  host.dataset.theme = theme;
  host.dataset.labels = labels;
  // A page may set its own rem; that of the card frame is the browser's.
  host.style.fontSize = "medium";
  const rem = getComputedStyle(host).fontSize;
  host.style.fontSize = "";
  // A property of the page that happens to have the name of a variable must not come in.
  for (const name of variableNames) {
    host.style.setProperty(`--${name}`, variables?.[name]?.replace(/([\d.]+)rem/, `calc($1*${rem})`) ?? "initial");
  }
}

/** Needs no type: in a shadow tree it submits no form of the page. */
function pressable(part: string, onPress: () => void): HTMLButtonElement {
  const button = element("button", part);
  button.addEventListener("click", onPress);
  return button;
}

function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

function element<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, part: string): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  node.className = part;
  return node;
}
