/** The time zones to choose from, by their current names. */

// Browsers still list the original names of some zones; the database knows both.
const renamed: Readonly<Record<string, string>> = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Godthab": "America/Nuuk",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Truk": "Pacific/Chuuk",
};

const nameOf = (zone: string) => renamed[zone] ?? zone;

/** Returns a zone by its current name; undefined for none and for one that dates cannot be formatted in. */
export function usableZone(zone: string | undefined): string | undefined {
  try {
    // Of a machine without a zone, browsers return Etc/Unknown, which they refuse themselves.
    return zone ? nameOf(new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone) : undefined;
  } catch {
    return undefined;
  }
}

const browserZone = usableZone(Intl.DateTimeFormat().resolvedOptions().timeZone);

/** The time zone of the browser; UTC if it has none. */
export const ownZone: string = browserZone ?? "UTC";

/** True if the browser has no time zone, so that days are those of UTC. */
export const isZoneUnknown: boolean = browserZone === undefined;

/** All zones: the browser's own first, then UTC, then by name. */
export const timeZones: readonly string[] = [
  ...new Set([ownZone, "UTC", ...Intl.supportedValuesOf("timeZone").map(nameOf).toSorted()]),
];
