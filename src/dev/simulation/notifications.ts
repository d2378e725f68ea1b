/** Delivers gateways' notifications until a process of the service has acknowledged them: late, twice, in any order. */
import type { Notification } from "../../gateways/connector.ts";
import { takeNotification } from "../../oversight/notifications/intake.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Dice } from "./dice.ts";
import type { Member } from "./member.ts";
import type { Authorization, Report, SimulatedGateway } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";

// Gateways repeat a notification without acknowledgement, at first after a few seconds.
const repeatMs = 15_000;

// Reports that a restore overtakes arrive while the session is in doubt.
const staleMs = 120_000;

/** Draws a time that is mostly the answer's: simultaneous messages meet in the database. */
export function soonMs(dice: Dice): number {
  return dice.chance(0.7) ? dice.pick([20, 200]) + dice.between(0, 5) : dice.between(1, 1_500);
}

type Arrived = Pick<Notification, "kind" | "attemptReference" | "gatewayReference">;

type RestoreTimes = { readonly backupAtMs: number; readonly atMs: number };

export class NotificationCarrier {
  readonly #stage: Stage;
  readonly #members: readonly Member[];
  readonly #longestMs: number;
  readonly #absentsFromMs: number | undefined;
  /** Notifications that have reached a process, even if it could not store them. */
  readonly #arrived: Arrived[] = [];
  /** The authorizations of those that were stored, with the time. */
  readonly #stored: { readonly gatewayReference: string; readonly atMs: number }[] = [];
  #sent = 0;
  #underWay = 0;

  /** `absentsFromMs`: reports that a void found nothing arrive from this time on, whenever they were sent. */
  constructor(
    stage: Stage,
    members: readonly Member[],
    { longestMs, absentsFromMs }: { longestMs: number; absentsFromMs: number | undefined },
  ) {
    this.#stage = stage;
    this.#members = members;
    this.#longestMs = longestMs;
    this.#absentsFromMs = absentsFromMs;
  }

  /** True while a notification or its repeat is not yet acknowledged. */
  get isCarrying(): boolean {
    return this.#underWay > 0;
  }

  get arrived(): readonly Arrived[] {
    return this.#arrived;
  }

  get stored(): readonly { readonly gatewayReference: string; readonly atMs: number }[] {
    return this.#stored;
  }

  report(connectionId: string, ...[kind, about, declined]: Parameters<Report>): void {
    const { attemptReference, gatewayReference, amountMinor, currency } = about;
    const amount = kind === "absent" ? undefined : { amountMinor, currency };
    this.send(connectionId, { kind, attemptReference, gatewayReference, amount, declined });
  }

  send(connectionId: string, notification: Omit<Notification, "notificationId">): void {
    const { timeline, dice, faults } = this.#stage;
    const about = notification.attemptReference || notification.gatewayReference;
    const notificationId = `notification-${++this.#sent}-of-${about}`;
    const body = Buffer.from(JSON.stringify({ notificationId, ...notification }));
    const strikes = (kind: "delayNotification" | "repeatNotification") => faults.strikes(kind, timeline.nowMs);
    const copies = strikes("repeatNotification") ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const drawnMs = strikes("delayNotification") ? dice.between(1_000, this.#longestMs) : soonMs(dice);
      const heldBackMs = notification.kind === "absent" ? (this.#absentsFromMs ?? 0) - timeline.nowMs : 0;
      const delayMs = heldBackMs > 0 ? heldBackMs + dice.between(0, staleMs) : drawnMs;
      this.#underWay++;
      timeline.after(delayMs, () => this.#deliver(connectionId, body, notification));
    }
  }

  #deliver(connectionId: string, body: Uint8Array, notification: Arrived): void {
    const { timeline, dice } = this.#stage;
    const { process, core } = dice.pick(this.#members);
    let isAcknowledged = false;
    timeline.after(repeatMs, () => {
      if (isAcknowledged) this.#underWay--;
      else this.#deliver(connectionId, body, notification);
    });
    if (!process.isRunning) return;
    process.note(() => `receives ${Buffer.from(body).toString()}`);
    this.#arrived.push(notification);
    takeNotification(core, encodeId("gc", connectionId), async () => ({ headers: {}, body })).then(
      () => {
        isAcknowledged = true;
        this.#stored.push({ gatewayReference: notification.gatewayReference, atMs: timeline.nowMs });
        for (const member of this.#members) member.onChange();
      },
      () => process.note(() => "does not acknowledge the notification"),
    );
  }
}

/** True if a gateway that captured an attempt's money has reported it, or can be read. */
export function isReportedCaptured(
  reference: string,
  gateways: readonly SimulatedGateway[],
  { arrived }: Pick<NotificationCarrier, "arrived">,
): boolean {
  const isIts = ({ attemptReference }: { readonly attemptReference: string }) => attemptReference === reference;
  const isReported = arrived.some((one) => isIts(one) && (one.kind === "captured" || one.kind === "already_captured"));
  return gateways.some(
    ({ shape, authorizations }) =>
      (shape.canRead || isReported) &&
      authorizations.some((one) => isIts(one) && (one.capturedUnder !== undefined || one.isByHand)),
  );
}

/**
 * True if a restore has lost every report of a hold at a gateway that cannot be read: nothing can find it ("Known and not
 * handled" in docs/safety.md).
 */
export function isReportLost(
  { attemptReference, gatewayReference }: Authorization,
  gateways: readonly SimulatedGateway[],
  { stored, restore }: Pick<NotificationCarrier, "stored"> & { restore: RestoreTimes | undefined },
): boolean {
  const gateway = gateways.find(({ authorizations }) =>
    authorizations.some(
      (one) => one.attemptReference === attemptReference && one.gatewayReference === gatewayReference,
    ),
  );
  const reports = stored.filter((one) => one.gatewayReference === gatewayReference);
  const isLost = ({ atMs }: { readonly atMs: number }) =>
    restore !== undefined && atMs >= restore.backupAtMs && atMs <= restore.atMs;
  return gateway?.shape.canRead === false && reports.length > 0 && reports.every(isLost);
}
