/** The frame around a page that is about no merchant: the product's name above it. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Mark } from "./mark.tsx";

export function LoneFrame({ children }: { children: ReactNode }) {
  return (
    <>
      <header className="bar">
        <Link className="brand" to="/">
          <Mark /> Switchyard
        </Link>
      </header>
      <main className="main lone-page">{children}</main>
    </>
  );
}
