/** The bounds of connections to databases that an operator chooses within, with their reasons. PURE. */
import { databaseConnectionsMax } from "../limits.ts";

/** Below four a listener and a slow statement leave nothing; above two hundred PostgreSQL spends itself on switching. */
export const databaseConnectionsBounds = { least: 4, usual: databaseConnectionsMax, most: 200 } as const;

/** How often a read replica is compared with its database: one statement on each. */
export const replicaLookEveryMs = 5_000;
/** A list that is older than this misleads whoever looks for a payment of a moment ago. */
export const replicaLagMaxMs = 30_000;
