/** The audit trail of a merchant: each change with its author and the values before and after. */
import type { JsonObject } from "@bufbuild/protobuf";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { type AuditEntry, AuditService, type ListAuditEntriesResponse } from "../../../../gen/dashboard/v1/audit_pb.ts";
import { inWords } from "../parts/action-words.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";

/** The page. */
export function AuditPage() {
  const { merchantId, environment, environmentName } = useScope();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    AuditService.method.listAuditEntries,
    { merchantId, environment, pageSize: 100, pageToken: "" },
    {
      pageParamKey: "pageToken",
      getNextPageParam: ({ nextPageToken }: ListAuditEntriesResponse) => nextPageToken || undefined,
    },
  );
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Audit trail</h1>
          <p>Changes in {environmentName} and in the team, newest first. The team belongs to both environments.</p>
        </div>
      </header>
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The audit trail" />}
      {data && entries.length === 0 && (
        <Empty title="No changes yet">
          <p>Changes to keys, gateways, routing, webhooks and the team appear here, with their author.</p>
        </Empty>
      )}
      {entries.length > 0 && <Entries entries={entries} />}
      {hasNextPage && (
        <div>
          <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
            Older
          </Button>
        </div>
      )}
    </>
  );
}

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <TableScroll label="Changes">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">Before and after</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.auditEntryId}>
              <td>
                <Moment at={entry.createdAt} />
              </td>
              <td>
                <bdi>{entry.actor}</bdi>
              </td>
              <td>
                {inWords(entry.action)}
                <div className="mono soft">{entry.subject}</div>
              </td>
              <td>
                <Facts name="Before" facts={entry.before} />
                <Facts name="After" facts={entry.after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function Facts({ name, facts }: { name: string; facts: JsonObject | undefined }) {
  if (facts === undefined) return null;
  return (
    <div className="small">
      <span className="soft">{name}:</span>{" "}
      <code>
        <bdi>{JSON.stringify(facts)}</bdi>
      </code>
    </div>
  );
}
