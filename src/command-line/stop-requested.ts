/** The signal to stop, for commands that run until they are stopped. */

/** Resolves on SIGINT, SIGTERM, or when the process that started this one is gone. */
export function stopRequested(): Promise<void> {
  return new Promise((done) => {
    // On every signal: an impatient second Ctrl-C must not cut the stop short and leave servers behind.
    process.on("SIGINT", () => done());
    process.on("SIGTERM", () => done());
    if (process.connected) process.once("disconnect", () => done());
  });
}
