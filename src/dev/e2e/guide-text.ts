/** The parts of a guide that a program reads or writes: generated from the product, or to be run. PURE. */

const madePart = /<!-- made: ([\w. -]+) -->\n[\s\S]*?<!-- end -->/g;

/**
 * Returns the guide with the text between `<!-- made: NAME -->` and `<!-- end -->` replaced by the parts of these
 * names. Throws if the guide has another set of names.
 */
export function withParts(guide: string, parts: Readonly<Record<string, string>>): string {
  const names = [...guide.matchAll(madePart)].map(([, name]) => name!);
  if (names.toSorted().join() !== Object.keys(parts).toSorted().join()) {
    throw new Error(`the guide has the parts ${names.join(", ")}; made were ${Object.keys(parts).join(", ")}`);
  }
  return guide.replaceAll(madePart, (_, name: string) => `<!-- made: ${name} -->\n${parts[name]}\n<!-- end -->`);
}

/** Returns the code blocks that are files: their first or second line is a comment with only a file's name. */
export function filesOf(guide: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const [, code = ""] of guide.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)) {
    const [, name] =
      /^(?:<\?php\n|#!.*\n)?(?:\/\/|#) ([\w-]+\.\w+)$/m.exec(code.split("\n").slice(0, 2).join("\n")) ?? [];
    if (name !== undefined) files.set(name, code);
  }
  return files;
}
