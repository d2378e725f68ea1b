/** Braking: core → proto. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { BrakingPeriodSchema, BrakingSchema } from "../../gen/dashboard/v1/braking_pb.ts";
import type { BrakingPeriod, BrakingState } from "../core/card-testing/held-braking.ts";

export function brakingMessage({ now, hold }: BrakingState): MessageInitShape<typeof BrakingSchema> {
  return {
    ...(now && { now: periodMessage(now) }),
    ...(hold && { hold: { on: hold.isOn, until: timestampFromDate(hold.until), heldBy: hold.heldBy } }),
  };
}

export function periodMessage(period: BrakingPeriod): MessageInitShape<typeof BrakingPeriodSchema> {
  const { beganAt, endedAt, cards, threshold, begunBy } = period;
  return {
    beganAt: timestampFromDate(beganAt),
    ...(endedAt && { endedAt: timestampFromDate(endedAt) }),
    cards,
    threshold,
    begunBy: begunBy ?? "",
  };
}
