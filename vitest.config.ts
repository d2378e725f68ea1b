import { defineConfig } from "vitest/config";

// Run by "npm test" as it is and by "npm run test:long" with --mode long.
export default defineConfig(({ mode }) => ({
  test: {
    include: mode === "long" ? ["src/**/*.long.test.ts"] : ["{src,widget}/**/*.test.ts"],
    exclude: mode === "long" ? [] : ["**/*.long.test.ts"],
    globalSetup: "src/testing/test-run.ts",
    pool: "forks",
    maxWorkers: 2,
    // Concurrent tests wait for gateways that stay silent; they compute next to nothing.
    maxConcurrency: 12,
    // Real databases, processes and browsers on two cores: slow is not wrong, but a hang must end.
    testTimeout: mode === "long" ? 600_000 : 30_000,
    hookTimeout: 60_000,
  },
}));
