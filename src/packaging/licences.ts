/** Which licences packages may have, judged from the lock file. Pure. */

/** What the lock says of a package. */
export type LockedPackage = { readonly license?: string; readonly dev?: boolean; readonly devOptional?: boolean };

/** The packages of a lock file by their place in node_modules; the project itself is at "". */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

// They ask for their notice at most, which node_modules, and with it the image, keeps beside the code.
const permissive = [
  ...["MIT", "MIT-0", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0", "Unlicense"],
];
// Of tools alone, which nobody gets from us: a file of theirs that is changed has to be published, and none is.
const forTools = ["MPL-2.0", "PSF-2.0", "Python-2.0"];

/** A line for each package whose licence is not allowed where it is, or is not said. */
export function findLicenceProblems(packages: LockedPackages): string[] {
  return Object.entries(packages)
    .filter(([place]) => place !== "")
    .flatMap(([place, { license, dev, devOptional }]) => {
      const isTool = dev === true || devOptional === true;
      const allowed = isTool ? [...permissive, ...forTools] : permissive;
      if (license !== undefined && isAllowed(license, allowed)) return [];
      return [`${place}: ${license ?? "says no licence"}${isTool ? "" : ", and goes into the image"}`];
    });
}

/** How many packages have each licence, for a person to read. */
export function countLicences(packages: LockedPackages): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { license = "none" } of Object.values(packages)) counts.set(license, (counts.get(license) ?? 0) + 1);
  return counts;
}

/** Of an SPDX expression: one side of OR is enough, each side of AND is needed. Brackets within brackets are not read. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(bare)) return false;
  return bare.split(" OR ").some((side) => side.split(" AND ").every((one) => allowed.includes(one)));
}
