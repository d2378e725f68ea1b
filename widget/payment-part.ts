/**
 * The part that pays: the state machine, and texts, look and time of what follows. Loads beside session-api.ts, as one
 * part with it. It shares no module that runs with widget.js: the bundler would make a third file of it.
 */

import { outcomes } from "./locales/en-outcomes.ts";
import type { OutcomeTexts } from "./texts.ts";

export { Checkout } from "./checkout.ts";
export { ExpiryWatch } from "./expiry-watch.ts";
export { outcomeStyle } from "./outcome-style.ts";
export { emitResult, messageFor } from "./results.ts";

/** The English texts that follow an answer of the service. */
export const englishOutcomes: OutcomeTexts = outcomes;
