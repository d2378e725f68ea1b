import { defineConfig } from "vitest/config";

// What each --mode runs: none is "npm test", long is "npm run test:long", screenshots is "npm run screenshots".
const included: Readonly<Record<string, string[]>> = {
  long: ["src/**/*.long.test.ts"],
  screenshots: ["src/**/*.screenshots.ts"],
};

export default defineConfig(({ mode }) => ({
  test: {
    include: included[mode] ?? ["{src,widget}/**/*.test.ts"],
    exclude: mode === "long" ? [] : ["**/*.long.test.ts"],
    globalSetup: "src/testing/test-run.ts",
    pool: "forks",
    maxWorkers: 2,
    // Concurrent tests wait for gateways that stay silent; they compute next to nothing.
    maxConcurrency: 12,
    // Real databases, processes and browsers on two cores: slow is not wrong, but a hang must end.
    testTimeout: mode === "long" ? 600_000 : 30_000,
    hookTimeout: 60_000,
    // What a page shows comes when the machine gets round to it.
    expect: { poll: { timeout: 10_000 } },
  },
}));
