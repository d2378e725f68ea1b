/** The form around the card frame: pay button, one loading state, messages. Contains no payment logic. */

import { formStyle } from "./form-style.ts";
import { isRightToLeft } from "./locale.ts";
import type { Appearance } from "./options.ts";

/** The place, look and language of the form. */
export type FormOptions = {
  readonly container: Element;
  readonly locale: string;
  readonly appearance: Appearance;
  readonly submitButton: boolean;
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
  /** The requested appearance, with a theme that fits the page. */
  readonly appearance: Appearance;
  /** Offers a retry with this label. */
  offerRetry(label: string): void;
  /** Withdraws the offer and its message. */
  withdrawRetry(): void;
  /** Shows the card frame, which is hidden and inert before. */
  showCard(): void;
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
export function createForm({ container, locale, submitButton, onPay, onRetry, ...asked }: FormOptions): Form {
  const appearance = { ...asked.appearance, theme: themeFor(container, asked.appearance.theme) };
  const host = createHost(locale, appearance);
  const summary = element("p", "summary");
  const merchant = element("bdi", "merchant");
  const amount = element("strong", "amount");
  summary.append(merchant, amount);
  const cardContainer = element("div", "card");
  const actionPlace = element("div", "action");
  const button = pressable("pay", onPay);
  button.hidden = !submitButton;
  // Until the amount is known the button only reserves its space.
  button.dataset.waiting = "";
  const label = element("span", "label");
  button.append(element("span", "spinner"), label);
  const status = element("p", "");
  status.setAttribute("role", "status");
  const error = element("p", "error");
  error.setAttribute("role", "alert");
  const again = createAgain(onRetry);
  const hideCard = (hidden: boolean) => cardContainer.toggleAttribute("inert", hidden);
  hideCard(true);
  host.shadowRoot!.append(summary, cardContainer, actionPlace, button, status, error, again.button);
  container.append(host);

  const say = (message: Message | undefined) => {
    status.className = message?.tone ?? "busy";
    host.toggleAttribute("data-paid", message?.tone === "good");
    setText(status, message?.kind === "status" ? message.text : "");
    setText(error, message?.kind === "error" ? message.text : "");
  };
  return {
    cardContainer,
    actionPlace,
    appearance,
    offerRetry: again.offer,
    withdrawRetry() {
      if (!again.button.hidden) say(undefined);
      again.button.hidden = true;
    },
    showCard: () => void hideCard(false),
    setSummary(shown) {
      setText(merchant, shown.merchantName);
      setText(amount, shown.amount);
      setText(label, shown.pay);
      delete button.dataset.waiting;
    },
    setBusy(busy) {
      // aria-disabled and not disabled: a disabled button would lose the keyboard's focus.
      button.setAttribute("aria-disabled", String(busy));
      button.setAttribute("aria-busy", String(busy));
    },
    setFinished(finished) {
      button.disabled = finished;
      // A reported outcome is not reported again.
      again.button.hidden ||= finished;
    },
    say,
    reset() {
      button.dataset.waiting = "";
      button.disabled = false;
      cardContainer.replaceChildren();
      hideCard(true);
      say(undefined);
      again.button.hidden = true;
    },
    remove: () => host.remove(),
  };
}

function createHost(locale: string, appearance: Appearance): HTMLElement {
  const host = document.createElement("div");
  host.lang = locale;
  host.dir = isRightToLeft(locale) ? "rtl" : "ltr";
  applyAppearance(host, appearance);
  // An adopted sheet needs no 'unsafe-inline' in the page's content security policy.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(formStyle);
  host.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
  return host;
}

/** Creates the retry button, hidden until it is offered. */
function createAgain(onRetry: () => void) {
  let pressed = false;
  const button = pressable("again", () => {
    pressed = true;
    onRetry();
  });
  button.hidden = true;
  const offer = (label: string) => {
    setText(button, label);
    button.hidden = false;
    // Returns the keyboard focus of a person who pressed the button that is now gone.
    if (pressed && document.activeElement === document.body) button.focus();
  };
  return { button, offer };
}

/**
 * Resolves `auto` to dark only if the page itself can be dark: dark means light letters, which a page that stays light
 * would not show. A page declares it with `color-scheme`, in CSS or in a meta element.
 */
function themeFor(container: Element, theme: Appearance["theme"] = "auto"): "auto" | "light" | "dark" {
  if (theme !== "auto") return theme;
  const { colorScheme } = getComputedStyle(container);
  const meta = document.querySelector<HTMLMetaElement>("meta[name=color-scheme]");
  const schemes = colorScheme === "normal" && meta ? meta.content : colorScheme;
  if (!schemes.includes("dark")) return "light";
  return schemes.includes("light") ? "auto" : "dark";
}

function applyAppearance(host: HTMLElement, { theme = "auto", variables = {} }: Appearance): void {
  host.dataset.theme = theme;
  for (const [name, value] of Object.entries(variables)) {
    host.style.setProperty(`--${name}`, value);
  }
}

function pressable(part: string, onPress: () => void): HTMLButtonElement {
  const button = element("button", part);
  button.type = "button";
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
