/** The bounds of connections to databases that an operator chooses within, with their reasons. PURE. */
import { databaseConnectionsMax } from "../limits.ts";

/** Below four a listener and a slow statement leave nothing; above two hundred PostgreSQL spends itself on switching. */
export const databaseConnectionsBounds = { least: 4, usual: databaseConnectionsMax, most: 200 } as const;
