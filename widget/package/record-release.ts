/** `npm run release-widget`: writes the digests of this build permanently into widget/released.json. */

import { readFile, writeFile } from "node:fs/promises";
import packageJson from "../../package.json" with { type: "json" };
import { bundleWidget, type WidgetFile } from "../bundle.ts";
import { differencesFrom, digestsOf, type ReleasedVersions, releasedFile } from "../publish.ts";

/** Adds a version to the list at `list`. Throws if the version is listed with other bytes. */
export async function recordRelease(
  files: ReadonlyMap<string, WidgetFile>,
  version: string,
  list: URL = releasedFile,
): Promise<void> {
  const released = JSON.parse(await readFile(list, "utf8")) as ReleasedVersions;
  const [difference] = version in released ? differencesFrom(released[version]!, files) : [];
  if (difference) throw new Error(`${version} was released with another ${difference}: raise the version.`);
  await writeFile(list, `${JSON.stringify({ ...released, [version]: digestsOf(files) }, null, 2)}\n`);
}

if (import.meta.main) {
  await recordRelease(await bundleWidget(), packageJson.version);
  console.log(`widget/released.json holds version ${packageJson.version}; commit it with the release.`);
}
