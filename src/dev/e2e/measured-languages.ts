/** The languages whose texts are measured in each run: the first nine of the widget, and of the others those with long words. */

/** Measure every language by hand after a change of the texts or of a form's width. */
export const measuredLanguages = ["en", "de", "fr", "es", "it", "pt", "ja", "ar", "he", "el", "fi", "hu", "nl"];
