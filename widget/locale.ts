/** PURE. Which language fits a customer, and which way it is written. */

/** Languages with a file in locales/, besides English. */
export const translations = ["de", "fr", "es", "it", "pt", "ja", "ar", "he"] as const;

/** A language that the widget speaks beside English. */
export type Translation = (typeof translations)[number];

/** The file for a BCP 47 tag: `pt-BR` is `pt`; undefined when English has to serve. */
export function translationFor(locale: string): Translation | undefined {
  const language = locale.toLowerCase().split("-")[0];
  return translations.find((translation) => translation === language);
}

/** True where the language is written from right to left. */
export function isRightToLeft(locale: string): boolean {
  return /^(ar|he)\b/i.test(locale);
}

/** The first of these that is a language tag at all; pages also write `en_US`, which no formatter takes. */
export function usableLocale(candidates: readonly string[]): string {
  for (const candidate of candidates) {
    try {
      const [locale] = Intl.getCanonicalLocales(candidate.replaceAll("_", "-"));
      if (locale !== undefined) return locale;
    } catch {
      // Not a language tag: the next one is asked.
    }
  }
  return "en";
}
