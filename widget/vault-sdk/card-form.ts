/** The form in the card frame: formats input, shows problems, and returns the card. Independent of network and page. */
import { brokenRule } from "../appearance.ts";
import { unreachable } from "../unreachable.ts";
import { BrandChoice } from "./brand-choice.ts";
import { elementOf, showAccepted, showBrand } from "./brand-marks.ts";
import {
  type CardBody,
  type CardFields,
  cardBodyOf,
  type FieldName,
  type FieldProblem,
  type FieldTexts,
  findProblem,
} from "./card-checks.ts";
import {
  digitsOf,
  formatCvc,
  formatExpiry,
  formatNumber,
  lookOf,
  numberStartOf,
  splitPastedCard,
} from "./card-format.ts";
import { reformat } from "./edit-field.ts";
import type { FormState, InitMessage } from "./frame-messages.ts";
import type { FrameTexts } from "./frame-texts.ts";
import { problemText, textsOfPage } from "./texts.ts";
import { vaultNow } from "./vault-time.ts";

// Longer than a browser may take to bring the focus into a frame, and shorter than a person needs to leave and come
// back.
const frameFocusMs = 500;

/** The fields in the order of the form, which is the order of Tab and of the focus on problems. */
const fieldNames: readonly FieldName[] = ["number", "expiry", "cvc", "holder", "postalCode"];

export class CardForm {
  readonly #onChange: (state: FormState) => void;
  readonly #texts: FrameTexts = textsOfPage();
  #accepted: readonly string[] | undefined;
  #fields: CardFields = {};
  /** The network of the stored card whose security code is the only field. */
  #storedBrand: string | undefined;
  readonly #handled = new Map<FieldName, string>();
  readonly #choice = new BrandChoice(this.#texts, () => this.#emit());

