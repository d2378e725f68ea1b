/**
 * The choice between the two brands of a co-badged card, which customers in the EU have: Regulation (EU) 2015/751,
 * article 8(6). Nothing is preselected: without a choice the gateway decides, as for every other card.
 */
import { elementOf } from "./brand-marks.ts";
import { type BrandPair, brandLabel, coBadgeOf, digitsOf } from "./card-format.ts";
import type { FrameTexts } from "./frame-texts.ts";

export class BrandChoice {
  readonly #onChange: () => void;
  readonly #group = elementOf("brands");
  #pair: BrandPair | undefined;
  #isLocked = false;

  constructor(texts: FrameTexts, onChange: () => void) {
    this.#onChange = onChange;
    elementOf("brands-label").textContent = texts.optional.replace("{label}", texts.brandChoice);
  }

  /** The brand that the customer has chosen; undefined without a choice. */
  get chosen(): string | undefined {
    return this.#group.querySelector<HTMLInputElement>("input:checked")?.value;
  }

  /** Shows the brands of this number if it is of a co-badged card; a choice for another pair is forgotten. */
  show(number: string, accepted: readonly string[] | undefined): void {
    const found = coBadgeOf(digitsOf(number));
    const pair = found && (accepted?.includes(found[1]) ?? true) ? found : undefined;
    if (pair === this.#pair) return;
    this.#pair = pair;
    this.#group.hidden = pair === undefined;
    elementOf("brand-options").replaceChildren(...(pair ?? []).map((brand) => this.#createOption(brand)));
  }

  /** Keeps a choice as it is, and its focus. */
  setDisabled(disabled: boolean): void {
    this.#isLocked = disabled;
    this.#group.ariaDisabled = disabled ? "true" : null;
  }

  #createOption(brand: string): HTMLElement {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "radio";
    input.name = "brand";
    input.value = brand;
    // Arrow keys are clicks here, too.
    input.addEventListener("click", (event) => this.#isLocked && event.preventDefault());
    input.addEventListener("change", this.#onChange);
    const svg = "http://www.w3.org/2000/svg";
    const mark = document.createElementNS(svg, "svg");
    mark.ariaHidden = "true";
    const use = document.createElementNS(svg, "use");
    use.setAttribute("href", `#${brand}`);
    mark.append(use);
    label.append(input, mark, brandLabel(brand));
    return label;
  }
}
