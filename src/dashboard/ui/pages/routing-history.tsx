/** The versions of the rule: author, time and changes of each, and how to restore one. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  type RoutingRule,
  RoutingRuleService,
  type RoutingRuleVersion,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { anyPayment, useRouteTest, whoSet } from "./routing-draft.ts";

// The first page's size, and the maximum of one call.
const [firstCount, maxCount] = [5, 100];

export function RoutingHistory({ inUse, mayChange }: { inUse: RoutingRule | undefined; mayChange: boolean }) {
  const { merchantId, environment } = useScope();
  const [pageSize, setPageSize] = useState(firstCount);
  const { data, error, refetch } = useQuery(
    RoutingRuleService.method.listRoutingRuleVersions,
    { merchantId, environment, pageSize },
    { placeholderData: keepPreviousData },
  );
  if (!inUse?.version) return <p>No version is saved yet.</p>;
  return (
    <section className="card" aria-labelledby="history">
      <h2 id="history">History</h2>
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The history" />}
      <ol className="history">
        {data?.versions.map((version) => (
          <Version key={version.routingRule?.version} version={version} inUse={inUse} mayChange={mayChange} />
        ))}
      </ol>
      {data && data.nextPageToken !== "" && pageSize < maxCount && (
        <div>
          <Button onPress={() => setPageSize(maxCount)}>Show more</Button>
        </div>
      )}
    </section>
  );
}

type VersionProps = { version: RoutingRuleVersion; inUse: RoutingRule; mayChange: boolean };

function Version({ version: { routingRule, changes }, inUse, mayChange }: VersionProps) {
  if (routingRule === undefined) return null;
  const { version, setBy, createdAt, restoredFrom } = routingRule;
  const isInUse = version === inUse.version;
  return (
    <li>
      <div className="page-head">
        <div>
          <strong>Version {version}</strong> {isInUse && <Badge tone="good">In use</Badge>}
          <div className="soft small">
            <Moment at={createdAt} /> · <bdi title={setBy}>{whoSet(routingRule)}</bdi>
            {restoredFrom !== undefined && ` · restores version ${restoredFrom}`}
          </div>
        </div>
        {mayChange && !isInUse && <Restore rule={routingRule} inUse={inUse} />}
      </div>
      <ul className="small changes">
        {changes.map((change) => (
          <li key={change}>{nameGatewaysIn(change)}</li>
        ))}
        {changes.length === 0 && <li>No difference from the previous version.</li>}
      </ul>
    </li>
  );
}

function Restore({ rule, inUse }: { rule: RoutingRule; inUse: RoutingRule }) {
  const { merchantId, environment } = useScope();
  const client = useClient(RoutingRuleService);
  const queries = useQueryClient();
  const { version } = rule;
  const restore = useMutation({
    mutationFn: () => client.restoreRoutingRule({ merchantId, environment, version, expectedVersion: inUse.version }),
    onSuccess: () => queries.invalidateQueries(),
  });
  return (
    <div>
      <Confirm
        action={`Restore version ${version}`}
        title={`Restore version ${version}?`}
        runs={restore}
        isDanger={false}
      >
        <RestoredChanges rule={rule} /> It becomes version {inUse.version + 1}, which payments submitted from then on
        follow.
      </Confirm>
      <Refusal error={restore.error} />
    </div>
  );
}

function RestoredChanges({ rule }: { rule: RoutingRule }) {
  const { data, error } = useRouteTest(rule, anyPayment);
  if (error) return null;
  if (!data) return <>Loading the changes.</>;
  return (
    <>{data.changes.length === 0 ? "No difference from the version in use." : nameGatewaysIn(data.changes.join(" "))}</>
  );
}
