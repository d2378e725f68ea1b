/** The next page of a list that is searched in steps. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { Refusal } from "./refusal.tsx";
import { Moment } from "./time.tsx";

export type MoreRows = {
  readonly error: unknown;
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
  readonly pages: number;
  readonly hasRows: boolean;
  /** The time to which the last page searched, where it stopped before it was full. */
  readonly searchedBackTo: Timestamp | undefined;
};

/** Loads another page; if a scan returned nothing, continues until it finds a row or the person stops it. */
export function ShowMore(list: MoreRows) {
  const { error, hasNextPage, isFetchingNextPage, fetchNextPage, pages, hasRows, searchedBackTo } = list;
  // The number of pages when more were requested.
  const [pagesBefore, setPagesBefore] = useState<number>();
  const isOver = !hasNextPage || hasRows || searchedBackTo === undefined;
  useEffect(() => {
    if (pagesBefore === undefined || isFetchingNextPage) return;
    if (error || (pages > pagesBefore && isOver)) setPagesBefore(undefined);
    else void fetchNextPage();
  }, [pagesBefore, pages, error, isFetchingNextPage, isOver, fetchNextPage]);
  const loadMore = () => {
    setPagesBefore(pages);
    void fetchNextPage();
  };
  const isLooking = pagesBefore !== undefined && searchedBackTo !== undefined;
  return (
    <div className="row">
      {isLooking ? (
        <Button onPress={() => setPagesBefore(undefined)}>Stop looking</Button>
      ) : (
        <Button onPress={loadMore} isPending={isFetchingNextPage}>
          {searchedBackTo ? "Look further back" : "Show more"}
        </Button>
      )}
      {searchedBackTo && (
        <span className="soft" role="status">
          Nothing more since <Moment at={searchedBackTo} />
          {isLooking && "; looking further back…"}
        </span>
      )}
      <Refusal error={error} />
    </div>
  );
}
