/** Follows a merchant's events over the dashboard's rpcs, through restarts of the service. Forwards nothing. */
import { setTimeout as pause } from "node:timers/promises";
import type { DashboardClient, EventView } from "../client/dashboard-client.ts";
import { RpcError } from "../client/rpc-error.ts";

/** An event, or only a place: the first one, or past events that are not wanted. One goes on after it; empty: at the first. */
export type Followed = { readonly event?: EventView; readonly place: string };

/** Whose events, from which one on. */
export type Following = {
  readonly scope: { readonly merchantId: string; readonly environment: "ENVIRONMENT_TEST" };
  /** None: every type. */
  readonly eventTypes: readonly string[];
  /** The last event that is known; undefined: only what comes from now on. */
  readonly after: string | undefined;
  /** The service does not answer, or does so again. */
  readonly onTrouble: (trouble: string | undefined) => void;
  readonly closing: AbortSignal;
};

// A person who has just paid looks at the terminal; a look costs the service a millisecond or two.
const lookEveryMs = 1_000;
const pageEvents = 100;
// Another try would be refused alike.
const refusals = /^(invalid_|missing_|unknown_field|key_type_not_allowed|not_found|unimplemented|state_conflict)/;

/** Every event once, in order, until `closing`. Rejects when the service refuses; waits while it does not answer. */
export async function* followEvents(
  deliveries: DashboardClient["deliveries"],
  { scope, eventTypes, after, onTrouble, closing }: Following,
): AsyncGenerator<Followed> {
  const ask = (request: object) =>
    untilAnswered(
      () => deliveries.listWebhookEvents({ ...scope, eventTypes: [...eventTypes], pageSize: pageEvents, ...request }),
      { onTrouble, closing },
    );
  let place = after ?? (await ask({ fromNow: true }))?.lastEventId ?? "";
  // Whatever happens from here on is brought.
  if (!closing.aborted) yield { place };
  while (!closing.aborted) {
    const page = await ask({ afterEventId: place });
    for (const event of page?.events ?? []) {
      place = event.eventId ?? place;
      yield { event, place };
    }
    if (page?.lastEventId && page.lastEventId !== place) {
      place = page.lastEventId;
      yield { place };
    }
    if (!page?.more) await rest(closing);
  }
}

/** The answer; undefined when `closing` came first. */
async function untilAnswered<Answer>(
  call: () => Promise<Answer>,
  { onTrouble, closing }: Pick<Following, "onTrouble" | "closing">,
): Promise<Answer | undefined> {
  for (let troubled = false; !closing.aborted; troubled = true) {
    try {
      const answer = await unlessClosing(call(), closing);
      if (troubled) onTrouble(undefined);
      return answer;
    } catch (error) {
      if (!(error instanceof RpcError) || refusals.test(error.code)) throw error;
      if (!troubled) onTrouble(error.message);
      await rest(closing);
    }
  }
  return undefined;
}

async function unlessClosing<Answer>(answer: Promise<Answer>, closing: AbortSignal): Promise<Answer | undefined> {
  const { promise: ended, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  closing.addEventListener("abort", end);
  try {
    return await Promise.race([answer, ended]);
  } finally {
    closing.removeEventListener("abort", end);
  }
}

async function rest(closing: AbortSignal): Promise<void> {
  await pause(lookEveryMs, undefined, { signal: closing }).catch(() => {});
}
