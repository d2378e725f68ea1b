import { v7, validate, version } from "uuid";
import { describe, expect, it } from "vitest";
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
});
