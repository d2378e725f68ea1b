/** A customer at the sandbox bank, who reads the code on its page. */

/**
 * Answers a challenge with the right code, a wrong one or Cancel. Returns the address to which the bank returns the
 * customer; undefined if its answer has none. Throws if the page cannot be read.
 */
export async function answerAtBank(
  url: string,
  answer: "pass" | "fail" | "cancel",
  timeoutMs = 10_000,
): Promise<URL | undefined> {
  const signal = AbortSignal.timeout(timeoutMs);
  const page = await (await fetch(url, { signal })).text();
  const code = answer === "pass" ? /The code is (\w+)/.exec(page)?.[1] : "wrong";
  if (code === undefined) throw new Error("the bank's page shows no code");
  const body = new URLSearchParams(answer === "cancel" ? { cancel: "1" } : { code });
  const { headers } = await fetch(url, { method: "POST", body, redirect: "manual", signal });
  const location = headers.get("location");
  return location === null ? undefined : new URL(location);
}
