/** Plays one part in a separate process, so that its failure does not stop the others. */
import { answerParent } from "../../testing/child-process.ts";
import { type PartOrder, type PartResult, parts } from "./parts.ts";

answerParent({
  play: ({ name, ...order }: PartOrder & { readonly name: string }): Promise<PartResult> =>
    parts.find((part) => part.name === name)!.play(order, (step) => console.error(`  ${name}: ${step}`)),
});
