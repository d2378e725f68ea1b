/** PURE. The writing direction of a language, and the language of a page. */

/** True if the language is written from right to left. */
export function isRightToLeft(locale: string): boolean {
  return /^(ar|he)\b/i.test(locale);
}

/** Returns the first valid language tag; pages also write `en_US`, which formatters refuse. */
export function usableLocale(candidates: readonly string[]): string {
  for (const candidate of candidates) {
    try {
      const [locale] = Intl.getCanonicalLocales(candidate.replaceAll("_", "-"));
      if (locale !== undefined) return locale;
    } catch {
      // The text is no language tag: try the next one.
    }
  }
  return "en";
}