  constructor(listeners: { onChange: (state: FormState) => void; onEnter: () => void }) {
    this.#onChange = listeners.onChange;
    for (const name of fieldNames) {
      const input = inputOf(name);
      input.addEventListener("input", (event) => this.#handleInput(name, event as InputEvent));
      // Text of an input method causes no input event after its end.
      input.addEventListener("compositionend", () => this.#handleInput(name));
      input.addEventListener("change", () => this.#catchUp(name));
      input.addEventListener("blur", (event) => this.#handleBlur(name, event));
      input.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && listeners.onEnter());
    }
    inputOf("number").addEventListener("paste", (event) => this.#handlePaste(event));
  }

  /** Applies the page's look, and shows the fields that it asks for, in the language of this document. */
  dress({ theme, labels, variables, fields = {} }: InitMessage): void {
    const texts = this.#texts;
    const root = document.documentElement;
    document.title = texts.title;
    root.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
    root.dataset.labels = labels === "floating" ? labels : "above";
    this.#fields = fields;
    for (const name of fieldNames) {
      const label = document.querySelector(`label[for=${name}]`)!;
      label.textContent = texts.labels[name];
    }
    this.#showFields();
    if (fields.holderName) inputOf("holder").required = true;
    else
      document.querySelector("label[for=holder]")!.textContent = texts.optional.replace("{label}", texts.labels.holder);
    inputOf("expiry").placeholder = texts.expiryShape;
    this.#showNumber();
    for (const [name, value] of Object.entries(variables)) {
      const cssName = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      if (brokenRule(cssName, value) === undefined) root.style.setProperty(`--${cssName}`, value);
    }
  }

  /** Shows the accepted brands; a card of another one is a problem from now on. */
  accept(brands: readonly string[]): void {
    this.#accepted = brands;
    showAccepted(elementOf("accepted"), brands);
    this.#showNumber();
  }

  /** Asks for the security code of a stored card of this network alone; for a whole card if it is empty. */
  ask(brand: string): void {
    this.#storedBrand = brand || undefined;
    this.#showFields();
    this.#showNumber();
    // It was another card's.
    this.clearCode();
  }

  /** Returns the security code, or undefined after showing its problem and focusing it. */
  takeCode(): string | undefined {
    this.#catchUp("cvc");
    if (this.#check("cvc") === undefined) return this.#fieldTexts().cvc;
    inputOf("cvc").focus();
    return undefined;
  }

  /** Returns the card, or undefined after showing and focusing the first problem. */
  takeCard(): CardBody | undefined {
    for (const name of fieldNames) this.#catchUp(name);
    const wrong = fieldNames.filter((name) => this.#check(name) !== undefined);
    const brand = this.#choice.chosen;
    if (wrong[0] === undefined) return { ...cardBodyOf(this.#fieldTexts()), ...(brand !== undefined && { brand }) };
    inputOf(wrong[0]).focus();
    return undefined;
  }

  /** Shows a refusal of the vault at its field and focuses it. */
  showProblem(name: FieldName, problem: FieldProblem): void {
    this.#say(name, problem);
    inputOf(name).focus();
  }

  /** Focuses the first field that shows a problem, or else the first that is not complete. */
  focus(): void {
    const shown = fieldNames.find((name) => inputOf(name).ariaInvalid === "true");
    const name = shown ?? fieldNames.find((candidate) => this.#problemOf(candidate) !== undefined);
    const field = inputOf(name ?? (this.#storedBrand === undefined ? "number" : "cvc"));
    field.focus();
    // In Chromium the page's own focus on the frame may come after this and take it from the field.
    const again = () => field.focus();
    addEventListener("focus", again, { once: true });
    setTimeout(() => removeEventListener("focus", again), frameFocusMs);
  }

  /**
   * Makes fields read-only, not disabled: a disabled field loses the keyboard's focus, and cannot be focused when its
   * problem is shown.
   */
  setDisabled(disabled: boolean): void {
    this.#choice.setDisabled(disabled);
    for (const name of fieldNames) {
      inputOf(name).readOnly = disabled;
      inputOf(name).ariaDisabled = disabled ? "true" : null;
    }
  }

  /** Empties the security code, which a second payment with the card needs again. */
  clearCode(): void {
    inputOf("cvc").value = "";
    this.#say("cvc");
    this.#emit();
  }

  #handleInput(name: FieldName, event?: InputEvent): void {
    if (event?.isComposing) return;
    const input = inputOf(name);
    this.#format(name, event?.inputType);
    if (name === "number") {
      this.#showNumber();
      this.#format("cvc");
    }
    this.#handled.set(name, input.value);
    // A problem disappears as soon as it is corrected; a new one waits until the field is left.
    if (input.ariaInvalid === "true" && this.#problemOf(name) === undefined) this.#say(name);
    this.#emit();
  }

  /** Handles what a password manager wrote without an input event. */
  #catchUp(name: FieldName): void {
    if (inputOf(name).value !== (this.#handled.get(name) ?? "")) this.#handleInput(name);
  }

  /**
   * Shows the problem of a half-filled field when it is left, but none for an empty one. Not where the focus leaves the
   * frame: the form would grow between press and release of the pay button, which would then miss its click. A number
   * may bring up the choice of a brand.
   */
  #handleBlur(name: FieldName, { relatedTarget }: FocusEvent): void {
    if (relatedTarget === null && name === "number") this.#format(name);
    else this.#catchUp(name);
    if (relatedTarget !== null && inputOf(name).value !== "") this.#check(name);
  }

  #handlePaste(event: ClipboardEvent): void {
    const card = splitPastedCard(event.clipboardData?.getData("text") ?? "");
    if (card === undefined) return;
    event.preventDefault();
    for (const name of ["number", "expiry", "cvc"] as const) {
      inputOf(name).value = formatField(name, card[name], card.number);
      this.#check(name);
    }
    this.#showNumber();
    inputOf("cvc").focus();
    this.#emit();
  }

  /** Shows what the number says of its card: its brand, and the choice between two. */
  #showNumber(): void {
    showBrand(this.#number, this.#texts);
    this.#choice.show(this.#number, this.#accepted);
  }

  /** The number, or the beginning of a stored card's. */
  get #number(): string {
    return this.#storedBrand === undefined ? inputOf("number").value : numberStartOf(this.#storedBrand);
  }

  #showFields(): void {
    for (const name of fieldNames) inputOf(name).closest<HTMLElement>(".field")!.hidden = !this.#isAsked(name);
  }

  #isAsked(name: FieldName): boolean {
    if (this.#storedBrand !== undefined) return name === "cvc";
    if (name === "postalCode") return this.#fields.postalCode === true;
    return name !== "holder" || this.#fields.holderName !== false;
  }

  #check(name: FieldName): FieldProblem | undefined {
    const problem = this.#problemOf(name);
    this.#say(name, problem);
    return problem;
  }

  #problemOf(name: FieldName): FieldProblem | undefined {
    if (!this.#isAsked(name)) return undefined;
    return findProblem(name, this.#fieldTexts(), { now: vaultNow(), accepted: this.#accepted, fields: this.#fields });
  }

  #say(name: FieldName, problem?: FieldProblem): void {
    inputOf(name).ariaInvalid = problem === undefined ? null : "true";
    elementOf(`${name}-problem`).textContent = problem ? problemText(this.#texts, problem, vaultNow()) : "";
  }

  #emit(): void {
    const texts = this.#fieldTexts();
    this.#onChange({
      complete: fieldNames.every((name) => this.#problemOf(name) === undefined),
      empty: fieldNames.every((name) => texts[name] === "" || !this.#isAsked(name)),
      brand: this.#storedBrand ?? this.#choice.chosen ?? lookOf(digitsOf(texts.number)).brand,
    });
  }

  #format(name: FieldName, inputType = ""): void {
    reformat(inputOf(name), inputType, (text) => formatField(name, text, this.#number));
  }

  /** Returns the texts as they are formatted, also those that were written without an event. */
  #fieldTexts(): FieldTexts {
    const [number = "", expiry = "", cvc = "", holder = "", postalCode = ""] = fieldNames.map((name) =>
      formatField(name, name === "number" ? this.#number : inputOf(name).value, this.#number),
    );
    return { number, expiry, cvc, holder, postalCode };
  }
}

function formatField(name: FieldName, text: string, number: string): string {
  switch (name) {
    case "number":
      return formatNumber(text);
    case "expiry":
      return formatExpiry(text);
    case "cvc":
      return formatCvc(text, number);
    case "holder":
    case "postalCode":
      return text;
    default:
      return unreachable(name);
  }
}

function inputOf(name: FieldName): HTMLInputElement {
  return elementOf(name) as HTMLInputElement;
}
