/** The version of this build, from package.json. */
import packageJson from "../package.json" with { type: "json" };

/** The version that /meta, the widget's address and the command line name. */
export const version: string = packageJson.version;
