/** True if a test plays every test card, as its long form does; false if it plays every fourth. */
export const everyCard = { isPlayed: false };
