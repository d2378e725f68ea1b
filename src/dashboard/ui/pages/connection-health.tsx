/** An account's answers within the last hour. */
import type { GatewayHealth } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { formatRate } from "../parts/numbers.ts";
import { Moment } from "../parts/time.tsx";

const seconds = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });

function inWords(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${seconds.format(ms / 1_000)} s`;
}

export function ConnectionHealth({ health }: { health: GatewayHealth | undefined }) {
  if (health === undefined) return <p className="small">No attempts in the last hour.</p>;
  const { attempts, approved, declined, timeouts, errors, latencyP50Ms, latencyP95Ms, lastAskedAt } = health;
  const failed = timeouts + errors;
  return (
    <div className="form">
      <dl className="figures">
        <div>
          <dt>Attempts in the last hour</dt>
          <dd>{attempts}</dd>
          <dd className="soft small">
            last <Moment at={lastAskedAt} />
          </dd>
        </div>
        <div>
          <dt>Approval rate</dt>
          <dd>{formatRate(approved / attempts)}</dd>
          <dd className="soft small">
            {approved} approved, {declined} declined
          </dd>
        </div>
        <div>
          <dt>Technical failures</dt>
          <dd>
            {failed}{" "}
            <Badge tone={failed === 0 ? "good" : "bad"}>{failed === 0 ? "None" : formatRate(failed / attempts)}</Badge>
          </dd>
          <dd className="soft small">
            {timeouts} {timeouts === 1 ? "timeout" : "timeouts"} · {errors} {errors === 1 ? "error" : "errors"}
          </dd>
        </div>
        <div>
          <dt>Median response time</dt>
          <dd>{inWords(latencyP50Ms)}</dd>
          <dd className="soft small">95th percentile {inWords(latencyP95Ms)}</dd>
        </div>
      </dl>
    </div>
  );
}
