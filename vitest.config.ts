import { defineConfig } from "vitest/config";

// What each --mode runs: none is "npm test", long is "npm run test:long", contract is "npm run test:contract", screenshots
// is "npm run screenshots". The contract tests begin with the proof that they refuse live keys.
const included: Readonly<Record<string, string[]>> = {
  long: ["src/**/*.long.test.ts"],
  contract: ["src/gateways/contract/settings.test.ts", "src/**/*.contract.test.ts"],
  screenshots: ["src/**/*.screenshots.ts"],
};

export default defineConfig(({ mode }) => ({
  test: {
    include: included[mode] ?? ["{src,widget}/**/*.test.ts"],
    exclude: included[mode] ? [] : ["**/*.long.test.ts", "**/*.contract.test.ts"],
    globalSetup: "src/testing/test-run.ts",
    pool: "forks",
    maxWorkers: 2,
    // Concurrent tests wait for gateways that stay silent; they compute next to nothing.
    maxConcurrency: 12,
    // Real databases, processes and browsers on two cores: slow is not wrong, but a hang must end.
    testTimeout: { long: 600_000, contract: 120_000 }[mode] ?? 30_000,
    hookTimeout: 60_000,
    // What a page shows comes when the machine gets round to it.
    expect: { poll: { timeout: 10_000 } },
  },
}));
