/** Bounds of texts that gateways get and return, with their reasons. PURE. */

/** Longest part of a browser's user agent that gateways get: the longest in use have some 250 characters. */
export const userAgentCharactersMax = 500;
/** Longest stored part of an unclassified code: the longest of any gateway's tables has 60 characters. */
export const unclassifiedCodeCharactersMax = 100;
/**
 * Codes of one gateway that are counted separately and listed for a merchant: a person reads no more, and no gateway
 * has as many.
 */
export const unclassifiedCodesMax = 500;
