/** Plays one part in a separate process, so that its failure does not stop the others. */
import { answerParent } from "../../testing/child-process.ts";
import { type Effort, optionsFor, type PartResult, parts } from "./parts.ts";

type Order = { readonly name: string; readonly rows: readonly number[]; readonly effort: Effort };

answerParent({
  play: ({ name, rows, effort }: Order): Promise<PartResult> => {
    const part = parts.find((one) => one.name === name)!;
    return part.play(optionsFor(part, effort), { rows, report: (step) => console.error(`  ${name}: ${step}`) });
  },
});
