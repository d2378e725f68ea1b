/** Recovery's figures as metrics. Labels are the environments, rules and kinds that the code names: their number is bounded. */
import { Counter, Gauge, Registry } from "prom-client";
import type { RecoveryFigures } from "../core/recovery-figures.ts";

/** Registers the metrics under the brand's name. */
export function createRecoveryMetrics(registry: Registry, brand: string) {
  const own = new Registry();
  const { gauge, counter } = metricMaker([registry, own], brand);
  const violations = gauge(
    "invariant_violations",
    "Rules of the payment tables that are broken now; must be 0.",
    "rule",
  );
  const openItems = gauge("work_items_open", "Rows of the work list that no person has closed.", "kind");
  const alarms = counter("alarms_total", "Alarms raised since the installation's first day.", "kind");
  const processing = gauge("sessions_processing", "Sessions that are submitted and not yet done with.");
  const open = gauge(
    "attempts_open",
    "Attempts of sessions in processing: UNKNOWN, the outcome is not known; AUTHORIZED, held and to be captured; VOIDING, the hold is given back.",
    "status",
  );
  const openAge = gauge(
    "attempts_open_age_seconds",
    "How long ago the oldest of them began; 0 when none is.",
    "status",
  );
  const lapsed = gauge(
    "lapsed_lease_age_seconds",
    "How long the session waits whose turn came first; 0 when none does.",
  );
  const audited = gauge("audit_age_seconds", "Time since the last audit of the payment tables.");
  const compared = gauge("comparison_age_seconds", "Time since the last comparison with the gateways was finished.");
  const ahead = gauge(
    "partition_ahead_days",
    "For how many days from now rows of a kind have tables of their own; below 28, making them fails.",
    "kind",
  );
  const seen = gauge("comparison_attempts", "Attempts of the last comparison, by how the gateway was heard.", "seen");
  const found = gauge("comparison_findings", "What the last comparison found.", "found");

  return {
    /** Replaces one environment's values. */
    set(environment: string, figures: RecoveryFigures): void {
      for (const [rule, count] of Object.entries(figures.violations)) violations.set({ environment, rule }, count);
      for (const [kind, count] of Object.entries(figures.openItems)) openItems.set({ environment, kind }, count);
      for (const [kind, count] of Object.entries(figures.alarms)) {
        // The database counts for all workers, so this one shows its number and adds nothing of its own.
        alarms.remove({ environment, kind });
        alarms.inc({ environment, kind }, count);
      }
      processing.set({ environment }, figures.processing);
      for (const [status, { attempts, oldestSeconds }] of Object.entries(figures.openAttempts)) {
        open.set({ environment, status }, attempts);
        openAge.set({ environment, status }, oldestSeconds);
      }
      lapsed.set({ environment }, figures.lapsedLeaseSeconds);
      if (figures.auditedSecondsAgo !== undefined) audited.set({ environment }, figures.auditedSecondsAgo);
      for (const [kind, days] of Object.entries(figures.partitionsAhead)) ahead.set({ environment, kind }, days);
      const { comparison } = figures;
      if (comparison === undefined) return;
      compared.set({ environment }, comparison.finishedSecondsAgo);
      seen.set({ environment, seen: "read" }, comparison.read);
      seen.set({ environment, seen: "notices" }, comparison.byNotices);
      seen.set({ environment, seen: "nothing" }, comparison.couldNotTell);
      found.set({ environment, found: "mismatch" }, comparison.mismatches);
      found.set({ environment, found: "stray" }, comparison.strays);
    },
    /** Shows nothing of an environment until it is set again. */
    forget: (environment: string) => forgetIn(own, environment),
  };
}

async function forgetIn(own: Registry, environment: string): Promise<void> {
  for (const metric of own.getMetricsAsArray() as unknown as Gauge<"environment">[]) {
    const { values } = await metric.get();
    for (const { labels } of values) if (labels.environment === environment) metric.remove(labels);
  }
}

/** Makes metrics that have the brand in their names and are told apart by environment. */
function metricMaker(registers: Registry[], brand: string) {
  const describe = <Label extends string>(name: string, help: string, labels: Label[]) => ({
    name: `${brand}_${name}`,
    help,
    labelNames: ["environment" as const, ...labels],
    registers,
  });
  return {
    gauge: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Gauge(describe(name, help, labels)),
    counter: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Counter(describe(name, help, labels)),
  };
}
