/** The texts of the part with wallets, in English. translated-wallets.ts has the other languages. */

/** The line below the buttons, the heading in their place, and what a refused wallet's customer reads. */
export type WalletsTexts = readonly [or: string, heading: string, refused: string];

export const english: WalletsTexts = ["or pay by card", "Pay by card", "Nothing was charged. Try again or pay by card."];

/** Loads the texts for a BCP 47 tag; English if there are none, or they cannot be loaded. Never rejects. */
export async function loadWalletsTexts(locale: string): Promise<WalletsTexts> {
  if (/^en\b/i.test(locale)) return english;
  try {
    return (await import("./translated-wallets.ts")).walletsTextsFor(locale) ?? english;
  } catch {
    return english;
  }
}
