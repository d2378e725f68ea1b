/** Customer authentications as their public messages, and the action that a customer's page shows next. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { NextAction_Framing, NextAction_Kind, type NextActionSchema } from "../../gen/payments/v1/checkout_pb.ts";
import {
  Authentication_By,
  Authentication_Flow,
  Authentication_Liability,
  Authentication_Status,
  type AuthenticationSchema,
  type AwaitingCustomerSchema,
  Challenge_EndedBy,
  type ChallengeSchema,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { challengeOf } from "../core/authentication/after-authentication.ts";
import type { OpenAction } from "../core/customer-actions.ts";
import type { Attempt, Authentication } from "../core/rows/entities.ts";
import type { Payment } from "../core/rows/payment.ts";
import { encodeId } from "../platform/ids.ts";

/** Returns a session's authentications, and the customer's time while an action is open. */
export function describeAuthentications({ session, attempts, authentications }: Payment): {
  readonly authentications: MessageInitShape<typeof AuthenticationSchema>[];
  readonly awaitingCustomer?: MessageInitShape<typeof AwaitingCustomerSchema>;
} {
  const open = authentications.find(({ status }) => status === "AWAITING_CUSTOMER" || status === "METHOD");
  const since = session.awaitingSince;
  return {
    authentications: authentications.map((authentication) =>
      toAuthentication(
        authentication,
        attempts.find(({ id }) => id === authentication.attemptId),
      ),
    ),
    ...(open &&
      since && {
        awaitingCustomer: { since: timestampFromDate(since), until: timestampFromDate(open.deadlineAt) },
      }),
  };
}

function toAuthentication(
  authentication: Authentication,
  attempt: Attempt | undefined,
): MessageInitShape<typeof AuthenticationSchema> {
  const { status, flow, liability, completedAt } = authentication;
  return {
    authenticationId: encodeId("atn", authentication.id),
    sequence: authentication.sequence,
    by: Authentication_By[authentication.provider === null ? "GATEWAY" : "PROVIDER"],
    ...present("gateway", attempt?.gateway),
    ...present("provider", authentication.provider),
    connectionId: encodeId("gc", authentication.connectionId),
    ...(authentication.attemptId && { attemptId: encodeId("att", authentication.attemptId) }),
    because: authentication.because,
    status: Authentication_Status[status],
    flow: Authentication_Flow[flow],
    ...present("version", authentication.version),
    ...present("transStatus", authentication.transStatus),
    ...present("transStatusReason", authentication.transStatusReason),
    ...present("eci", authentication.eci),
    ...present("dsTransactionId", authentication.dsTransactionId),
    ...(liability && { liability: Authentication_Liability[liability] }),
    ...(flow !== "FRICTIONLESS" && { challenge: toChallenge(authentication) }),
    startedAt: timestampFromDate(authentication.startedAt),
    ...(completedAt && { completedAt: timestampFromDate(completedAt) }),
  };
}

function toChallenge(authentication: Authentication): MessageInitShape<typeof ChallengeSchema> {
  const { shownAt, answeredAt } = authentication;
  const { endedBy, durationMs } = challengeOf(authentication);
  return {
    ...(shownAt && { shownAt: timestampFromDate(shownAt) }),
    ...(answeredAt && { answeredAt: timestampFromDate(answeredAt) }),
    ...(endedBy && { endedBy: Challenge_EndedBy[endedBy] }),
    ...(durationMs !== undefined && { durationMs: BigInt(durationMs) }),
  };
}

function present<Name extends string, Value>(name: Name, value: Value): { [key in Name]?: NonNullable<Value> } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { [key in Name]?: NonNullable<Value> };
}

const framings = {
  frame: NextAction_Framing.FRAME,
  window: NextAction_Framing.WINDOW,
  hidden: NextAction_Framing.HIDDEN,
} as const;

export function toNextAction({
  id,
  kind,
  framing,
  isOpened,
  shownCount,
  leftMs,
}: OpenAction): MessageInitShape<typeof NextActionSchema> {
  return {
    authenticationId: encodeId("atn", id),
    kind: NextAction_Kind[kind],
    framing: framings[framing],
    opened: isOpened,
    shownCount,
    expiresInSeconds: Math.ceil(leftMs / 1_000),
  };
}
