import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "./program.ts";

function leavesOf(command: Command, words: readonly string[]): [string, Command][] {
  const named = [...words, command.name()];
  if (command.commands.length === 0) return [[named.join(" "), command]];
  return command.commands.flatMap((inner) => leavesOf(inner, named));
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (more) => (text += more) }).outputHelp();
  return text;
}

const leaves = leavesOf(await createProgram(), []);
// They run until they are stopped, and print no answer.
const runOn = ["switchyard serve", "switchyard demo", "switchyard listen"];

// In alphabetical order.
const known = [
  "apply",
  "blocklist add",
  "blocklist end",
  "blocklist list",
  "cell list",
  "configuration",
  "demo",
  "doctor",
  "export",
  "keys create",
  "keys list",
  "keys regenerate",
  "keys revoke",
  "keys roll",
  "listen",
  "member break-glass",
  "member create",
  "member invite",
  "member list",
  "member remove-second-factors",
  "member reset-password",
  "member set-role",
  "merchant create",
  "merchant list",
  "merchant move",
  "migrate",
  "operator create",
  "operator revoke",
  "plan",
  "restore adopt",
  "restore confirm",
  "restore declare",
  "restore drop-wallet-keys",
  "restore end-sign-ins",
  "restore release",
  "restore status",
  "retention",
  "rpc",
  "serve",
  "server-keys add-service",
  "server-keys generate",
  "server-keys generate-accounts",
  "server-keys reseal",
  "server-keys reseal-accounts",
  "server-keys reseal-stored-cards",
  "server-keys reseal-wallet-keys",
  "server-keys rotate",
  "server-keys separate",
  "session create",
  "session show",
  "wallet check-domain",
  "wallet create-key",
  "wallet erase-key",
  "wallet set-country",
  "wallet set-domain-file",
  "wallet show",
  "wallet use-key",
];

describe("createProgram()", () => {
  it.each(leaves)("%s has a description and an example", (name, command) => {
    const help = helpOf(command);
    expect(command.description()).not.toBe("");
    expect(help.slice(help.search(/\nExamples?:\n/))).toMatch(name === "switchyard demo" ? "npm start" : name);
  });

  it.each(leaves.filter(([name]) => !runOn.includes(name)))("%s prints JSON on demand", (_name, command) => {
    expect(command.options.map(({ long }) => long)).toContain("--json");
  });

  it("has these commands and no others", () => {
    expect(leaves.map(([name]) => name.slice("switchyard ".length)).sort()).toEqual(known);
  });
});
