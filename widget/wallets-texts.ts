/** The texts of the part with wallets, in English. translated-wallets.ts has the other languages. */

/** The line below the buttons, the heading in their place, and what a refused wallet's customer reads. */
export type WalletsTexts = readonly [or: string, heading: string, refused: string];

export const english: WalletsTexts = [
  "or pay by card",
  "Pay by card",
  "Nothing was charged. Try again or pay by card.",
];
