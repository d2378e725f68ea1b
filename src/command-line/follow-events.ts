/** Follows a merchant's events over the dashboard's rpcs, through restarts of the service. Forwards nothing. */
import { setTimeout as pause } from "node:timers/promises";
import type { DashboardClient, EventView } from "../client/dashboard-client.ts";
import { RpcError } from "../client/rpc-error.ts";

/** An event, or the position of unwanted ones. Following resumes after it; an empty position is the beginning. */
export type Followed = { readonly event?: EventView; readonly position: string };

export type Following = {
  readonly scope: { readonly merchantId: string; readonly environment: "ENVIRONMENT_TEST" };
  /** All types if empty. */
  readonly eventTypes: readonly string[];
  /** The last event that is known; undefined to follow only new events. */
  readonly after: string | undefined;
  /** Called with the problem when the service stops answering, and with undefined when it answers again. */
  readonly onTrouble: (trouble: string | undefined) => void;
  readonly closing: AbortSignal;
};

// A person who has just paid looks at the terminal; a request costs the service a millisecond or two.
const lookEveryMs = 1_000;
const pageEvents = 100;
// A repeated request would be refused in the same way.
const refusals = /^(invalid_|missing_|unknown_field|key_type_not_allowed|not_found|unimplemented|state_conflict)/;

/**
 * Yields every event once, in order, until `closing`. Rejects when the service refuses; waits while it does not answer.
 */
export async function* followEvents(
  deliveries: DashboardClient["deliveries"],
  { scope, eventTypes, after, onTrouble, closing }: Following,
): AsyncGenerator<Followed> {
  const list = (request: object) =>
    untilAnswered(
      () => deliveries.listWebhookEvents({ ...scope, eventTypes: [...eventTypes], pageSize: pageEvents, ...request }),
      { onTrouble, closing },
    );
  let position = after ?? (await list({ fromNow: true }))?.lastEventId ?? "";
  // Every event from here on is returned.
  if (!closing.aborted) yield { position };
  while (!closing.aborted) {
    const page = await list({ afterEventId: position });
    for (const event of page?.events ?? []) {
      position = event.eventId ?? position;
      yield { event, position };
    }
    if (page?.lastEventId && page.lastEventId !== position) {
      position = page.lastEventId;
      yield { position };
    }
    if (!page?.more) await rest(closing);
  }
}

/** Returns the answer; undefined when `closing` came first. */
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
