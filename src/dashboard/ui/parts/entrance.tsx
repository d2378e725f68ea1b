/** The frame of a page for those who are not signed in: the product's name above its title. */
import type { ReactNode } from "react";
import { Mark } from "./mark.tsx";

export function Entrance({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="lone">
      <div className="lone-box">
        <span className="brand">
          <Mark /> Switchyard
        </span>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
