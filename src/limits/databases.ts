/** Bounds of an operator's database connections, with their reasons. PURE. */
import { databaseConnectionsMax } from "../limits.ts";

/**
 * Bounds of connections to one database: below four, a listener and a slow statement leave none; above two hundred,
 * PostgreSQL spends its time on switching.
 */
export const databaseConnectionsBounds = { min: 4, default: databaseConnectionsMax, max: 200 } as const;

/** Interval at which a read replica is compared with its database: one statement on each. */
export const replicaLookEveryMs = 5_000;
/** Largest lag of a read replica: an older list misleads a person who looks for a recent payment. */
export const replicaLagMaxMs = 30_000;
