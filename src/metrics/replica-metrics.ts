/** Read replicas as metrics: their use for lists, and their lag. */
import type { ReadReplica } from "../platform/read-replica.ts";
import type { MetricMaker } from "./metric-maker.ts";

export function createReplicaMetrics({ collected }: MetricMaker) {
  const replicas = new Map<string, ReadReplica>();
  const labels: "environment"[] = ["environment"];
  collected("replica_in_use", "Whether this process reads lists and analytics from the read replica.", labels, () =>
    [...replicas].map(([environment, { state }]) => ({ labels: { environment }, value: Number(state === "in_use") })),
  );
  collected(
    "replica_lag_seconds",
    "Lag of the read replica, to within five seconds; absent while the replica does not answer.",
    labels,
    () =>
      [...replicas].flatMap(([environment, { lagMs }]) =>
        lagMs === undefined ? [] : [{ labels: { environment }, value: lagMs / 1_000 }],
      ),
  );
  return function showReplica(environment: string, replica: ReadReplica): void {
    replicas.set(environment, replica);
  };
}
