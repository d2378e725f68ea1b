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

/** The time zone of the browser. */
export const ownZone: string = nameOf(Intl.DateTimeFormat().resolvedOptions().timeZone);

/** All zones: the browser's own first, then UTC, then by name. */
export const timeZones: readonly string[] = [
  ...new Set([ownZone, "UTC", ...Intl.supportedValuesOf("timeZone").map(nameOf).toSorted()]),
];
