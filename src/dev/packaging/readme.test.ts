/** The README is short, in its order, and names what is really there; docs/dependencies.md has every dependency. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testCards } from "../../gateways/sandbox/test-cards.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const readme = read("README.md");

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
  it("has at most 120 lines", () => {
    expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(120);
  });

  it("runs it, pays, uses it, and only then explains, with a picture before everything", () => {
    const headings = [...readme.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    expect(headings).toEqual([...["Run it", "Pay something", "Use it", "What it does", "Limits"], "Where to go next"]);
    expect(readme.split("\n## ")[0]).toMatch(/^# Switchyard\n\n[^.\n]+\.\n\n<img src="docs\/[^"]+"/);
    expect(section("Where to go next").match(/^- /gm)).toHaveLength(5);
  });

  it("names the commands that start it and test it, which the build of every change runs, too", () => {
    expect(section("Run it")).toMatch(/^npm start\b[^\n]*\nnpm test\b/m);
    expect(read(".ci/run")).toMatch(/^npm test$/m);
  });

  it("shows four test cards as the sandbox has them", () => {
    const shown = rowsOf(section("Pay something"))
      .slice(1)
      .map(([number, name, behaviour]) => ({ number: number?.replaceAll("`", ""), name, behaviour }));
    const known = testCards.map(({ number, name, behaviour }) => ({ number, name, behaviour }));
    expect(shown).toHaveLength(4);
    expect(known).toEqual(expect.arrayContaining(shown));
  });

  it("has no dead link", () => {
    const links = [...readme.matchAll(/(?:\]\(|src=")((?!https?:)[^)"#]+)/g)].map(([, path]) => path!);
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe("docs/dependencies.md", () => {
  it("gives each dependency a reason, and names none that does not exist", () => {
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read("package.json"));
    const present = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
    const rows = rowsOf(read("docs/dependencies.md").split("\n## ")[0]!)
      .slice(1)
      .filter(([, why]) => (why?.length ?? 0) > 10);
    const named = rows.flatMap(([packages]) => [...packages!.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
    expect(named.toSorted()).toEqual(present.toSorted());
  });
});
