/** Times a submission after a quiet time, in which connections, caches and processes have had nothing to do. */
import type { Child } from "../testing/child-process.ts";
import type { PaymentOrder, Submitted } from "./payment-load.ts";

/** The duration of a submission after a quiet time, and of those that follow it at once, in milliseconds. */
export type QuietSample = { readonly quietMs: number; readonly busyMs: readonly number[] };

// Enough for a median beside the submission after the quiet time.
const busyOfSample = 10;

export async function prepareQuiet(load: Child, order: PaymentOrder): Promise<void> {
  await load.ask("prepare", { ...order, count: 1 + busyOfSample });
}

/** Submits the prepared sessions one after the other. Throws if one did not end as its card determines. */
export async function takeQuietSample(load: Child, order: PaymentOrder): Promise<QuietSample> {
  const { latenciesMs, failures } = await load.ask<Submitted>("submit", order);
  const [quietMs, ...busyMs] = latenciesMs;
  if (failures > 0 || quietMs === undefined) throw new Error(`${failures} payments after a quiet time did not succeed`);
  return { quietMs, busyMs };
}
