/** The form in the card frame: formats what is typed, shows what is wrong, and hands the card over. Knows no network and no page. */
import {
  type CardBody,
  cardBodyOf,
  type FieldName,
  type FieldProblem,
  type FieldTexts,
  findProblem,
} from "./card-checks.ts";
import { caretAfter, digitsOf, formatCvc, formatExpiry, formatNumber, lookOf, splitPastedCard } from "./card-format.ts";
import type { FormState, InitMessage } from "./frame-messages.ts";
import { type FrameTexts, languageFor } from "./texts.ts";

/** In the order of the form, which is the order of Tab and of the focus on problems. */
const fieldNames: readonly FieldName[] = ["number", "expiry", "cvc", "holder"];

/** Style variables a page may set, and what a value may be: no addresses, no functions but colours. */
const variableNames = /^(color-(primary|text|danger|background)|radius|font-(size|family))$/;
const variableValue = /^(?!.*(url|image|expression))[\w\s#%.,()"'-]{1,200}$/i;

/** The form in the document. There is one. */
export class CardForm {
  readonly #onChange: (state: FormState) => void;
  #texts: FrameTexts = languageFor("en").texts;

  constructor(listeners: { onChange: (state: FormState) => void; onEnter: () => void }) {
    this.#onChange = listeners.onChange;
    for (const name of fieldNames) {
      const input = inputOf(name);
      input.addEventListener("input", (event) => this.#handleInput(name, event as InputEvent));
      // Leaving an empty field says nothing yet; a half-filled one says what it lacks.
      input.addEventListener("blur", () => input.value !== "" && this.#check(name));
      input.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && listeners.onEnter());
    }
    inputOf("number").addEventListener("paste", (event) => this.#handlePaste(event));
  }

  /** Takes on the page's language and colours. */
  dress({ locale, theme, variables }: InitMessage): void {
    const { tag, direction, texts } = languageFor(locale);
    const root = document.documentElement;
    this.#texts = texts;
    root.lang = tag;
    root.dir = direction;
    root.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
    for (const name of fieldNames) {
      const label = document.querySelector(`label[for=${name}]`);
      if (label) label.textContent = texts.labels[name];
    }
    for (const [name, value] of Object.entries(variables)) {
      const cssName = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      if (variableNames.test(cssName) && variableValue.test(value)) root.style.setProperty(`--${cssName}`, value);
    }
  }

  /** The card, or undefined after showing what is wrong and putting the focus there. */
  takeCard(): CardBody | undefined {
    const wrong = fieldNames.filter((name) => this.#check(name) !== undefined);
    if (wrong[0] === undefined) return cardBodyOf(fieldTexts());
    inputOf(wrong[0]).focus();
    return undefined;
  }

  /** Shows what the vault refused, and puts the focus there. */
  showProblem(name: FieldName, problem: FieldProblem): void {
    this.#say(name, problem);
    inputOf(name).focus();
  }

  /** Focuses the first field that is not complete. */
  focus(): void {
    const now = new Date();
    const name = fieldNames.find((candidate) => findProblem(candidate, fieldTexts(), now) !== undefined);
    inputOf(name ?? "number").focus();
  }

  setDisabled(disabled: boolean): void {
    for (const name of fieldNames) inputOf(name).disabled = disabled;
  }

  #handleInput(name: FieldName, event: InputEvent): void {
    if (event.isComposing) return;
    const input = inputOf(name);
    if (name !== "holder") reformat(input, event, (text) => formatField(name, text));
    if (name === "number") {
      showBrand(input.value);
      inputOf("cvc").value = formatField("cvc", inputOf("cvc").value);
    }
    // A problem goes away as soon as it is mended; a new one waits until the field is left.
    if (input.ariaInvalid === "true" && findProblem(name, fieldTexts(), new Date()) === undefined) this.#say(name);
    this.#tell();
  }

  #handlePaste(event: ClipboardEvent): void {
    const card = splitPastedCard(event.clipboardData?.getData("text") ?? "");
    if (card === undefined) return;
    event.preventDefault();
    for (const name of ["number", "expiry", "cvc"] as const) {
      inputOf(name).value = formatField(name, card[name]);
      this.#check(name);
    }
    showBrand(card.number);
    inputOf("cvc").focus();
    this.#tell();
  }

  #check(name: FieldName): FieldProblem | undefined {
    const problem = findProblem(name, fieldTexts(), new Date());
    this.#say(name, problem);
    return problem;
  }

  #say(name: FieldName, problem?: FieldProblem): void {
    inputOf(name).ariaInvalid = problem === undefined ? null : "true";
    elementOf(`${name}-problem`).textContent = problem === undefined ? "" : this.#texts.problems[problem];
  }

  #tell(): void {
    const texts = fieldTexts();
    const now = new Date();
    this.#onChange({
      complete: fieldNames.every((name) => findProblem(name, texts, now) === undefined),
      empty: fieldNames.every((name) => texts[name] === ""),
      brand: lookOf(digitsOf(texts.number)).brand,
    });
  }
}

/** Formats a field in place. Deleting a separator deletes the digit before it, or the caret would be stuck there. */
function reformat(input: HTMLInputElement, event: InputEvent, format: (text: string) => string): void {
  const caret = input.selectionStart ?? input.value.length;
  const before = input.value.slice(0, caret);
  const after = input.value.slice(caret);
  const erasing = event.inputType === "deleteContentBackward";
  const formatted = format(input.value);
  const deletedSeparator =
    erasing && digitsOf(formatted) === digitsOf(input.value) && formatted.length > input.value.length;
  if (deletedSeparator) {
    input.value = format(before.replace(/\d(\D*)$/, "$1") + after);
    const caretNow = caretAfter(input.value, digitsOf(before).length - 1);
    input.setSelectionRange(caretNow, caretNow);
    return;
  }
  if (formatted === input.value) return;
  input.value = formatted;
  const added = digitsOf(formatted).length - digitsOf(before + after).length;
  const caretNow = caretAfter(formatted, digitsOf(before).length + Math.max(0, added));
  input.setSelectionRange(caretNow, caretNow);
}

function formatField(name: Exclude<FieldName, "holder">, text: string): string {
  switch (name) {
    case "number":
      return formatNumber(text);
    case "expiry":
      return formatExpiry(text);
    case "cvc":
      return formatCvc(text, inputOf("number").value);
  }
}

function showBrand(number: string): void {
  elementOf("brand").textContent = lookOf(digitsOf(number)).label;
}

function fieldTexts(): FieldTexts {
  const [number = "", expiry = "", cvc = "", holder = ""] = fieldNames.map((name) => inputOf(name).value);
  return { number, expiry, cvc, holder };
}

function inputOf(name: FieldName): HTMLInputElement {
  return elementOf(name) as HTMLInputElement;
}

function elementOf(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`card-frame.html has no element ${id}`);
  return element;
}
