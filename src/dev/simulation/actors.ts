/** Everybody who acts in a run beside the service and its gateways: customers, merchants, and other payments. */
import type { Core } from "../../core/core.ts";
import type { NewSession, SessionOwner } from "../../core/create-session.ts";
import { Braking } from "./braking.ts";
import { Customer } from "./customer.ts";
import { DisputeMerchant } from "./dispute-merchant.ts";
import { LaterMerchant } from "./later-merchant.ts";
import type { Member } from "./member.ts";
import { Merchant } from "./merchant.ts";
import type { Observed } from "./observed.ts";
import { OneOrder } from "./one-order.ts";
import { OtherPayments } from "./other-payments.ts";
import type { Schedule } from "./schedule.ts";
import { Shop } from "./shop.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";
import type { ProviderWorld } from "./simulated-provider.ts";
import type { SimulationDatabase } from "./simulation-database.ts";

type Parts = {
  readonly seed: number;
  readonly epochMs: number;
  readonly stage: Stage;
  readonly database: SimulationDatabase;
  readonly schedule: Schedule;
  readonly owner: SessionOwner;
  readonly newSession: NewSession;
  readonly members: readonly Member[];
  readonly gateways: readonly SimulatedGateway[];
  readonly provider: ProviderWorld;
  /** Returns a core that bypasses all processes. */
  readonly direct: () => Core;
  readonly observed: () => Observed;
  readonly isRestored: () => boolean;
  readonly onByHand: () => void;
  readonly violate: (violation: string | undefined) => void;
  readonly note: (what: string) => void;
};

export type Actors = ReturnType<typeof createActors>;

export function createActors(parts: Parts) {
  const { database, schedule, newSession, gateways, stage, direct } = parts;
  const { authentication, submissions } = schedule;
  const { server, merchantId, connectionIds } = database;
  const gatewayOf = (connectionId: string) => gateways[connectionIds.indexOf(connectionId)]!;
  const common = { ...parts, server, merchantId, gatewayOf };
  const authorizations = () => gateways.flatMap((one) => one.authorizations);
  const others = new OtherPayments({ ...common, connectionIds, authorizations });
  return {
    others,
    customer: new Customer({
      ...common,
      plans: authentication?.customers ?? [],
      forgesAtMs: authentication?.forgesAtMs ?? [],
    }),
    later: new LaterMerchant({ ...common, plan: schedule.later }),
    order: new OneOrder({
      ...common,
      timeline: stage.timeline,
      plan: schedule.rival,
      orderRef: newSession.orderRef,
      core: direct,
      authorizations: () => others.withoutOthers(),
      refundsMade: () => gateways.flatMap(({ refunds }) => refunds.made),
    }),
    shop: new Shop({ ...common, plan: schedule.shop, order: newSession }),
    braking: new Braking({ ...common, plan: schedule.braking, submittedAtMs: submissions[0]!.atMs }),
    merchant: new Merchant({ ...common, plan: schedule.refunds }),
    disputing: new DisputeMerchant({ ...common, plan: schedule.disputes }),
  };
}
