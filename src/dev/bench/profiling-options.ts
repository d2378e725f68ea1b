import { resolve } from "node:path";

// Fine enough for the functions of a payment.
const sampleEveryMicroseconds = 500;

export function profilingOptions(folder: string, name: string): string[] {
  const to = resolve(folder, name);
  const cpu = ["--cpu-prof", `--cpu-prof-dir=${to}`, `--cpu-prof-interval=${sampleEveryMicroseconds}`];
  // The vault does not start with an option that writes its memory.
  return name === "vault" ? cpu : [...cpu, "--heap-prof", `--heap-prof-dir=${to}`];
}
