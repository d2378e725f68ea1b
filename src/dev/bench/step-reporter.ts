/** Returns a function that prints the current step, with the seconds since now. */
export function createStepReporter(): (step: string) => void {
  const startedAt = performance.now();
  return (step) => {
    const passed = ((performance.now() - startedAt) / 1_000).toFixed(0);
    console.error(`${passed.padStart(4)} s  ${step}`);
  };
}
