import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parts } from "./whole/parts.ts";

const main = join(import.meta.dirname, "main.ts");

function bench(...options: string[]): Promise<{ code: number; output: string; errors: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...options], (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output, errors });
    });
  });
}

// Speed is not checked here: a round is too short, and other tests run at the same time.
describe("npm run bench", { timeout: 300_000 }, () => {
  it("plays every contestant of the edge, each with correct answers, and prints the table", async () => {
    const folder = await mkdtemp(join(tmpdir(), "switchyard-bench-test-"));
    const file = join(folder, "edge.json");
    try {
      const short = ["--rounds", "1", "--seconds", "0.2", "--warm-up", "0.1", "--callers", "4"];
      const { code, output, errors } = await bench("edge", ...short, "--json", file);
      expect(code, errors).toBe(0);
      for (const name of ["Fastify \\+ pg", "(pgbench|pg alone)", "grpc-js \\+ pg"]) {
        expect(output).toMatch(new RegExp(`\\d +create\\b.* \\d+/s .* ${name}: \\d+/s`));
      }
      expect(output).toContain("synchronous_commit on");
      const { lines } = JSON.parse(await readFile(file, "utf8"));
      expect(lines.map(({ ratio }: { ratio: string }) => Number.parseFloat(ratio) > 0)).toEqual([true, true, true]);
      expect(await readFile(file, "utf8")).not.toMatch(/clientSecret|_secret_t1_/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("delivers webhooks to a receiver with a dead endpoint beside it, and prints the table", async () => {
    const folder = await mkdtemp(join(tmpdir(), "switchyard-bench-test-"));
    const file = join(folder, "webhooks.json");
    try {
      const short = ["--rows", "8", "--rounds", "1", "--events", "40", "--warm-up", "0.1"];
      const { code, output, errors } = await bench("webhooks", ...short, "--json", file);
      expect(code, errors).toBe(0);
      expect(output).toMatch(/8 +webhooks, 1 worker +\d+\/s .* ms CPU.* undici alone: \d+\/s/);
      expect(output).toMatch(/8 +the same with one dead endpoint in ten +\d+\/s/);
      const { figures } = JSON.parse(await readFile(file, "utf8"));
      expect(figures.throughput.map((turn: object) => Object.keys(turn).length)).toEqual([3]);
      expect(await readFile(file, "utf8")).not.toContain("whsec_");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("pays at both sides one at a time, many at once and after a quiet time, and prints the table", async () => {
    const short = ["--rounds", "1", "--samples", "3", "--seconds", "0.5", "--warm-up", "0.2", "--customers", "2"];
    const { code, output, errors } = await bench(
      "payments",
      ...short,
      "--quiet-samples",
      "1",
      "--quiet-seconds",
      "0.1",
    );
    expect(code, errors).toBe(0);
    // The vault counts the call and keeps the card; the peer's only keeps it. Both take and forget it.
    expect(output).toMatch(/4 +its database commits +3\.0 +straight payment: 3\.0 +≤ 3 +reached/);
    expect(output).toMatch(
      /4 +commits, round trips to create it .*edge 1\.0, .*peer service 1\.0, .*peer vault 1\.0, /,
    );
    expect(output).toMatch(/4 +commits, round trips to submit it .*vault 1\.0, .*peer vault 2\.0, /);
    expect(output).toMatch(/5 +commits that it adds +1\.0 +straight payment: 1\.0 +≤ 1 +reached/);
    expect(output).toMatch(/4 +submit after 0\.1 quiet seconds +p50 of 1 \d/);
    expect(output).toMatch(/6 +payments end to end +\d+\/s .*straight payment: \d+\/s .*≥ 0\.7 ×/);
    expect(output).toMatch(/6 +PostgreSQL's part of it +\d.* straight payment: \d.*≤ 1\.3 ×/);
  });

  it("calls every rpc of the dashboard over payments of a year, and prints the table", async () => {
    const { output, errors } = await bench("dashboard", "--payments", "500", "--held", "100", "--repeats", "2");
    for (const name of ["GetAnalytics", "ListPayments", "SearchPayments", "GetHome"]) {
      expect(output, errors).toMatch(new RegExp(`15 +${name}: .* p50 \\d+ p95 \\d+ ms, \\d+ ms CPU .*≤ 300 ms`));
    }
  });

  it("pays with months of partitions, and prints the ratio to the fewest", async () => {
    const short = ["--rounds", "1", "--seconds", "0.3", "--warm-up", "0.2", "--customers", "2"];
    const { code, output, errors } = await bench("months", "--months", "2,5", ...short, "--quiet-samples", "0");
    expect(code, errors).toBe(0);
    expect(output).toMatch(/10 +payments end to end with 5 months of partitions +\d+\/s .* with 2: \d+\/s .*≥ 0\.95 ×/);
    expect(output).toMatch(/10 +CPU of one payment with 5 months of partitions +\d/);
  });

  it.each(parts.map(({ name }) => name))("has an example in the help of %s", async (name) => {
    expect((await bench(name, "--help")).output).toContain(`npm run bench -- ${name}`);
  });
});
