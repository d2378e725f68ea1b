import { defineConfig } from "vitest/config";
import { LongestFirst } from "./src/dev/testing/longest-first.ts";
import { compileCache } from "./src/dev/testing/test-run.ts";

// What each --mode runs: none is "npm test", long is "npm run test:long", contract is "npm run test:contract", screenshots
// is "npm run screenshots". The contract tests begin with the proof that they refuse live keys.
const included: Readonly<Record<string, string[]>> = {
  long: ["src/**/*.long.test.ts"],
  contract: ["src/dev/contract/settings.test.ts", "src/**/*.contract.test.ts"],
  screenshots: ["src/**/*.screenshots.ts"],
};

const never = ["**/*.long.test.ts", "**/*.contract.test.ts"];
// Start an installation, a browser or runs of their own, and wait for them most of the time.
const whole = [
  "src/dev/e2e/**/*.test.ts",
  // Ends what its worker has started, which may be the servers of the whole run.
  "src/dev/testing/left-processes.test.ts",
];

// Computes all the while, in processes of its own.
const simulation = ["src/dev/simulation/simulation.test.ts"];

// Four keep two cores busy: they wait for browsers, silent gateways and slow clients half of the time. Vitest requires
// one number of the projects of a group; in groups of their own, each would end with one file and an idle core.
const together = { exclude: never, maxWorkers: 4, isolate: false };

const projects = [
  { name: "whole", include: whole },
  { name: "parts", include: ["{src,widget,integrations}/**/*.test.ts"], exclude: [...never, ...whole, ...simulation] },
  { name: "simulation", include: simulation },
].map((project) => ({ extends: true as const, test: { ...together, ...project } }));

export default defineConfig(({ mode }) => ({
  test: {
    ...(included[mode] ? { include: included[mode] } : { projects }),
    globalSetup: "src/dev/testing/test-run.ts",
    env: compileCache,
    provide: { everyLook: mode === "long" },
    setupFiles: "src/dev/testing/each-test-file.ts",
    environment: "./src/dev/testing/worker-environment.ts",
    // Node itself loads the modules and strips their types, an eighth of the CPU time less than through Vite. No test mocks a module.
    experimental: { viteModuleRunner: false },
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // Concurrent tests wait for gateways that stay silent; they compute next to nothing.
    maxConcurrency: 12,
    // Real databases, processes and browsers on two cores: slow is not wrong, but a hang must end.
    testTimeout: { long: 600_000, contract: 120_000 }[mode] ?? 60_000,
    hookTimeout: 120_000,
    // What a page shows comes when the machine gets round to it.
    expect: { poll: { timeout: 20_000 } },
  },
}));
