/** When a command that runs on is asked to stop. */

/** Resolves on SIGINT, SIGTERM, or when the process that started this one is gone. */
export function stopRequested(): Promise<void> {
  return new Promise((done) => {
    // Every time, not once: an impatient second Ctrl-C must not cut the stop short and leave servers behind.
    process.on("SIGINT", () => done());
    process.on("SIGTERM", () => done());
    if (process.connected) process.once("disconnect", () => done());
  });
}
