/** The list of a customer's stored cards above the card form: native radio buttons, and another card last. */

import type { CardsTexts } from "./cards-texts.ts";

/** A card as the service lists it. */
export type StoredCard = {
  readonly paymentMethodId: string;
  readonly brand: string;
  readonly last4: string;
  readonly expMonth: number;
  readonly expYear: number;
};

// The pay button below, which comes with the list.
const buttonHeight = 64;

const brandNames: Readonly<Record<string, string>> = {
  visa: "Visa",
  mastercard: "Mastercard",
  amex: "American Express",
  discover: "Discover",
  diners: "Diners Club",
  jcb: "JCB",
  unionpay: "UnionPay",
  maestro: "Maestro",
  cartes_bancaires: "Cartes Bancaires",
  dankort: "Dankort",
};

/** Lists cards, the first one chosen. */
export class CardList {
  readonly #group = element("fieldset", "cards");
  readonly #more: HTMLButtonElement;
  readonly #alert = element("p", "error");
  readonly #cards = new Map<HTMLInputElement, StoredCard | undefined>();
  readonly #unavailable: string;
  #isLocked = false;

  /** `onChange` is called when the customer chooses another card. */
  constructor(cards: readonly StoredCard[], [title, another, more, , unavailable]: CardsTexts, onChange: () => void) {
    this.#unavailable = unavailable;
    this.#more = element("button", "more", more);
    this.#more.hidden = true;
    this.#alert.setAttribute("role", "alert");
    this.#group.append(element("legend", "unseen", title));
    for (const card of cards) this.#add(card, ...describe(card));
    this.#group.append(this.#more);
    this.#add(undefined, another);
    this.#inputs[0]!.checked = true;
    this.#group.addEventListener("change", () => {
      this.#alert.textContent = "";
      onChange();
    });
  }

  /** Undefined for another card. */
  get chosen(): StoredCard | undefined {
    return this.#cards.get(this.#chosenInput);
  }

  get #inputs(): HTMLInputElement[] {
    return [...this.#cards.keys()];
  }

  get #chosenInput(): HTMLInputElement {
    return this.#inputs.find(({ checked }) => checked)!;
  }

  #add(card: StoredCard | undefined, ...content: (Node | string)[]): void {
    const option = element("label", "option");
    const input = element("input", "");
    input.type = "radio";
    input.name = "card";
    // It cannot be read-only, and would lose the focus if it was disabled. Arrow keys are clicks here, too.
    input.addEventListener("click", (event) => this.#isLocked && event.preventDefault());
    option.append(input, ...content);
    this.#group.append(option);
    this.#cards.set(input, card);
  }

  /** Adds the list above all else in the container. */
  addTo(container: HTMLElement): void {
    container.prepend(this.#group, this.#alert);
  }

  /** Hides as many cards behind a button as the container has no room for; `onShow` is called before that shows them. */
  fit(container: HTMLElement, room: number, onShow: () => void): void {
    const shown = this.#inputs.slice(0, -1);
    const hidden: HTMLInputElement[] = [];
    while (shown.length > 1 && bottomOf(container) + buttonHeight > room) {
      const last = shown.pop()!;
      hidden.unshift(last);
      last.parentElement!.hidden = true;
      this.#more.hidden = false;
    }
    this.#more.addEventListener("click", () => {
      onShow();
      this.#more.hidden = true;
      for (const { parentElement } of hidden) parentElement!.hidden = false;
      hidden[0]!.focus();
    });
  }

  /** Takes the chosen card out, because it cannot be used. Returns whether another one is left. */
  drop(): boolean {
    const dropped = this.#chosenInput;
    dropped.parentElement!.remove();
    this.#cards.delete(dropped);
    const [next] = this.#inputs;
    next!.checked = true;
    next!.focus();
    this.#alert.textContent = this.#unavailable;
    this.#group.hidden = this.#cards.size === 1;
    return !this.#group.hidden;
  }

  focus(): void {
    this.#chosenInput.focus();
  }

  setDisabled(disabled: boolean): void {
    this.#isLocked = disabled;
    this.#group.ariaDisabled = disabled ? "true" : null;
  }

  remove(): void {
    this.#group.remove();
    this.#alert.remove();
  }
}

function describe({ brand, last4, expMonth, expYear }: StoredCard): Node[] {
  const name = element("bdi", "", `${brandNames[brand] ?? ""} `);
  const dots = element("span", "", "•••• ");
  dots.ariaHidden = "true";
  name.dir = "ltr";
  name.append(dots, last4);
  return [name, element("bdi", "", `${String(expMonth).padStart(2, "0")}/${String(expYear).slice(-2)}`)];
}

function bottomOf(container: HTMLElement): number {
  const children = [...container.children] as HTMLElement[];
  return Math.max(...children.map(({ offsetTop, offsetHeight }) => offsetTop + offsetHeight));
}

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  part: string,
  text = "",
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  node.className = part;
  node.textContent = text;
  return node;
}
