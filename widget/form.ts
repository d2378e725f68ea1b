/** What the customer sees around the card frame: pay button, one loading state, messages. Holds no payment logic. */

import { formStyle } from "./form-style.ts";
import { isRightToLeft } from "./locale.ts";
import type { Appearance } from "./options.ts";

/** Where the form goes, and how it looks and speaks. */
export type FormOptions = {
  readonly container: Element;
  readonly locale: string;
  readonly appearance: Appearance;
  readonly submitButton: boolean;
  readonly onPay: () => void;
  /** The customer wants another try at a form that did not come. */
  readonly onRetry: () => void;
};

/** `status` waits its turn with a screen reader, `error` interrupts; `good` is the end everybody hopes for, `notice` wants to be read. */
export type Message = {
  readonly kind: "status" | "error";
  readonly text: string;
  readonly tone?: "good" | "notice";
};

/** A form in the page, as the payment uses it. */
export type Form = {
  /** Where the vault puts its frame. */
  readonly cardContainer: HTMLElement;
  /** As it was asked for, with a theme that fits the page. */
  readonly appearance: Appearance;
  /** Offers another try under these words. */
  offerRetry(label: string): void;
  /** Takes the offer back, and what was said with it. */
  withdrawRetry(): void;
  /** Shows the card frame, which nobody can see or type into before. */
  showCard(): void;
  /** Who is paid and how much, as the service says. */
  setSummary(summary: { merchantName: string; amount: string; pay: string }): void;
  setBusy(busy: boolean): void;
  /** A finished payment has nothing left to press. */
  setFinished(finished: boolean): void;
  /** Replaces the message before it; undefined clears. The same message again is not announced again. */
  say(message: Message | undefined): void;
  /** As it was at first, for a fresh session. */
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
  const button = pressable("pay", onPay);
  button.hidden = !submitButton;
  // Without its amount the button only keeps its place.
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
  host.shadowRoot!.append(summary, cardContainer, button, status, error, again.button);
  container.append(host);

  const say = (message: Message | undefined) => {
    status.className = message?.tone ?? "busy";
    host.toggleAttribute("data-paid", message?.tone === "good");
    setText(status, message?.kind === "status" ? message.text : "");
    setText(error, message?.kind === "error" ? message.text : "");
  };
  return {
    cardContainer,
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
      // aria-disabled and not disabled: a disabled button would drop the keyboard's focus.
      button.setAttribute("aria-disabled", String(busy));
      button.setAttribute("aria-busy", String(busy));
    },
    setFinished(finished) {
      button.disabled = finished;
      // An outcome that has been told is not told again.
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

/** The button for another try, hidden until it is offered. */
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
    // Whoever pressed it has the keyboard nowhere since it went.
    if (pressed && document.activeElement === document.body) button.focus();
  };
  return { button, offer };
}

/**
 * `auto` is dark only where the page itself can be: dark means light letters, which a page that stays light would not
 * show. A page says so with `color-scheme`, in CSS or in a meta element.
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
