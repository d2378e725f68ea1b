/** The frame's texts. A problem's sentence says what to do and never repeats the input. */
import type { FieldProblem } from "./card-checks.ts";
import type { FrameTexts } from "./frame-texts.ts";
import { en } from "./locales/en.ts";

/**
 * Returns the texts that the vault has put into the page for its language; English, which this script contains, if it
 * has put none there.
 */
export function textsOfPage(): FrameTexts {
  const given = document.getElementById("texts")?.textContent;
  return given ? (JSON.parse(given) as FrameTexts) : en;
}

/** Returns a problem's sentence at `now`. Its example date stays left to right where the language is not. */
export function problemText(texts: FrameTexts, problem: FieldProblem, now: Date): string {
  // Three years ahead: a date that many cards have.
  const year = String(now.getUTCFullYear() + 3).slice(-2);
  return texts.problems[problem].replace("{example}", `\u206604 / ${year}\u2069`);
}
