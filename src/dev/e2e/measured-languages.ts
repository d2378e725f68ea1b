/** The languages whose texts are measured in each run: those with the longest words, and one of each script. */

/** Measure every language of the widget by hand after a change of the texts or of a form's width. */
export const measuredLanguages = ["en", "de", "el", "fi", "hu", "nl", "ar", "ja"];
