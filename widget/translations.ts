/**
 * The translations beside English, and how each is loaded. This is a separate part, so a new translation adds nothing
 * to widget.js.
 */

import type { Texts } from "./texts.ts";

/** Languages with a file in locales/, besides English. */
export const translations = [
  "de",
  "fr",
  "es",
  "it",
  "nl",
  "pt",
  "pl",
  "cs",
  "sv",
  "da",
  "fi",
  "nb",
  "el",
  "hu",
  "ro",
  "tr",
  "ar",
  "he",
  "ja",
  "zh",
  "ko",
] as const;

/** A language of the widget besides English. */
export type Translation = (typeof translations)[number];

// The bundler makes a file of each import that it can read.
const loaders: Readonly<Record<Translation, () => Promise<{ texts: Texts }>>> = {
  de: () => import("./locales/de.ts"),
  fr: () => import("./locales/fr.ts"),
  es: () => import("./locales/es.ts"),
  it: () => import("./locales/it.ts"),
  nl: () => import("./locales/nl.ts"),
  pt: () => import("./locales/pt.ts"),
  pl: () => import("./locales/pl.ts"),
  cs: () => import("./locales/cs.ts"),
  sv: () => import("./locales/sv.ts"),
  da: () => import("./locales/da.ts"),
  fi: () => import("./locales/fi.ts"),
  nb: () => import("./locales/nb.ts"),
  el: () => import("./locales/el.ts"),
  hu: () => import("./locales/hu.ts"),
  ro: () => import("./locales/ro.ts"),
  tr: () => import("./locales/tr.ts"),
  ar: () => import("./locales/ar.ts"),
  he: () => import("./locales/he.ts"),
  ja: () => import("./locales/ja.ts"),
  zh: () => import("./locales/zh.ts"),
  ko: () => import("./locales/ko.ts"),
};

/**
 * Returns the file for a BCP 47 tag: `pt-BR` is `pt`, and both written forms of Norwegian are `nb`; undefined for
 * English and languages without a translation.
 */
export function translationFor(locale: string): Translation | undefined {
  const language = locale
    .toLowerCase()
    .split("-")[0]!
    .replace(/^(no|nn)$/, "nb");
  return translations.find((translation) => translation === language);
}

/** Loads the texts for a BCP 47 tag; undefined if there is no translation. */
export async function loadTranslation(locale: string): Promise<Texts | undefined> {
  const translation = translationFor(locale);
  return translation && (await loaders[translation]()).texts;
}
