/** Bounds of traces: what waits for the collector, and for how long. */

/** Spans that wait at most; what comes while the collector is away is dropped. Some 2 KB each, so 16 MB. */
export const spansWaitingMax = 8_192;
/** Spans of one request to the collector: below its usual limit of 4 MB. */
export const spansSentMax = 512;
/** How old a span gets before it is sent: a trace is whole a few seconds after its payment. */
export const spansSentEveryMs = 2_000;
/** For one request to the collector, repeats included. Shorter than a stop may take. */
export const collectorTimeoutMs = 5_000;
/** What a stopping process waits for its last spans, within the 20 s that a stop may take. */
export const lastSpansWaitMs = 2_000;
