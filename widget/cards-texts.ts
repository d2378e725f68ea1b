/** The texts of the part with stored cards, in English. translated-cards.ts has the other languages. */

/** The texts in one language. */
export type CardsTexts = readonly [
  /** The name of the list, for screen readers. */
  cards: string,
  another: string,
  more: string,
  /**
   * The text that the customer consents to with the checkbox. A change of it in any language needs another
   * `saveTemplate`.
   */
  save: string,
  /** Shown when a card was deleted, is lost, or has had too many declines today. */
  unavailable: string,
  /** The button of a set-up, by which the customer consents. A change of it in any language needs another `setUpTemplate`. */
  setUp: string,
  settingUp: string,
  isSetUp: string,
];

/** Names the sentences of `save` in the record of a consent. */
export const saveTemplate = "save_card_1";
/** Names those of `setUp`. */
export const setUpTemplate = "set_up_1";

export const english: CardsTexts = [
  "Saved cards",
  "Another card",
  "More cards",
  "Save this card for next time",
  "This card cannot be used now. Choose another card.",
  "Save card",
  "Saving your card…",
  "Card saved.",
];
