/** The translations beside English, and how each is loaded. A part of its own: a new one adds nothing to widget.js. */

import type { Texts } from "./texts.ts";

/** Languages with a file in locales/, besides English. */
export const translations = ["de", "fr", "es", "it", "pt", "ja", "ar", "he"] as const;

/** A language of the widget besides English. */
export type Translation = (typeof translations)[number];

// The bundler makes a file of each import that it can read.
const loaders: Readonly<Record<Translation, () => Promise<{ texts: Texts }>>> = {
  de: () => import("./locales/de.ts"),
  fr: () => import("./locales/fr.ts"),
  es: () => import("./locales/es.ts"),
  it: () => import("./locales/it.ts"),
  pt: () => import("./locales/pt.ts"),
  ja: () => import("./locales/ja.ts"),
  ar: () => import("./locales/ar.ts"),
  he: () => import("./locales/he.ts"),
};

/** Returns the file for a BCP 47 tag: `pt-BR` is `pt`; undefined for English and languages without a translation. */
export function translationFor(locale: string): Translation | undefined {
  const language = locale.toLowerCase().split("-")[0];
  return translations.find((translation) => translation === language);
}

/** Loads the texts for a BCP 47 tag; undefined if there is no translation. */
export async function loadTranslation(locale: string): Promise<Texts | undefined> {
  const translation = translationFor(locale);
  return translation && (await loaders[translation]()).texts;
}
