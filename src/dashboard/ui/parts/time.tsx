/** Times in the person's own time zone, with the exact one for machines, and by UTC too in the tooltip. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const minute = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
const thisYear = new Intl.DateTimeFormat(undefined, minute);
const anyYear = new Intl.DateTimeFormat(undefined, { ...minute, year: "numeric" });

const day = { day: "numeric", month: "short" } as const;
const dayThisYear = new Intl.DateTimeFormat(undefined, day);
const dayAnyYear = new Intl.DateTimeFormat(undefined, { ...day, year: "numeric" });

/** A time, or a dash if there is none; with `isDay` its day alone. */
export function Moment({ at, isDay = false }: { at: Timestamp | undefined; isDay?: boolean }) {
  if (at === undefined) return <span className="soft">–</span>;
  const date = timestampDate(at);
  return (
    <time dateTime={date.toISOString()} title={`${exact.format(date)} – ${date.toISOString()}`}>
      {isDay ? inWords(date, dayThisYear, dayAnyYear) : momentInWords(date)}
    </time>
  );
}

/** Returns `2 Dec, 14:05`, with the year unless it is this one. */
export function momentInWords(date: Date): string {
  return inWords(date, thisYear, anyYear);
}

function inWords(date: Date, inThisYear: Intl.DateTimeFormat, inAnyYear: Intl.DateTimeFormat): string {
  return (date.getFullYear() === new Date().getFullYear() ? inThisYear : inAnyYear).format(date);
}

/** Says when a key or a passkey was last used. */
export function LastUsed({ at }: { readonly at: Timestamp | undefined }) {
  return at ? (
    <>
      last used <Moment at={at} />
    </>
  ) : (
    <>not used yet</>
  );
}
