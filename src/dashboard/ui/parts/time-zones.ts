/** The time zones that one can choose, by the names that their people know. */

// Browsers go on listing the names that places had when zones were first written down; the database knows both.
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

/** The zone of the person at the page. */
export const ownZone: string = nameOf(Intl.DateTimeFormat().resolvedOptions().timeZone);

/** All of them: one's own first, then UTC, then by name. */
export const timeZones: readonly string[] = [
  ...new Set([ownZone, "UTC", ...Intl.supportedValuesOf("timeZone").map(nameOf).toSorted()]),
];
