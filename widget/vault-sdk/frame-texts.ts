/** The texts that each language of the card frame has. */
import type { FieldName, FieldProblem } from "./card-checks.ts";

/** Every text of the card frame in one language. */
export type FrameTexts = {
  /** The accessible name of the frame. */
  readonly title: string;
  /** The letters for month and year in the empty field. */
  readonly expiryShape: string;
  readonly labels: Readonly<Record<FieldName, string>>;
  /** The choice between the two brands of a co-badged card. */
  readonly brandChoice: string;
  /** `{label}` is replaced by the label of a field that may stay empty. */
  readonly optional: string;
  /** The side of the card on which the security code is printed. */
  readonly cvcPlaces: Readonly<Record<"back" | "front", string>>;
  /** `{example}` is replaced by a future expiry date. */
  readonly problems: Readonly<Record<FieldProblem, string>>;
};
