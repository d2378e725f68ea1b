/** Checks the licences of packages against the allowed ones, from the lock file. Pure. */

type LockedPackage = { readonly license?: string; readonly dev?: boolean; readonly devOptional?: boolean };

/** The packages of a lock file by their path in node_modules; the project itself is at "". */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

// They require at most their copyright notice, which node_modules, and with it the image, keeps beside the code.
const permissive = [
  ...["MIT", "MIT-0", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0", "Unlicense"],
];
// These are allowed only for tools, which we do not distribute: a modified file of theirs would have to be published,
// and none is modified.
const forTools = ["MPL-2.0", "PSF-2.0", "Python-2.0"];

/** Returns a line for each package whose licence is missing, or not allowed for its use. */
export function findLicenceProblems(packages: LockedPackages): string[] {
  return Object.entries(packages)
    .filter(([path]) => path !== "")
    .flatMap(([path, { license, dev, devOptional }]) => {
      const isTool = dev === true || devOptional === true;
      const allowed = isTool ? [...permissive, ...forTools] : permissive;
      if (license !== undefined && isAllowed(license, allowed)) return [];
      return [`${path}: ${license ?? "declares no licence"}${isTool ? "" : ", and is in the image"}`];
    });
}

export function countLicences(packages: LockedPackages): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { license = "none" } of Object.values(packages)) counts.set(license, (counts.get(license) ?? 0) + 1);
  return counts;
}

/** Evaluates an SPDX expression: one side of OR is enough. Nested brackets are not supported. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(bare)) return false;
  return bare.split(" OR ").some((side) => side.split(" AND ").every((one) => allowed.includes(one)));
}
