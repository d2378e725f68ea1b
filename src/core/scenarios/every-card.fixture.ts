/** Whether a test plays every test card, as its long form does, or each fourth. */
export const everyCard = { isPlayed: false };
