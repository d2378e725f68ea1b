/** Figures of recovery as metrics. Labels are from closed lists in the code. */
import { type Gauge, Registry } from "prom-client";
import type { RecoveryFigures } from "../oversight/recovery-figures.ts";
import { createMetricMaker } from "./metric-maker.ts";

export function createRecoveryMetrics(registry: Registry, brand: string) {
  const own = new Registry();
  const { gauge, counter } = createMetricMaker([registry, own], brand, ["environment"]);
  const violations = gauge("invariant_violations", "Violations of the rules of the payment tables; must be 0.", "rule");
  const openItems = gauge("work_items_open", "Open items of the work queue.", "kind");
  const alarms = counter("alarms_total", "Alarms raised since the installation was created.", "kind");
  const processing = gauge("sessions_processing", "Sessions that were submitted and have not ended.");
  const open = gauge(
    "attempts_open",
    "Attempts of sessions in processing: AWAITING_CUSTOMER, the customer is asked to act; UNKNOWN, the outcome is not known; AUTHORIZED, held and to be captured; VOIDING, the hold is being voided.",
    "status",
  );
  const openAge = gauge("attempts_open_age_seconds", "Age of the oldest of them; 0 if there is none.", "status");
  const lapsed = gauge(
    "lapsed_lease_age_seconds",
    "How long the session that is due for longest has waited; 0 if none is due.",
  );
  const promoted = gauge("database_promoted", "1 while a promotion is not confirmed by an operator, else 0.");
  const audited = gauge("audit_age_seconds", "Time since the last audit of the payment tables.");
  const compared = gauge(
    "reconciliation_age_seconds",
    "Time since the last reconciliation with the gateways was finished.",
  );
  const ahead = gauge(
    "partition_ahead_days",
    "Days ahead for which the partitions of a kind exist; below 28, creating them fails.",
    "kind",
  );
  const seen = gauge(
    "reconciliation_attempts",
    "Attempts of the last reconciliation, by how the gateway's record was obtained.",
    "seen",
  );
  const found = gauge("reconciliation_findings", "Findings of the last reconciliation.", "found");

  return {
    set(environment: string, figures: RecoveryFigures): void {
      for (const [rule, count] of Object.entries(figures.violations)) violations.set({ environment, rule }, count);
      for (const [kind, count] of Object.entries(figures.openItems)) openItems.set({ environment, kind }, count);
      for (const [kind, count] of Object.entries(figures.alarms)) {
        // The database counts for all workers, so this process shows the database's number and adds nothing.
        alarms.remove({ environment, kind });
        alarms.inc({ environment, kind }, count);
      }
      processing.set({ environment }, figures.processing);
      for (const [status, { attempts, oldestSeconds }] of Object.entries(figures.openAttempts)) {
        open.set({ environment, status }, attempts);
        openAge.set({ environment, status }, oldestSeconds);
      }
      lapsed.set({ environment }, figures.lapsedLeaseSeconds);
      promoted.set({ environment }, Number(figures.isPromoted));
      if (figures.auditedSecondsAgo !== undefined) audited.set({ environment }, figures.auditedSecondsAgo);
      for (const [kind, days] of Object.entries(figures.partitionsAhead)) ahead.set({ environment, kind }, days);
      const { reconciliation } = figures;
      if (reconciliation === undefined) return;
      compared.set({ environment }, reconciliation.finishedSecondsAgo);
      seen.set({ environment, seen: "read" }, reconciliation.read);
      seen.set({ environment, seen: "notifications" }, reconciliation.byNotifications);
      seen.set({ environment, seen: "nothing" }, reconciliation.inconclusive);
      found.set({ environment, found: "mismatch" }, reconciliation.mismatches);
      found.set({ environment, found: "orphan" }, reconciliation.orphans);
    },
    /** Removes an environment's figures until they are set again. */
    forget: (environment: string) => forgetIn(own, environment),
  };
}

async function forgetIn(own: Registry, environment: string): Promise<void> {
  for (const metric of own.getMetricsAsArray() as unknown as Gauge<"environment">[]) {
    const { values } = await metric.get();
    for (const { labels } of values) if (labels.environment === environment) metric.remove(labels);
  }
}
