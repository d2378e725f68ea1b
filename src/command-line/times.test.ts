import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "./program.ts";
import { parseTime } from "./times.ts";

describe("parseTime()", () => {
  it.each([
    ["2026-11-01T08:00:00Z", "2026-11-01T08:00:00.000Z"],
    ["2026-11-01T09:00:00.5+01:00", "2026-11-01T08:00:00.500Z"],
    ["2028-02-29", "2028-02-29T00:00:00.000Z"],
  ])("reads %j", (text, time) => {
    expect(parseTime(text)).toBe(time);
  });

  it.each(["2026-02-31", "2026-02-31T08:00:00Z", "2026-11-01T24:00:00Z", "2026-13-01", "tomorrow", ""])(
    "refuses %j, which is no time",
    (text) => {
      expect(() => parseTime(text)).toThrow("It must be a day");
    },
  );

  it.each(["2026-11-01T08:00:00", "2026-11-01T08:00"])("refuses %j, whose zone would be the machine's", (text) => {
    expect(() => parseTime(text)).toThrow("or a time with its zone");
  });
});

const optionsOf = (command: Command): Option[] => [...command.options, ...command.commands.flatMap(optionsOf)];

it("is what every option of a time is read by", async () => {
  const options = optionsOf(await createProgram()).filter(({ flags }) => flags.endsWith("<time>"));
  expect(options.length).toBeGreaterThan(2);
  for (const { flags, parseArg } of options) {
    expect(() => parseArg?.("2026-02-31", undefined), flags).toThrow("It must be a day");
    expect(() => parseArg?.("2026-11-01T08:00:00", undefined), flags).toThrow("with its zone");
  }
});
