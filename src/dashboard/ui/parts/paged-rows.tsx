/** The rows of a list that loads a page at a time. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ShowMore } from "./show-more.tsx";
import { Failure, Loading } from "./states.tsx";

type Page = { readonly nextPageToken: string; readonly searchedBackTo?: Timestamp | undefined };

/** The options by which a query of a list continues. */
export const pages = {
  pageParamKey: "pageToken",
  getNextPageParam: ({ nextPageToken }: Page) => nextPageToken || undefined,
} as const;

/** The section; nothing without rows, unless `empty` says what to show then. */
export function PagedRows<Loaded extends Page, Row>(props: {
  /** The name of the list, such as `Payments`. */
  label: string;
  query: UseInfiniteQueryResult<InfiniteData<Loaded>, Error>;
  rowsOf: (page: Loaded) => readonly Row[];
  head?: (rows: readonly Row[]) => ReactNode;
  empty?: ReactNode;
  children: (rows: readonly Row[]) => ReactNode;
}) {
  const { label, query, rowsOf, head, empty, children } = props;
  const { data, error, refetch, hasNextPage, isPlaceholderData } = query;
  if (error && !data) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what={label} />;
  const rows = data.pages.flatMap(rowsOf);
  const last = data.pages.at(-1);
  const isEmpty = rows.length === 0 && !hasNextPage;
  if (isEmpty && empty === undefined) return null;
  return (
    <section className="stack" aria-label={label} aria-busy={isPlaceholderData}>
      {head?.(rows)}
      {rows.length > 0 && children(rows)}
      {isEmpty && empty}
      {hasNextPage && (
        <ShowMore
          {...query}
          pages={data.pages.length}
          hasRows={last !== undefined && rowsOf(last).length > 0}
          searchedBackTo={last?.searchedBackTo}
        />
      )}
    </section>
  );
}
