/** A merchant's schedulers: they charge the renewals of an agreement beside the run's session, and each fires more than once. Its customer pays some by links. */
import type { SessionOwner } from "../../core/create-session.ts";
import { because } from "../../core/decide/because.ts";
import { attemptIdOf, deriveId } from "../../core/record/open-attempt.ts";
import { findCheckout } from "../../core/sessions.ts";
import { handleAssociatedData } from "../../core/stored-cards/claim-stored.ts";
import { verifyLinkToken } from "../../core/stored-cards/recovery/link-token.ts";
import { createRecoveryLink, openRecoveryLink } from "../../core/stored-cards/recovery/recovery-links.ts";
import { chargeAgreement } from "../../core/stored-cards/renewals/charge-agreement.ts";
import { recoverSessionsOnce, submitPayment } from "../../core/submit-payment.ts";
import type { Declined } from "../../gateways/declines.ts";
import { renewalTriesMax } from "../../limits.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret, seal, sha256 } from "../../platform/secrets.ts";
import type { Dice } from "./dice.ts";
import type { Member } from "./member.ts";
import { sealing } from "./simulated-core.ts";
import type { Authorization } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";
import type { SqlServer } from "./sql-server.ts";

/** A call of a scheduler. Its key is new, or one that it has used before. */
type Firing = {
  readonly atMs: number;
  readonly renewal: number;
  readonly key: number;
  readonly patienceMs: number;
  /** The number of times that it is repeated. */
  readonly left: number;
};

/** The schedulers of a run, and the agreement. */
export type SchedulersPlan = {
  readonly firings: readonly Firing[];
  /** The first payment's account continues by itself, and no other one knows the payment by the network's name. */
  readonly hasOwnChainOnly: boolean;
  /** The bank stops the card with the first request of this renewal. */
  readonly stopsWith: number | undefined;
  readonly firingsAfterRestore: readonly Firing[];
  /** The customer's payments by links, each in a separate tab: `key` names the card. */
  readonly links: readonly Firing[];
};

/** Share of the runs with schedulers: each plays several payments. Few runs have a restore. */
const scheduledRuns = 0.03;
const restoredRuns = 0.5;
const linkedRuns = 0.5;

/**
 * Draws the schedulers of a run; none in most runs. After a restore they fire again, because they do not know what it
 * has lost.
 */
export function drawSchedulers(dice: Dice, restore: { readonly atMs: number } | undefined): SchedulersPlan | undefined {
  if (!dice.chance(restore ? restoredRuns : scheduledRuns)) return undefined;
  const renewals = dice.between(1, 2);
  const withinMs = dice.pick([5, 2_000, 30_000, 120_000]);
  const firing = (fromMs: number) => ({
    atMs: fromMs + dice.between(0, withinMs),
    renewal: dice.between(1, renewals),
    key: dice.between(1, 6),
    patienceMs: dice.pick([0, 1_000, 20_000]),
    left: dice.between(0, 2),
  });
  return {
    firings: Array.from({ length: dice.between(4, 8) }, () => firing(0)),
    hasOwnChainOnly: dice.chance(0.3),
    stopsWith: dice.chance(0.3) ? 1 : undefined,
    firingsAfterRestore: restore ? Array.from({ length: dice.between(2, 4) }, () => firing(restore.atMs + 1_000)) : [],
    links: dice.chance(linkedRuns)
      ? Array.from({ length: dice.between(1, 4) }, () => firing(restore && dice.chance(0.5) ? restore.atMs + 1_000 : 0))
      : [],
  };
}

/** The answer of every gateway once the bank has stopped a card. */
export const stoppedCard: Declined = {
  type: "declined",
  kind: "HARD_DECLINE",
  stop: "scheme_rule",
  declineCode: "lost_or_stolen",
  gatewayCode: "stolen_card",
};

type Parts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly server: SqlServer;
  readonly owner: SessionOwner;
  readonly connectionIds: readonly string[];
  readonly seed: number;
  readonly plan: SchedulersPlan | undefined;
  readonly authorizations: () => readonly Authorization[];
  readonly violate: (violation: string | undefined) => void;
};

