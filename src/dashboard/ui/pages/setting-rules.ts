/** How settings are written in a field, and what is wrong with one. PURE. */

/** The values of a list, one a line. */
export function linesOf(text: string): string[] {
  return text
    .split(/\s+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** What is wrong with a list of origins, by the first line that is none. */
export function findOriginProblem(text: string): string | undefined {
  const lines = linesOf(text);
  const wrong = lines.find((line) => !isOrigin(line));
  if (wrong !== undefined) {
    return `${wrong} is no origin: write scheme, host and, where it is not the usual one, port, such as https://shop.example.com.`;
  }
  return repeatedIn(lines);
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const minutes = { least: 5, most: 1_440 };

/** What is wrong with a session's lifetime in minutes. */
export function findLifetimeProblem(text: string): string | undefined {
  const number = Number(text);
  const isRight = /^\d+$/.test(text.trim()) && number >= minutes.least && number <= minutes.most;
  return isRight ? undefined : `Write whole minutes, from ${minutes.least} to ${minutes.most}.`;
}

const addressesMax = 10;

/** What is wrong with a list of mail addresses, by the first line that is none. */
export function findAddressProblem(text: string): string | undefined {
  const lines = linesOf(text);
  const wrong = lines.find((line) => !/^[^\s@]+@[^\s@]+$/.test(line));
  if (wrong !== undefined) return `${wrong} is no address.`;
  return lines.length > addressesMax ? `At most ${addressesMax} addresses.` : repeatedIn(lines);
}

function repeatedIn(lines: readonly string[]): string | undefined {
  const repeated = lines.find((line, index) => lines.indexOf(line) < index);
  return repeated === undefined ? undefined : `${repeated} stands there twice.`;
}
