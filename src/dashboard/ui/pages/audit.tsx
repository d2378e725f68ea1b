/** The audit trail of a merchant: each change with its author and the values before and after. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type AuditEntry, AuditService } from "../../../../gen/dashboard/v1/audit_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { inWords } from "../parts/action-words.ts";
import { Choice, FilterForm, TextBox } from "../parts/filter-form.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Empty } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { dayBegin, dayOf } from "../payment-address.ts";
import { useScope } from "../scope.ts";
import { Actor, Changes, Subject } from "./audit-entry.tsx";
import { type AuditSearch, readAuditSearch } from "./audit-search.ts";

const rowsAtOnce = 50;

export function AuditPage() {
  const { merchantId, environment, environmentName } = useScope();
  const search: AuditSearch = useSearch({ from: "/signed-in/$environment/$merchantId/audit" });
  const query = useInfiniteQuery(
    AuditService.method.listAuditEntries,
    { merchantId, environment, ...filterOf(search), pageSize: rowsAtOnce, pageToken: "" },
    { ...pages, placeholderData: keepPreviousData },
  );
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHead title="Audit trail">
        Changes in {environmentName} and in the team, newest first. The team belongs to both environments. Nothing here
        can be changed.
      </PageHead>
      {query.data && <Filters search={search} actions={query.data.pages[0]?.actions ?? []} />}
      <PagedRows
        label="Entries"
        query={query}
        rowsOf={(page) => page.entries}
        empty={
          <Empty title={isFiltered ? "No entry matches the filters" : "No changes yet"}>
            <p>
              {isFiltered
                ? "Remove a filter, or switch the environment."
                : "Changes to keys, gateways, routing, webhooks and the team appear here, with their author."}
            </p>
          </Empty>
        }
      >
        {(entries) => <Entries entries={entries} />}
      </PagedRows>
    </>
  );
}

function Filters({ search, actions }: { search: AuditSearch; actions: readonly string[] }) {
  const { merchantId, environmentName: environment } = useScope();
  const navigate = useNavigate();
  const go = (wanted: AuditSearch) =>
    navigate({ to: "/$environment/$merchantId/audit", params: { environment, merchantId }, search: wanted });
  return (
    <div className="list-bar">
      <FilterForm used={search} onApply={(fields) => go(readAuditSearch(fields))} onClear={() => go({})}>
        <TextBox label="Who" name="who" value={search.who} maxLength={254} placeholder="E-mail or operator" />
        <Choice
          label="What"
          name="action"
          value={search.action}
          values={actions.map((action) => [action, inWords(action)])}
        />
        <TextBox
          label="About the object"
          name="about"
          value={search.about}
          spellCheck={false}
          placeholder="ps_…, gc_…, we_…"
          pattern="\s*[a-z]+_[0-9a-z]{26}\s*"
          title="The id of a payment, gateway connection, endpoint or member"
        />
        <TextBox label="On or after" name="after" value={search.after} type="date" max={dayOf(new Date())} />
        <TextBox label="On or before" name="before" value={search.before} type="date" />
        <label className="tick">
          <input type="checkbox" name="reads" defaultChecked={search.reads ?? false} /> Also what operators have read
        </label>
      </FilterForm>
    </div>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "What" },
  { name: "Changes", className: "changes" },
  { name: "Who", className: "who" },
  { name: "When" },
];

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  const { merchantId, environment } = useScope();
  const known = useQuery(
    PaymentService.method.listCurrencies,
    { merchantId, environment },
    { staleTime: Number.POSITIVE_INFINITY },
  );
  const currencies = known.data?.currencies ?? [];
  const rows = entries.map((entry) => ({
    key: entry.auditEntryId,
    cells: [
      <>
        {inWords(entry.action)}
        {!entry.subject.startsWith("mer_") && (
          <div className="subject soft">
            <Subject subject={entry.subject} />
          </div>
        )}
      </>,
      <Changes key="changes" entry={entry} currencies={currencies} />,
      <Actor key="actor" actor={entry.actor} />,
      <Moment key="at" at={entry.createdAt} />,
    ],
  }));
  return <RecordTable label="Entries" columns={columns} rows={rows} />;
}

function filterOf({ who = "", action = "", about = "", after, before, reads = false }: AuditSearch) {
  const [from, until] = [dayBegin(after), dayBegin(before, 1)];
  return {
    actor: who,
    action,
    subject: about,
    includeReads: reads,
    ...(from && { createdAfter: timestampFromDate(from) }),
    ...(until && { createdBefore: timestampFromDate(until) }),
  };
}
