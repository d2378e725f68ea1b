/** The languages whose texts are measured in each run: one of each script, and those with long words. */

/** Measure every other language by hand after a change of the texts or of a form's width. */
export const measuredLanguages = ["en", "de", "fr", "es", "it", "pt", "ja", "ar", "he", "el", "fi"];
