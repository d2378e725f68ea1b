/** Parses source files by the compiler that checks them: those of this checkout, or some from a test. */
import { relative, sep } from "node:path";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API, type APIOptions } from "typescript/unstable/sync";
import { factsOf, type SourceFacts } from "./source-facts.ts";

/** Returns the facts of every hand-written file that tsconfig.json of `checkout` names: src and widget, not gen. */
export function readSources(checkout: string): SourceFacts[] {
  return parse(checkout, { cwd: checkout }).filter(({ path }) => /^(src|widget)\//.test(path));
}

/** Returns the facts of literal files, by path from the checkout, for tests that show that a rule can fail. */
export function parseSources(texts: Readonly<Record<string, string>>): SourceFacts[] {
  const options = {
    noLib: true,
    types: [],
    allowJs: true,
    module: "nodenext",
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  const files = Object.fromEntries(Object.entries(texts).map(([path, text]) => [`/${path}`, text]));
  const config = JSON.stringify({ compilerOptions: options, files: Object.keys(files) });
  return parse("/", { cwd: "/", fs: createVirtualFileSystem({ ...files, "/tsconfig.json": config }) });
}

function parse(root: string, options: APIOptions): SourceFacts[] {
  const api = new API(options);
  try {
    const configFile = root === "/" ? "/tsconfig.json" : `${root}/tsconfig.json`;
    const project = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile);
    if (project === undefined) throw new Error(`${configFile} cannot be opened`);
    const names = project.program.getSourceFileNames().filter((name) => !name.includes("/node_modules/"));
    return names.flatMap((name) => {
      const file = project.program.getSourceFile(name);
      return file === undefined ? [] : [factsOf(relative(root, name).replaceAll(sep, "/"), file, project.checker)];
    });
  } finally {
    api.close();
  }
}
