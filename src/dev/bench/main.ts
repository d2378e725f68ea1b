/** `npm run bench`: every benchmark by name, each beside peers that ran in the same minutes. */
import { setFlagsFromString } from "node:v8";

// Help ends soon, and gives V8's workers nothing to optimize (src/main.mjs); a benchmark uses all of V8.
if (process.argv.includes("--help") || process.argv.includes("-h")) {
  setFlagsFromString("--no-opt");
  setFlagsFromString("--no-maglev");
}

const { Command } = await import("commander");
const { partCommand } = await import("./whole/part-command.ts");
const { parts } = await import("./whole/parts.ts");
const { playsEverything } = await import("./whole/whole-command.ts");
const { exitSoon } = await import("../../platform/process-end.ts");

const command = playsEverything(new Command("bench"))
  .description(
    "Measures Switchyard and peers that do the same work, by turns, on this machine. Without a command, measures " +
      "everything and prints one table at the end, which takes about an hour.",
  )
  .addHelpText(
    "after",
    "\nExamples:\n  npm run bench -- --write\n  npm run bench -- --rows 4,5,10\n  npm run bench -- edge --rounds 7",
  );
for (const part of parts) command.addCommand(partCommand(part));
await command.parseAsync();
// A benchmark has released everything; Node must not delay the end.
exitSoon(Number(process.exitCode ?? 0));
