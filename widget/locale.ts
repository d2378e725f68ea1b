/** PURE. Selects the language for a customer, and its writing direction. */

/** Languages with a file in locales/, besides English. */
export const translations = ["de", "fr", "es", "it", "pt", "ja", "ar", "he"] as const;

/** A language of the widget besides English. */
export type Translation = (typeof translations)[number];

/** Returns the file for a BCP 47 tag: `pt-BR` is `pt`; undefined for English and languages without a translation. */
export function translationFor(locale: string): Translation | undefined {
  const language = locale.toLowerCase().split("-")[0];
  return translations.find((translation) => translation === language);
}

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
      // Not a language tag: try the next one.
    }
  }
  return "en";
}
