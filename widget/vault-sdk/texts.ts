/** The frame's words by language. A problem's sentence says what to do and never repeats what was typed. Pure. */
import type { FieldName, FieldProblem } from "./card-checks.ts";
import { ar } from "./locales/ar.ts";
import { de } from "./locales/de.ts";
import { en } from "./locales/en.ts";
import { es } from "./locales/es.ts";
import { fr } from "./locales/fr.ts";
import { he } from "./locales/he.ts";
import { it } from "./locales/it.ts";
import { ja } from "./locales/ja.ts";
import { pt } from "./locales/pt.ts";

/** Every text of the card frame in one language. */
export type FrameTexts = {
  /** What the frame is called to those who do not see it. */
  readonly title: string;
  /** The letters for month and year in the empty field. */
  readonly expiryShape: string;
  readonly labels: Readonly<Record<FieldName, string>>;
  /** Where the security code is printed. */
  readonly cvcPlaces: Readonly<Record<"back" | "front", string>>;
  /** `{example}` stands for an expiry date to come. */
  readonly problems: Readonly<Record<FieldProblem, string>>;
};

/** A language's texts, and which way it is written. Digits stay left to right everywhere. */
export type Language = { readonly tag: string; readonly direction: "ltr" | "rtl"; readonly texts: FrameTexts };

const languages: readonly Language[] = [
  ...Object.entries({ en, de, es, fr, it, ja, pt }).map(([tag, texts]) => ({ tag, direction: "ltr" as const, texts })),
  ...Object.entries({ ar, he }).map(([tag, texts]) => ({ tag, direction: "rtl" as const, texts })),
];
const english: Language = { tag: "en", direction: "ltr", texts: en };

/** The language for a BCP 47 tag: `pt-BR` is `pt`; English where there is no translation. */
export function languageFor(locale: string): Language {
  const wanted = locale.toLowerCase().split("-")[0];
  return languages.find(({ tag }) => tag === wanted) ?? english;
}

/** A problem's sentence at `now`. Its example date stays left to right where the language is not. */
export function problemText(texts: FrameTexts, problem: FieldProblem, now: Date): string {
  // Three years ahead: a date that stands on many cards.
  const year = String(now.getFullYear() + 3).slice(-2);
  return texts.problems[problem].replace("{example}", `\u206604 / ${year}\u2069`);
}
