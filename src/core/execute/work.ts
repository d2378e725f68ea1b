/** A claimed session that one process works on, and the way in which a step commits. */

import type { Shopper } from "../../gateways/connector.ts";
import type { Tx } from "../../platform/database.ts";
import type { AttemptId, AuthenticationId, SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { inOrder } from "../orders/order-winner.ts";
import type { Lease } from "../record/lease.ts";
import { queryPayment, wholeSession } from "../record/load-session.ts";
import type { Payment } from "../rows/payment.ts";

/**
 * The result of a step: the session's committed rows, and the attempt that it opened for the caller to continue with.
 */
export type Reloaded = {
  readonly loaded: Payment;
  readonly openedAttemptId?: AttemptId | AuthenticationId | undefined;
};

/** The result of a change, as `commitAndReload` takes it. */
export type Changed = {
  readonly loaded?: Payment | undefined;
  readonly openedAttemptId?: AttemptId | AuthenticationId | undefined;
};

/** A claimed session that one process works on. */
export type Work = {
  readonly core: Core;
  readonly lease: Lease;
  readonly loaded: Payment;
  /** Undefined if another process received the submission. */
  readonly shopper?: Shopper | undefined;
};

/**
 * Runs `change` in a transaction and reads the session back in the same round trip as COMMIT. `change` returns the id
 * of the attempt that it opened, if any, and the session if it has read it after its last change of it. A change that names a
 * winner runs again with the id of the session that has the order, if another one has.
 */
export async function commitAndReload(
  core: Core,
  { sessionId }: Pick<Lease, "sessionId">,
  change: (tx: Tx, payerId?: SessionId) => Changed | Promise<Changed>,
): Promise<Reloaded> {
  const { changed, reading } = await inOrder((payerId) =>
    core.database.transaction(async (tx) => {
      const changed = await change(tx, payerId);
      return { changed, reading: changed.loaded ? undefined : queryPayment(tx, sessionId) };
    }),
  );
  const { loaded, openedAttemptId } = changed;
  if (loaded !== undefined) return { loaded, openedAttemptId };
  const [row] = (await reading?.rows) ?? [];
  if (row === undefined) throw new Error("the session no longer exists");
  return { loaded: await wholeSession(core.database, row), openedAttemptId };
}
