import { v7, validate, version } from "uuid";
import { describe, expect, it } from "vitest";
import type { AttemptId, ConnectionId, MerchantId, SessionId } from "../../platform/ids.ts";
import { candidatesIn } from "../decide/plan-route.ts";
import { attemptIdOf } from "./open-attempt.ts";

describe("attemptIdOf()", () => {
  it("returns the same id for the same session and connection, and another id for any other pair", () => {
    const [sessionId, connectionId, other] = [v7(), v7(), v7()];
    const id = attemptIdOf({ sessionId, connectionId });
    expect(attemptIdOf({ sessionId, connectionId })).toBe(id);
    expect(
      new Set([id, attemptIdOf({ sessionId, connectionId: other }), attemptIdOf({ sessionId: other, connectionId })])
        .size,
    ).toBe(3);
  });

  it("returns a UUIDv7 with the session's timestamp", () => {
    for (let index = 0; index < 100; index++) {
      const sessionId = v7();
      const id = attemptIdOf({ sessionId, connectionId: v7() });
      expect([validate(id), version(id), id.slice(0, 13)]).toEqual([true, 7, sessionId.slice(0, 13)]);
    }
  });

  it("refuses ids of other tables when it is compiled", () => {
    const [sessionId, connectionId, merchantId]: [SessionId, ConnectionId, MerchantId] = [v7(), v7(), v7()];
    const attemptId: AttemptId = attemptIdOf({ sessionId, connectionId });
    expect([
      // @ts-expect-error An attempt is no session.
      attemptIdOf({ sessionId: attemptId, connectionId }),
      // @ts-expect-error A merchant is no connection.
      attemptIdOf({ sessionId, connectionId: merchantId }),
    ]).not.toContain(attemptId);
    // @ts-expect-error A merchant is no connection.
    expect(candidatesIn([], [merchantId])).toEqual(candidatesIn([], [connectionId]));
  });
});
