/** Every migration of every kind of database, in the order in which they are applied. */
import * as accounts from "./accounts/migration-001-accounts.ts";
import * as members from "./accounts/migration-002-members.ts";
import * as signInProofs from "./accounts/migration-003-sign-in-proofs.ts";
import * as accountsRetention from "./accounts/migration-004-retention.ts";
import * as payment from "./environment/migration-001-payment.ts";
import * as configuration from "./environment/migration-002-configuration.ts";
import * as events from "./environment/migration-003-events.ts";
import * as recovery from "./environment/migration-004-recovery.ts";
import * as pinned from "./environment/migration-005-pinned-records.ts";
import * as attemptById from "./environment/migration-006-attempt-by-id.ts";
import * as requestLimits from "./environment/migration-007-request-limits.ts";
import * as workList from "./environment/migration-008-work-list.ts";
import * as webhookEndpoints from "./environment/migration-009-webhook-endpoints.ts";
import * as endpointNotices from "./environment/migration-010-endpoint-notices.ts";
import * as vaultSessions from "./environment/migration-011-vault-sessions.ts";
import * as namedByLookUp from "./environment/migration-012-named-by-look-up.ts";
import * as gatewayUpkeep from "./environment/migration-013-gateway-upkeep.ts";
import * as paymentSearch from "./environment/migration-014-payment-search.ts";
import * as ruleAuthors from "./environment/migration-015-rule-authors.ts";
import * as analytics from "./environment/migration-016-analytics.ts";
import * as noticeCredential from "./environment/migration-017-notice-credential.ts";
import * as partitions from "./environment/migration-018-partitions.ts";
import * as requiredChanges from "./environment/migration-019-required-changes.ts";
import * as restoreAndErasure from "./environment/migration-020-restore-and-erasure.ts";
import * as replicaMark from "./environment/migration-021-replica-mark.ts";
import * as cards from "./vault/migration-001-cards.ts";
import * as sessionCounts from "./vault/migration-002-session-counts.ts";

/** The kinds of database: one `environment` each for test and live, `accounts` for both, `vault` for cards being paid. */
export type DatabaseKind = "environment" | "accounts" | "vault";

/**
 * One file of SQL, applied in a transaction of its own. `outsideTransaction` is for what PostgreSQL allows nowhere else,
 * such as CREATE INDEX CONCURRENTLY: then `sql` is one statement an element, and repeating all of them must be harmless.
 */
export type SqlFile =
  | { readonly name: string; readonly sql: string }
  | { readonly name: string; readonly sql: readonly string[]; readonly outsideTransaction: true };

/** What brings an empty database to the newest schema. */
export const schemaHistory: Record<DatabaseKind, readonly SqlFile[]> = {
  environment: [
    payment,
    configuration,
    events,
    recovery,
    pinned,
    attemptById,
    requestLimits,
    workList,
    webhookEndpoints,
    endpointNotices,
    vaultSessions,
    namedByLookUp,
    gatewayUpkeep,
    paymentSearch,
    ruleAuthors,
    analytics,
    noticeCredential,
    partitions,
    requiredChanges,
    restoreAndErasure,
    replicaMark,
  ],
  accounts: [accounts, members, signInProofs, accountsRetention],
  vault: [cards, sessionCounts],
};
