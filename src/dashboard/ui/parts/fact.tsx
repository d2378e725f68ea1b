/** A fact in a list of facts: its name and its value. */
import type { ReactNode } from "react";

export function Fact({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
