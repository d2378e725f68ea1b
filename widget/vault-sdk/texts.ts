/** The frame's texts by language. A problem's sentence says what to do and never repeats the input. Pure. */
import type { FieldProblem } from "./card-checks.ts";
import type { FrameTexts } from "./frame-texts.ts";
import { ar } from "./locales/ar.ts";
import { de } from "./locales/de.ts";
import { en } from "./locales/en.ts";
import { es } from "./locales/es.ts";
import { fr } from "./locales/fr.ts";
import { he } from "./locales/he.ts";
import { it } from "./locales/it.ts";
import { ja } from "./locales/ja.ts";
import { pt } from "./locales/pt.ts";

/** A language's texts and writing direction. Digits stay left to right everywhere. */
export type Language = { readonly tag: string; readonly direction: "ltr" | "rtl"; readonly texts: FrameTexts };

const languages: readonly Language[] = [
  ...Object.entries({ en, de, es, fr, it, ja, pt }).map(([tag, texts]) => ({ tag, direction: "ltr" as const, texts })),
  ...Object.entries({ ar, he }).map(([tag, texts]) => ({ tag, direction: "rtl" as const, texts })),
];
const english: Language = { tag: "en", direction: "ltr", texts: en };

/** Returns the language for a BCP 47 tag: `pt-BR` is `pt`; English if there is no translation. */
export function languageFor(locale: string): Language {
  const wanted = locale.toLowerCase().split("-")[0];
  return languages.find(({ tag }) => tag === wanted) ?? english;
}

/** Returns a problem's sentence at `now`. Its example date stays left to right where the language is not. */
export function problemText(texts: FrameTexts, problem: FieldProblem, now: Date): string {
  // Three years ahead: a date that many cards have.
  const year = String(now.getFullYear() + 3).slice(-2);
  return texts.problems[problem].replace("{example}", `\u206604 / ${year}\u2069`);
}
