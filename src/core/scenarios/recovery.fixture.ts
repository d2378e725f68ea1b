/** Steps for tests of recovery: gateways with chosen answers, a late authorization, and the rows that they leave. */
import type { Connector } from "../../gateways/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Turn } from "../../platform/loop.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { listWorkItems, type WorkItem } from "../record/work-items.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { recoverSessionsOnce } from "../submit-payment.ts";
import { type CoreFixture, cards } from "./core.fixture.ts";

/** Returns the core with these answers, or answers made of each true connector, instead of its connectors' own. */
export function withAnswers(core: Core, answers: Partial<Connector> | ((own: Connector) => Partial<Connector>)): Core {
  return {
    ...core,
    inFlight: new Set(),
    bind: async (...attempt) => {
      const bound = await core.bind(...attempt);
      if (bound === undefined) return undefined;
      const given = typeof answers === "function" ? answers(bound.connector) : answers;
      return { ...bound, connector: replaced(bound.connector, given) };
    },
  };
}

/** Runs turns until nothing is left to do, or `closing`. */
export async function drain(turn: Turn, closing = new AbortController().signal): Promise<void> {
  while (!closing.aborted && (await turn(closing)));
}

export function replaced<Target extends object>(whole: Target, members: Partial<Target>): Target {
  return new Proxy(whole, {
    get(target, name) {
      if (name in members) return members[name as keyof Target];
      const own = target[name as keyof Target];
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}

/** Returns the same core in an installation that has lost its connectors. */
export function withoutConnectors(core: Core): Core {
  return { ...core, inFlight: new Set(), connectorOf: () => undefined, bind: async () => undefined };
}

/**
 * Sends the request of a worker that was paused between its commit and its send. Returns the gateway's reference of the
 * hold.
 */
export async function authorizeLate(fixture: CoreFixture, attempt: Attempt): Promise<string> {
  fixture.useCard(cards.approved);
  const { core } = fixture;
  const bound = await core.bind(attempt.connectionId, attempt.gateway, attempt.credentialVersion);
  const attemptReference = encodeId("att", attempt.id);
  const { outcome } = await bound!.connector.authorize(
    {
      credentials: bound!.credentials,
      timeoutMs: fixture.core.timing.attemptTimeoutMs,
      idempotencyKey: `${attemptReference}_late`,
    },
    {
      amountMinor: attempt.amountMinor,
      currency: attempt.currency,
      attemptReference,
      sessionId: encodeId("ps", attempt.sessionId),
      vaultToken: new Secret("tok_1"),
      orderRef: "late",
    },
  );
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${JSON.stringify(outcome)}`);
  return outcome.gatewayReference;
}

export async function statusAtGateway(fixture: CoreFixture, attempt: Attempt, id: string): Promise<string | undefined> {
  const found = await fixture.sandbox.authorizations(encodeId("att", attempt.id));
  return found.find((one) => one.id === id)?.status;
}

/** Returns the rows of the work queue about a session, oldest first. */
export async function itemsOf(fixture: CoreFixture, session: PaymentSession): Promise<WorkItem[]> {
  const all = await listWorkItems(fixture.core.database, { includeClosed: true, after: undefined, count: 1_000 });
  return all.filter(({ sessionId }) => sessionId === session.id).toReversed();
}

/** Runs recovery on a session now, whatever it waits for, until it waits again and its notifications are processed. */
export async function recover(fixture: CoreFixture, core: Core, session: PaymentSession): Promise<void> {
  const due = { name: "make_due", text: "UPDATE attempt SET next_retry_at = app.clock() WHERE session_id = $1" };
  await fixture.asOwner.query(due, [session.id]);
  await fixture.lapseLease(session);
  await recoverSessionsOnce(core);
  await Promise.all(core.inFlight);
  await fixture.sandbox.quiet();
}
