/** Bounds of traces: the spans that wait for the collector, and their wait. */

/** Most waiting spans; further ones are dropped while the collector is away. Some 2 KB each, so 16 MB. */
export const spansWaitingMax = 8_192;
/** Spans of one request to the collector: below its default limit of 4 MB. */
export const spansSentMax = 512;
/** Longest age of a span before it is sent: a trace is complete a few seconds after its payment. */
export const spansSentEveryMs = 2_000;
/** Timeout of one request to the collector, including retries. Shorter than a stop may take. */
export const collectorTimeoutMs = 5_000;
/** Longest wait of a stopping process for its last spans, within the 20 s that a stop may take. */
export const lastSpansWaitMs = 2_000;
