/** What a browser calls itself, as a person would say it. */

// The first that fits: most browsers name others as well, for pages that know only those.
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone|iPad/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/** `Firefox on Windows`; what it says of itself where that names nothing we know. */
export function browserName(userAgent: string): string {
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [find(browsers), find(systems)];
  if (browser === undefined) return userAgent || "A browser that does not say which";
  return system === undefined ? browser : `${browser} on ${system}`;
}
