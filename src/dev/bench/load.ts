/** Generates load with a fixed number of callers, each of which sends its next request on an answer. */

export type LoadOrder = {
  /** `host:port` of the server. */
  readonly address: string;
  readonly secretKey: string;
  readonly callers: number;
  readonly seconds: number;
};

/** The measurements. `answer` is the answer of call 1, as text. */
export type Load = {
  readonly requests: number;
  readonly failures: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly answer: string;
};

export const order = { amountMinor: 4900, currency: "EUR", customerEmail: "customer@example.com" } as const;

/** Keeps `callers` calls under way; each call throws on a wrong answer. */
export async function generateLoad(
  { callers, seconds }: Pick<LoadOrder, "callers" | "seconds">,
  call: (number: number) => Promise<string>,
): Promise<Load> {
  const times: number[] = [];
  let failures = 0;
  let number = 0;
  let answer = "";
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const runCaller = async () => {
    for (let now = performance.now(); now < endsAt; ) {
      const askedAt = now;
      const mine = ++number;
      const text = await call(mine).catch(() => undefined);
      now = performance.now();
      times.push(now - askedAt);
      if (text === undefined) failures++;
      else if (mine === 1) answer = text;
    }
  };
  await Promise.all(Array.from({ length: callers }, runCaller));
  times.sort((left, right) => left - right);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const elapsedMs = performance.now() - startedAt;
  return { requests: times.length, failures, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99), answer };
}
