/** The README names what is really there: every dependency, test cards as they are, and every place of the one-payment table. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testCards } from "./gateways/sandbox/test-cards.ts";

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");

function section(title: string): string {
  const [, text] = readme.split(`\n## ${title}\n`);
  if (text === undefined) throw new Error(`README.md has no section "${title}"`);
  return text.split("\n## ")[0]!;
}

const rowsOf = (text: string): string[][] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("|---"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

describe("README.md", () => {
  it("gives each dependency a reason, and names none that is not there", () => {
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8"),
    );
    const present = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
    const rows = rowsOf(section("Dependencies"))
      .slice(1)
      .filter(([, why]) => (why?.length ?? 0) > 10);
    const named = rows.flatMap(([packages]) => [...packages!.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
    expect(named.toSorted()).toEqual(present.toSorted());
  });

  it("shows test cards as the sandbox has them", () => {
    const shown = rowsOf(section("Pay something"))
      .slice(1)
      .map(([number, name, behaviour]) => ({ number: number?.replaceAll("`", ""), name, behaviour }));
    const known = testCards.map(({ number, name, behaviour }) => ({ number, name, behaviour }));
    expect(shown.length).toBeGreaterThan(5);
    expect(known).toEqual(expect.arrayContaining(shown));
  });

  it("names files and functions of one payment that exist", () => {
    const places = [
      ...section("One payment, top to bottom").matchAll(/\[[^\]]+\]\(((?:src|widget)\/[^)]+)\)(?: `(\w+)`)?/g),
    ];
    expect(places.length).toBeGreaterThan(20);
    for (const [, path, name] of places) {
      const text = readFileSync(join(root, path!), "utf8");
      expect(text, `${path} with ${name}`).toMatch(
        new RegExp(`(function|class|async|const|^  ) ?${name ?? ""}\\b`, "m"),
      );
    }
  });

  it("has no link that leads nowhere", () => {
    const links = [...readme.matchAll(/(?:\]\(|src=")((?!https?:)[^)"#]+)/g)].map(([, path]) => path!);
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
