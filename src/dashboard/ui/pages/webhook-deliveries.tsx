/** Deliveries of a merchant's events: a list filtered by its address and refreshed while it is open. */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type WebhookDelivery, WebhookDeliveryService } from "../../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { WebhookEndpointService } from "../../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { visible } from "../parts/copied-text.tsx";
import { DeliveryState, isTestEvent, LastAnswer } from "../parts/delivery-state.tsx";
import { News } from "../parts/news.tsx";
import { OrderRef } from "../parts/order-ref.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Empty } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { type DeliverySearch, filterOf } from "../webhook-address.ts";
import { DeliveryFilters } from "./webhook-delivery-filters.tsx";
import { liveEveryMs, WebhookTabs } from "./webhook-tabs.tsx";

const rowsAtOnce = 50;
const what: [string, string] = ["new delivery", "new deliveries"];

export function WebhookDeliveriesPage() {
  const { merchantId, environment } = useScope();
  const search: DeliverySearch = useSearch({ from: "/signed-in/$environment/$merchantId/webhooks/deliveries" });
  const endpoints = useQuery(WebhookEndpointService.method.listWebhookEndpoints, { merchantId, environment });
  const urls = new Map(endpoints.data?.endpoints.map(({ endpointId, url }) => [endpointId, url]));
  return (
    <>
      <WebhookTabs />
      <DeliveryFilters search={search} urls={urls} />
      <List search={search} urls={urls} />
    </>
  );
}

function List({ search, urls }: { search: DeliverySearch; urls: ReadonlyMap<string, string> }) {
  const { merchantId, environment, environmentName } = useScope();
  const query = useInfiniteQuery(
    WebhookDeliveryService.method.listWebhookDeliveries,
    { merchantId, environment, ...filterOf(search), pageSize: rowsAtOnce, pageToken: "" },
    {
      ...pages,
      // New rows do not move the list of a person who reads older pages.
      refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : liveEveryMs),
      placeholderData: keepPreviousData,
    },
  );
  const { error, isPlaceholderData } = query;
  const isFiltered = Object.keys(search).length > 0;
  return (
    <PagedRows
      label="Deliveries"
      query={query}
      rowsOf={(page) => page.deliveries}
      head={(deliveries) => (
        <>
          <News
            list={`${environmentName} ${JSON.stringify(search)} ${isPlaceholderData}`}
            rows={deliveries.map(({ eventId, endpointId }) => eventId + endpointId)}
            what={what}
          />
          {error && !query.hasNextPage && (
            <p className="banner" data-tone="bad" role="alert">
              The list is not up to date: the service does not answer.
            </p>
          )}
        </>
      )}
      empty={
        <Empty title={isFiltered ? "No results" : "No deliveries yet"}>
          <p>
            {isFiltered
              ? "Remove a filter, or switch the environment."
              : `Events of ${environmentName} appear here when they are due at a verified endpoint.`}
          </p>
          {!isFiltered && <ScopeLink to="./webhooks">See your endpoints</ScopeLink>}
        </Empty>
      }
    >
      {(deliveries) => <DeliveryTable deliveries={deliveries} urls={urls} />}
    </PagedRows>
  );
}

type TableProps = { deliveries: readonly WebhookDelivery[]; urls: ReadonlyMap<string, string> };

const columns: readonly RecordColumn[] = [
  { name: "Event" },
  { name: "Order reference", className: "reference" },
  { name: "State" },
  { name: "HTTP status" },
  { name: "Attempts", isNumber: true },
  { name: "Endpoint", className: "url" },
  { name: "Occurred" },
];

function DeliveryTable({ deliveries, urls }: TableProps) {
  const rows = deliveries.map((delivery) => {
    const { eventId, endpointId, type, orderRef, scheduledAttempts, createdAt } = delivery;
    return {
      key: eventId + endpointId,
      cells: [
        <>
          <ScopeLink to="./webhooks/deliveries/$endpointId/$eventId" params={{ endpointId, eventId }}>
            {type}
          </ScopeLink>
          <div className="mono soft wide-only">{eventId}</div>
        </>,
        <div key="order" className={isTestEvent(delivery) ? "soft" : undefined}>
          {isTestEvent(delivery) ? "Test event" : <OrderRef orderRef={orderRef} />}
        </div>,
        <DeliveryState key="state" delivery={delivery} />,
        <LastAnswer key="answer" delivery={delivery} />,
        scheduledAttempts,
        <bdi key="url">{visible(urls.get(endpointId) ?? "Removed endpoint")}</bdi>,
        <Moment key="at" at={createdAt} />,
      ],
    };
  });
  return <RecordTable label="Deliveries" columns={columns} rows={rows} className="records linked deliveries" />;
}
