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

/**
 * Reports whether the browser knows the times in a zone. On a machine without one, it names Etc/Unknown and refuses it.
 */
export function isZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** True if the browser has no time zone, so that days are those of UTC. */
export const isZoneUnknown: boolean = !isZone(browserZone);

export const ownZone: string = isZoneUnknown ? "UTC" : nameOf(browserZone);

/** All zones: the browser's own first, then UTC, then by name. */
export const timeZones: readonly string[] = [
  ...new Set([ownZone, "UTC", ...Intl.supportedValuesOf("timeZone").map(nameOf).toSorted()]),
];
