/** The bounds of what is kept about gateways, with their reasons. PURE. */

/** As much of a browser's name as gateways are told: the longest in use have some 250 characters. */
export const userAgentCharactersMax = 500;
/** As much of an unclassified code as is kept: the longest of any gateway's tables has 60 characters. */
export const unclassifiedCodeCharactersMax = 100;
/** How many codes of one gateway are counted apart for a merchant, and listed: a person reads no more, and no gateway has as many. */
export const unclassifiedCodesMax = 500;
