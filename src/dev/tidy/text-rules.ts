/** Rules about the texts of the checkout: no folders of a machine, no download addresses. */

export type TextFile = { readonly path: string; readonly text: string };

// Folders of a person or a machine, with something in them.
const machineFolders = /(?<![\w.\-/}~])\/(?:home|root|Users|work|workspace)\/[\w.-]+/;

/** Finds absolute paths of a machine, which mean nothing on any other. */
export function findMachinePaths(files: readonly TextFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const found = machineFolders.exec(line)?.[0];
      return found === undefined ? [] : [`${path}:${index + 1}: ${found}`];
    }),
  );
}

/** Finds download addresses in the lock file, which would bind every machine to one registry. */
export function findRegistryAddresses(lock: string): string[] {
  return lock
    .split("\n")
    .flatMap((line, index) => (/"resolved"\s*:/.test(line) ? [`package-lock.json:${index + 1}`] : []));
}
