/** Plays one part in a process of its own, so that whatever becomes of it, the others are played too. */
import { answerParent } from "../../testing/child-process.ts";
import { type PartOrder, type PartResult, parts } from "./parts.ts";

answerParent({
  play: ({ name, ...order }: PartOrder & { readonly name: string }): Promise<PartResult> =>
    parts.find((part) => part.name === name)!.play(order, (step) => console.error(`  ${name}: ${step}`)),
});
