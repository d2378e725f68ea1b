/** Presents help and hints for the way the program was called, so that every command line in them can be copied. */
import { basename } from "node:path";
import { type Command, Help, type Option } from "commander";

// A command of ours: at the beginning of a line, or after a word that introduces it.
const commandLine = /(^ *|: |`|\(|\| )switchyard (?=[[a-z])/gm;

/**
 * Returns the text to type before a command. In a checkout only `npx switchyard` works, in whichever way the program
 * was started; a program of that name on the PATH is called by its name.
 */
export function calledAs(program: string | undefined = process.argv[1]): string {
  const isOnPath = basename(program ?? "") === "switchyard" && !program?.includes("node_modules");
  return isOnPath ? "switchyard" : "npx switchyard";
}

/** Returns the text with every command as the caller must type it. */
export function asCalled(text: string, called: string = calledAs()): string {
  return text.replaceAll(commandLine, `$1${called} `);
}

/** Prepares every command's help: required options are marked, groups have an example. */
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

function describeOption(option: Option): string {
  const description = plain.optionDescription(option);
  return option.mandatory && option.defaultValue === undefined ? `${description} (required)`.trim() : description;
}
