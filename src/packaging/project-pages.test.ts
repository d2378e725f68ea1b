/** The pages about the project itself name what is there: files, functions, loops, scripts, sections, the version. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..", "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = [
  ...["docs/architecture.md", "docs/deploying.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md"],
  ...["docs/CHANGELOG.md", "examples/README.md", "examples/node/README.md", "examples/curl/README.md"],
];

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = [...readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!);
  return headings.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** Links that lead to no file, or to no section of one. */
function findDeadLinks(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#]*)#?([^)]*)\)/g)];
  return links.flatMap(([link, path, anchor]) => {
    const target = path === "" ? join(root, page) : join(root, dirname(page), path!);
    if (!existsSync(target)) return [`${page}: ${link}`];
    return anchor === "" || anchorsOf(target).includes(anchor!) ? [] : [`${page}: ${link}`];
  });
}

/** Names in backticks right behind a link to a source file, which the file must declare. */
function findMissingNames(page: string, text: string): string[] {
  const places = [...text.matchAll(/\]\(([^)]+\.(?:ts|mjs))\)((?:,? `\w+`)+)/g)];
  return places.flatMap(([, path, names]) => {
    const source = readFileSync(join(root, dirname(page), path!), "utf8");
    const wanted = [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    return wanted
      .filter((name) => !new RegExp(`(?:function|class|const|async|^ {2}) ?${name}\\b`, "m").test(source))
      .map((name) => `${page}: ${path} has no ${name}`);
  });
}

describe("the pages about the project", () => {
  it.each(pages)("%s has no link that leads nowhere, and names functions that are there", (page) => {
    const text = read(page);
    expect([...findDeadLinks(page, text), ...findMissingNames(page, text)]).toEqual([]);
  });

  it("would be found out", () => {
    const page = "docs/architecture.md";
    const text = "[a](../src/gone.ts) [b](safety.md#nowhere) [c](../src/app.ts) `startEdge`, `startNothing`";
    expect(findDeadLinks(page, text)).toHaveLength(2);
    expect(findMissingNames(page, text.replace("[a](../src/gone.ts)", ""))).toEqual([
      `${page}: ../src/app.ts has no startNothing`,
    ]);
  });

  it("name npm scripts that exist", () => {
    const named = pages.flatMap((page) => [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!));
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !(name in packageJson.scripts))).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  const page = read("docs/architecture.md");

  it("names every loop of the worker, and no other", () => {
    const started = [...read("src/app.ts").matchAll(/\bloop\("([\w-]+)"/g)].map(([, name]) => name!);
    const [, table = ""] = page.split("\n## The worker's loops\n");
    const rows = [...table.split("\n## ")[0]!.matchAll(/^\| (`.+?) \|/gm)].map(([, names]) => names!);
    const named = rows.flatMap((names) => [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!));
    expect(started.length).toBeGreaterThan(10);
    expect(named.toSorted()).toEqual(started.toSorted());
  });

  it("names every role", () => {
    const [, roles = ""] = /const roles: readonly Role\[\] = \[(.+)\]/.exec(read("src/command-line/serve.ts")) ?? [];
    const wanted = [...roles.matchAll(/"(\w+)"/g)].map(([, role]) => role!);
    expect(wanted).toHaveLength(5);
    expect(wanted.filter((role) => !page.includes(`| \`${role}\` |`))).toEqual([]);
  });
});

describe("docs/CHANGELOG.md", () => {
  it("begins with what is not released, and has this version", () => {
    const headings = [...read("docs/CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, title]) => title!);
    expect(headings[0]).toBe("[Unreleased]");
    expect(headings[1]).toMatch(new RegExp(`^\\[${packageJson.version.replaceAll(".", "\\.")}\\]`));
  });
});
