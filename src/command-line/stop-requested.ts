/** When a command that runs on is asked to stop. */

/** Resolves on SIGINT, SIGTERM, or when the process that started this one is gone. */
export function stopRequested(): Promise<void> {
  return new Promise((done) => {
    process.once("SIGINT", () => done());
    process.once("SIGTERM", () => done());
    if (process.connected) process.once("disconnect", () => done());
  });
}