const lookEveryMs = 10_000;
const charge = { amountMinor: 900, currency: "EUR" };
const consent = { template: "agreement.1", locale: "en" };

/** Plays the schedulers of a run, if it has any. */
export class Schedulers {
  readonly #parts: Parts;
  /** The renewals by the references of the attempts that may be made for them. */
  readonly #renewals = new Map<string, number>();
  /** The renewals that a link's customer pays with another card. */
  readonly #byLink = new Set<string>();
  readonly #agreementId: string;
  readonly #methodId: string;
  readonly #paid = new Set<number>();
  /** The keys whose sessions have ended. */
  readonly #ended = new Set<string>();
  #toFire = 0;
  #isActing: boolean;
  #isRestored = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#isActing = parts.plan !== undefined;
    const unique = parts.seed.toString(16).padStart(12, "0");
    this.#agreementId = `00000000-0000-7000-8000-${unique}`;
    this.#methodId = `00000000-0000-7000-9000-${unique}`;
  }

  /** True until every session of theirs has ended. */
  get isActing(): boolean {
    return this.#isActing;
  }

  /** True if they play sessions beside the run's. */
  get hasSessions(): boolean {
    return this.#parts.plan !== undefined;
  }

  /** Stores the agreement, and lets the schedulers fire. */
  async start(): Promise<void> {
    const { plan, server, owner, connectionIds, stage } = this.#parts;
    if (plan === undefined) return;
    for (const renewal of [1, 2])
      for (let nth = 1; nth <= renewalTriesMax; nth++)
        for (const connectionId of connectionIds)
          for (const round of [0, 1, 2])
            for (const restores of [0, 1])
              for (const by of ["renewal", "recovery"]) {
                const sessionId = deriveId(this.#agreementId, `${by} ${restores} ${nth} renewal ${renewal}`);
                const reference = encodeId("att", attemptIdOf({ sessionId, connectionId, round }));
                this.#renewals.set(reference, renewal);
                if (by === "recovery") this.#byLink.add(reference);
              }
    const handle = `vc_${this.#methodId}`;
    const hash = sha256(handle);
    const { merchantId } = owner;
    await server.asReplica({ ...removeEarlier, values: [this.#agreementId, this.#methodId] });
    await server.asReplica({
      text: `WITH method AS (
          INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id)
          VALUES ($1, $2, 'customer', 'visa', '4242', 3, 2031, $1, $3, $4, $1))
        INSERT INTO agreement (id, merchant_id, customer_ref, method_id, type, text, currency, status, session_id, consented_at,
          network_transaction_id, own_connection_id, own_customer, own_method)
        VALUES ($5, $2, 'customer', $1, 'UNSCHEDULED', 'agreed', 'EUR', 'ACTIVE', $1, app.clock(), $6, $7, 'cus', 'pm')`,
      values: [
        ...[this.#methodId, merchantId, seal(sealing, handleAssociatedData(merchantId, hash), handle), hash],
        ...[this.#agreementId, plan.hasOwnChainOnly ? null : "network id", connectionIds[0]],
      ],
    });
    for (const firing of [...plan.firings, ...plan.firingsAfterRestore])
      this.#after(firing.atMs, () => this.#fire(firing));
    for (const link of plan.links) this.#after(link.atMs, () => this.#payByLink(link));
    stage.timeline.after(lookEveryMs, () => this.#lookAt());
  }

  async sessionIds(): Promise<readonly string[]> {
    const text = "SELECT session_id AS id FROM stored_payment WHERE agreement_id = $1";
    const { rows } = await this.#parts.server.observe({ name: "renewal_sessions", text, values: [this.#agreementId] });
    return (rows as { id: string }[]).map(({ id }) => id);
  }

  /** Their knowledge of renewals may be lost. */
  onRestored(): void {
    this.#isRestored = true;
    this.#paid.clear();
    this.#ended.clear();
  }

  /** Reports whether a request is about a renewal of theirs. */
  sees(attemptReference: string): boolean {
    return this.#renewals.has(attemptReference);
  }

  /** Reports whether the bank has stopped the card with this renewal. */
  isStopped(attemptReference: string): boolean {
    const renewal = this.#renewals.get(attemptReference);
    return renewal !== undefined && this.#parts.plan?.stopsWith === renewal && !this.#byLink.has(attemptReference);
  }

  /** Checks the money that the gateways have taken for each renewal. */
  check(): void {
    for (const renewal of new Set(this.#renewals.values())) {
      const captures = this.#capturesOf(renewal);
      if (captures > 1) this.#parts.violate(`a renewal was captured ${captures} times`);
    }
  }

  #authorizationsOf(renewal: number): readonly Authorization[] {
    const all = this.#parts.authorizations();
    return all.filter(({ attemptReference }) => this.#renewals.get(attemptReference) === renewal);
  }

  #capturesOf(renewal: number): number {
    return this.#authorizationsOf(renewal).reduce((sum, { captures }) => sum + captures, 0);
  }

  /** Reports whether a gateway has captured it, or has accepted a capture that failed afterwards. */
  #isTaken(renewal: number): boolean {
    return this.#authorizationsOf(renewal).some(({ captures, captureFailed }) => captures > 0 || captureFailed);
  }

  #after(ms: number, fire: () => void): void {
    this.#toFire++;
    this.#parts.stage.timeline.after(ms, () => {
      this.#toFire--;
      fire();
    });
  }

  /** Charges a renewal, and fires again where that brought no payment: under another key once its session has ended. */
  #fire(firing: Firing): void {
    const { renewal, key, patienceMs, left } = firing;
    const { stage, members, owner, violate } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    const again = stage.dice.between(1_000, 60_000);
    if (left > 0)
      this.#after(again, () =>
        this.#fire({ ...firing, left: left - 1, key: this.#ended.has(`${renewal} ${key}`) ? key + 10 : key }),
      );
    if (!process.isRunning) return;
    const gone = new AbortController();
    stage.timeline.after(patienceMs, () => gone.abort());
    const renewalRef = `renewal ${renewal}`;
    const wasPaid = this.#paid.has(renewal);
    process.note(() => `is to charge ${renewalRef} under key ${key}`);
    const orderRef = `${renewalRef} of seed ${this.#parts.seed}`;
    const asked = { agreementId: this.#agreementId, ...charge, orderRef, renewalRef, key: `key ${renewal} ${key}` };
    chargeAgreement(core, owner, { ...asked, signal: gone.signal }).then(
      ({ payment: { session }, replayed }) => {
        process.note(() => `answers the scheduler: ${session.status}`);
        if (wasPaid && !replayed) violate("a paid renewal was charged again");
        if (session.status !== "CREATED") this.#ended.add(`${renewal} ${key}`);
        if (session.status !== "SUCCEEDED") return;
        this.#paid.add(renewal);
        if (!this.#isTaken(renewal)) violate("a renewal is paid, and nothing was captured");
      },
      (error: Error) => process.note(() => `answers the scheduler: ${error.message}`),
    );
  }

  /** Pays a renewal as its customer does who has got the link, and again in another tab. */
  #payByLink(link: Firing): void {
    const { renewal, key, patienceMs, left } = link;
    const { stage, members, owner, seed, violate } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    const again = stage.dice.between(0, 60_000);
    if (left > 0) this.#after(again, () => this.#payByLink({ ...link, left: left - 1, key: key + 10 }));
    if (!process.isRunning) return;
    const gone = new AbortController();
    stage.timeline.after(patienceMs, () => gone.abort());
    const renewalRef = `renewal ${renewal}`;
    const wasPaid = this.#paid.has(renewal);
    process.note(() => `is to show the link of ${renewalRef}`);
    const wanted = { merchantId: owner.merchantId, agreementId: this.#agreementId, ...charge, renewalRef };
    const pay = async () => {
      const { token } = await createRecoveryLink(core, { ...wanted, orderRef: `${renewalRef} of seed ${seed}` });
      const named = verifyLinkToken(core.clientSecretKeys, token.expose())!;
      const opened = await openRecoveryLink(core, named, { pageOrigin: "https://pay.example" });
      if (opened?.session === undefined) return `the link is ${opened?.refused ?? "unknown"}`;
      const found = await findCheckout(core, opened.session.sessionId);
      if (found === undefined) return "the session is lost";
      const vaultToken = new Secret(`link ${renewal} ${key} of seed ${seed}`);
      const { session, payer } = found;
      const { status } = await submitPayment(core, { session, payer, vaultToken, consent, signal: gone.signal });
      if (status === "SUCCEEDED" && wasPaid && !this.#isRestored) violate("a paid renewal was paid again by its link");
      if (status === "SUCCEEDED" && !this.#isTaken(renewal))
        violate("a renewal is paid by its link, and nothing was captured");
      return status;
    };
    pay().then(
      (answer) => process.note(() => `answers the link's page: ${answer}`),
      (error: Error) => process.note(() => `answers the link's page: ${error.message}`),
    );
  }

  /** Lets a process take over from a dead one, until every renewal that was begun has ended, and looks at the rows. */
  async #lookAt(): Promise<void> {
    const { server, stage, members, violate } = this.#parts;
    const { rows } = await server.observe({
      ...stateOf,
      values: [this.#agreementId, because.foundAfterRestore],
    });
    const { open, paid, stopped, strayed } = rows[0] as {
      open: number;
      paid: number;
      stopped: number;
      strayed: number;
    };
    if (stopped > 0) violate("a stopped card was tried");
    if (strayed > 0) violate("a gateway got an agreement that it cannot continue");
    this.#isActing = open > 0 || this.#toFire > 0;
    if (!this.#isActing) {
      const captured = [1, 2].filter((renewal) => this.#isTaken(renewal)).length;
      // Renewals that a restore has lost are found when the renewal is charged again, which the card's stop may forbid.
      const isKnown = this.#isRestored ? captured >= paid : captured === paid;
      if (!isKnown) violate(`${captured} renewals were captured, and ${paid} are paid`);
      return;
    }
    stage.timeline.after(lookEveryMs, () => this.#lookAt());
    const { process, core } = stage.dice.pick(members);
    if (process.isRunning) recoverSessionsOnce(core).catch(() => {});
  }
}

// A seed may be played again, after runs with restores, whose number is a part of names.
const removeEarlier = {
  name: "remove_earlier_agreement",
  text: `
    WITH tries AS (DELETE FROM renewal_try WHERE agreement_id = $1), links AS (DELETE FROM recovery_link WHERE agreement_id = $1), renewals AS (DELETE FROM renewal WHERE agreement_id = $1),
      agreements AS (DELETE FROM agreement WHERE id = $1), methods AS (DELETE FROM payment_method WHERE id = $2),
      declines AS (DELETE FROM card_decline WHERE fingerprint = $2), states AS (DELETE FROM card_state WHERE fingerprint = $2)
    UPDATE replica_mark SET restores = 0`,
};

const stateOf = {
  name: "state_of_renewals",
  text: `
    SELECT count(DISTINCT s.id) FILTER (WHERE s.phase = 'PROCESSING')::int AS open,
      count(DISTINCT r.renewal_ref) FILTER (WHERE r.paid_session_id IS NOT NULL)::int AS paid,
      count(*) FILTER (WHERE y.role = 'RENEWAL' AND t.started_at > c.stopped_at AND t.because <> $2)::int AS stopped,
      count(*) FILTER (WHERE y.role = 'RENEWAL' AND t.connection_id <> y.own_connection_id AND y.network_transaction_id IS NULL AND t.because <> $2)::int AS strayed
    FROM agreement a JOIN payment_method m ON m.id = a.method_id JOIN renewal r ON r.agreement_id = a.id
      JOIN stored_payment y ON y.agreement_id = a.id AND y.renewal_ref = r.renewal_ref JOIN payment_session s ON s.id = y.session_id
      LEFT JOIN attempt t ON t.session_id = s.id LEFT JOIN card_state c ON c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint
    WHERE a.id = $1`,
};
