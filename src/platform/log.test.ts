import { describe, expect, it } from "vitest";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { encodeId } from "./ids.ts";
import { createLogger, type Logger } from "./log.ts";
import type { LogFields } from "./log-fields.ts";

const uuid = "01933a3c-9b1f-7d3a-8a55-0123456789ab";

function linesOf(use: (log: Logger) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  use(createLogger({ name: "edge", level: "info", write: (line) => lines.push(line) }));
  return lines.map((line) => JSON.parse(line));
}

describe("createLogger()", () => {
  it("writes level, time, process and the given fields", () => {
    const [line] = linesOf((log) =>
      log.child({ environment: "test" }).warn({ tries: 3, stage: "signing" }, "reported"),
    );
    expect(line).toEqual({
      level: 40,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      pid: process.pid,
      name: "edge",
      environment: "test",
      tries: 3,
      stage: "signing",
      msg: "reported",
    });
  });

  it("shows ids in their public form, and times as text", () => {
    const [line] = linesOf((log) => log.info({ sessionId: uuid, failingSince: new Date(0) }, "reported"));
    expect(line).toMatchObject({
      sessionId: encodeId("ps", uuid),
      failingSince: "1970-01-01T00:00:00.000Z",
    });
  });

  it("drops a field that is not on the list or not of its kind, and names it", () => {
    const fields = { card: { number: 1 }, sessionId: "a sentence", stage: "two words", tries: "3", rule: undefined };
    const [line] = linesOf((log) => log.error(fields as unknown as LogFields, "reported"));
    expect(line).toMatchObject({ dropped: ["card", "sessionId", "stage", "tries"], msg: "reported" });
    expect(Object.keys(line ?? {})).toEqual(["level", "time", "pid", "name", "dropped", "msg"]);
    const [bound] = linesOf((log) => log.child({ email: "ada" } as LogFields).error("reported"));
    expect(bound).toMatchObject({ dropped: ["email"] });
    expect(bound).not.toHaveProperty("email");
  });

  it("throws on such a field in tests, so that none is introduced", () => {
    expect(() => createStrictLog().debug({ email: "ada" } as LogFields, "reported")).toThrow(
      "must not have these fields: email",
    );
  });

  it("scrubs the sentence, and the message, stack and causes of an error", () => {
    const cause = new Error("connect postgres://edge:hunter22@db/live");
    const error = Object.assign(new Error("no card 4242 4242 4242 4242", { cause }), { row: "ada@example.com" });
    const [line] = linesOf((log) => log.error({ err: error, reason: "ada@example.com" }, "of 4000000000000002"));
    expect(line).toMatchObject({ msg: "of ****", reason: "****@****", err: { type: "Error" } });
    expect(line?.err).toHaveProperty("stack", expect.stringContaining("log.test.ts"));
    expect(JSON.stringify(line)).not.toMatch(/4242|hunter22|ada/);
  });
});
