import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { runCommand } from "../dev/testing/run-command.ts";
import { asCalled, calledAs, presentHelp } from "./present-help.ts";
import { createProgram } from "./program.ts";

/** The help of a command by its words, as it is shown to a caller who typed `called`. */
async function helpOf(words: readonly string[], called = "npx switchyard"): Promise<string> {
  const program = await createProgram();
  let text = "";
  const record = (command: Command) => {
    command.configureOutput({ writeOut: (more) => (text += more) });
    command.commands.forEach(record);
  };
  record(program);
  presentHelp(program, called);
  words
    .reduce<Command>((command, word) => command.commands.find((inner) => inner.name() === word)!, program)
    .outputHelp();
  return text;
}

describe("presentHelp()", () => {
  it("shows every command as it must be typed", async () => {
    expect(await helpOf(["merchant", "create"])).toMatch(/^Usage: npx switchyard merchant create /);
    expect(await helpOf(["merchant", "create"])).toMatch(/Example:\n {2}npx switchyard merchant create --name/);
    expect(await helpOf(["rpc"])).toContain("\n  npx switchyard rpc WebhookEndpointService\n");
    expect(await helpOf(["rpc"], "switchyard")).toContain("\n  switchyard rpc WebhookEndpointService\n");
    expect(await helpOf(["keys"], "switchyard")).not.toContain("npx");
  });

  it("marks required options, and no option that has a default", async () => {
    const help = await helpOf(["keys", "regenerate"]);
    expect(help).toMatch(/--kind <kind> [\s\S]*\(required/);
    expect(help).toMatch(/--environment <name> .*\(choices: "test", "live",\s+default:\s+"test"\)\n/);
  });

  it("has an example for a group too", async () => {
    expect(await helpOf(["merchant"])).toMatch(/\nExample:\n {2}npx switchyard merchant create --help\n/);
  });
});

describe("asCalled()", () => {
  it("changes commands, and no prose, key or address", () => {
    const lines = ["  switchyard keys list", "To see them: switchyard merchant list", "`switchyard keys`"];
    const others = ["switchyard_test_sk_1 is a key", "https://pay.example/switchyard docs", "the switchyard service"];
    expect(asCalled(lines.join("\n"), "npx switchyard").match(/npx switchyard/g)).toHaveLength(3);
    expect(asCalled(others.join("\n"), "npx switchyard")).toBe(others.join("\n"));
  });
});

describe("calledAs()", () => {
  it("is the bare name only if a program of that name is on the PATH", () => {
    expect(calledAs("/checkout/src/main.mjs")).toBe("npx switchyard");
    expect(calledAs("/checkout/node_modules/.bin/switchyard")).toBe("npx switchyard");
    expect(calledAs("/usr/local/bin/switchyard")).toBe("switchyard");
  });
});

describe("a command whose service does not answer", () => {
  it("names the address it called, and does not print a library's message", async () => {
    const address = ["--grpc-address", "127.0.0.1:1", "--merchant", "mer_01h455vb4pex5vsknk084sn02q"];
    const env = { SWITCHYARD_OPERATOR_TOKEN: "switchyard_op_none" };
    const { code, err } = await runCommand(["keys", "list", ...address], { env });
    expect({ code, err }).toEqual({
      code: 1,
      err: "Nothing answers at 127.0.0.1:1, called directly by gRPC: no proxy variable is used. The last error: connect ECONNREFUSED 127.0.0.1:1. (unavailable)\n",
    });
  });
});
