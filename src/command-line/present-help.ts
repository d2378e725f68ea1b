/** How help and hints read for the person who called: every line that can be copied begins as they began. */
import { basename } from "node:path";
import { type Command, Help, type Option } from "commander";

// A command of ours where one begins: at a line's beginning, or after what introduces it.
const commandLine = /(^ *|: |`|\(|\| )switchyard (?=[[a-z])/gm;

/**
 * What to type in front of a command. In a checkout only `npx switchyard` works, in whichever way the program was started;
 * a program of that name on the PATH is called by its name.
 */
export function calledAs(program: string | undefined = process.argv[1]): string {
  const isOnPath = basename(program ?? "") === "switchyard" && !program?.includes("node_modules");
  return isOnPath ? "switchyard" : "npx switchyard";
}

/** The text with every command as the caller has to type it. */
export function asCalled(text: string, called: string = calledAs()): string {
  return text.replaceAll(commandLine, `$1${called} `);
}

/** Prepares every command's help: required options are marked, groups have an example, commands read as they are called. */
export function presentHelp(command: Command, called: string = calledAs(), words: readonly string[] = []): void {
  const named = [...words, command.name()];
  const { outputError, writeOut, writeErr } = command.configureOutput();
  command.configureHelp({ optionDescription: describeOption });
  command.configureOutput({
    writeOut: (text) => writeOut?.(asCalled(text, called)),
    writeErr: (text) => writeErr?.(asCalled(text, called)),
    ...(outputError && { outputError }),
  });
  const [first] = command.commands;
  if (words.length > 0 && first !== undefined) {
    command.addHelpText("after", `\nExample:\n  ${named.join(" ")} ${first.name()} --help`);
  }
  for (const inner of command.commands) presentHelp(inner, called, named);
}

const plain = new Help();

/** As commander words it, and whether the command goes without it. */
function describeOption(option: Option): string {
  const description = plain.optionDescription(option);
  return option.mandatory && option.defaultValue === undefined ? `${description} (required)`.trim() : description;
}
