/** What tests of recovery do beside paying: gateways that say what a test wants, an authorize that comes late, and the rows that it all leaves. */
import type { Connector } from "../gateways/connector.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, cards } from "./core-fixture.ts";
import type { Attempt, PaymentSession } from "./entities.ts";
import { reconcileOnce } from "./reconcile.ts";
import { listWorkItems, type WorkItem } from "./work-items.ts";

/** The same core, with some answers of every connector replaced. */
export function withAnswers(core: Core, answers: Partial<Connector>): Core {
  return {
    ...core,
    inFlight: new Set(),
    bind: async (...attempt) => {
      const bound = await core.bind(...attempt);
      return bound && { ...bound, connector: replaced(bound.connector, answers) };
    },
  };
}

function replaced(connector: Connector, answers: Partial<Connector>): Connector {
  return new Proxy(connector, {
    get(target, name: keyof Connector) {
      if (name in answers) return answers[name];
      const own = target[name];
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}

/** The same core as an installation sees it that has lost its connectors. */
export function withoutConnectors(core: Core): Core {
  return { ...core, inFlight: new Set(), connectorOf: () => undefined, bind: async () => undefined };
}

/** The request of a worker that was paused between its commit and its send. Returns the gateway's reference of the hold. */
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

/** What the gateways have on record of one authorization. */
export async function statusAtGateway(fixture: CoreFixture, attempt: Attempt, id: string): Promise<string | undefined> {
  const found = await fixture.sandbox.authorizations(encodeId("att", attempt.id));
  return found.find((one) => one.id === id)?.status;
}

/** The work list's rows about a session, oldest first. */
export async function itemsOf(fixture: CoreFixture, session: PaymentSession): Promise<WorkItem[]> {
  const all = await listWorkItems(fixture.core.database, { includeClosed: true, after: undefined, count: 1_000 });
  return all.filter(({ sessionId }) => sessionId === session.id).toReversed();
}

/** Lets recovery work on a session now, whatever it waits for, until it waits again. */
export async function recover(fixture: CoreFixture, core: Core, session: PaymentSession): Promise<void> {
  const due = { name: "make_due", text: "UPDATE attempt SET next_try_at = app.clock() WHERE session_id = $1" };
  await fixture.core.database.query(due, [session.id]);
  await fixture.lapseLease(session);
  await reconcileOnce(core);
  await Promise.all(core.inFlight);
}
