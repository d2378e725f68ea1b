/**
 * The pictures in the form: marks of the accepted brands, the mark of the typed card, and where its code is printed.
 */
import { digitsOf, knownBrands, lookOf } from "./card-format.ts";
import type { FrameTexts } from "./frame-texts.ts";

const svg = "http://www.w3.org/2000/svg";

/**
 * Shows the marks of the accepted brands beside the label. They are decorative: everything they show is also in the
 * texts.
 */
export function showAccepted(place: HTMLElement, brands: readonly string[]): void {
  place.replaceChildren(
    ...knownBrands(brands).map((brand) => {
      const mark = document.createElementNS(svg, "svg");
      const use = document.createElementNS(svg, "use");
      use.setAttribute("href", `#${brand}`);
      mark.dataset.brand = brand;
      mark.append(use);
      return mark;
    }),
  );
}

/**
 * Shows the brand that the number begins like: its mark in the field and alone among the accepted ones, its name to
 * screen readers.
 */
export function showBrand(number: string, texts: FrameTexts): void {
  const { brand, label, cvcLength } = lookOf(digitsOf(number));
  const place = cvcLength === 4 ? "front" : "back";
  elementOf("mark").setAttribute("href", `#${brand}`);
  elementOf("brand").textContent = label;
  const marks = [...elementOf("accepted").children] as SVGElement[];
  const isAmongThem = marks.some((mark) => mark.dataset.brand === brand);
  for (const mark of marks) mark.classList.toggle("other", isAmongThem && mark.dataset.brand !== brand);
  elementOf("cvc-mark").setAttribute("href", `#cvc-${place}`);
  elementOf("cvc-hint").textContent = texts.cvcPlaces[place];
  (elementOf("cvc") as HTMLInputElement).placeholder = place === "front" ? "1234" : "123";
}

export function elementOf(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`card-frame.html has no element ${id}`);
  return element;
}
