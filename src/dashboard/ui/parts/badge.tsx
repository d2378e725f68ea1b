/** A state in a word, in the colour of its tone. */
import type { ReactNode } from "react";

export type Tone = "good" | "warn" | "bad" | "saved";

export function Badge({ tone, children }: { tone?: Tone | undefined; children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  );
}
