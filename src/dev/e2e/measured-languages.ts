/** The languages whose texts are measured in each run: those with the longest words, and one of each script. */
import { translations } from "../../../widget/translations.ts";

const sample = ["en", "de", "el", "fi", "hu", "nl", "ar", "ja"];

/** Set `ALL_LANGUAGES=1` to measure every language, after a change of the texts or of a form's width. */
export const measuredLanguages = process.env.ALL_LANGUAGES === undefined ? sample : ["en", ...translations];
