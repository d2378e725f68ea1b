/** What stands in a page's place while there is nothing to show: loading, nothing there, broken, not allowed. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { messageOf } from "../rpc.ts";
import { Button } from "./button.tsx";

/** While data is on its way. Said once to a screen reader. */
export function Loading({ what }: { what: string }) {
  return (
    <div className="card" role="status" aria-live="polite">
      <span className="visually-hidden">{what} is loading.</span>
      {["40%", "80%", "65%"].map((inlineSize) => (
        <div className="skeleton" key={inlineSize} style={{ inlineSize }} />
      ))}
    </div>
  );
}

/** When a call failed: what happened, and a way on. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => unknown) | undefined }) {
  return (
    <div className="card" role="alert">
      <h2>This could not be loaded</h2>
      <p>{messageOf(error)}</p>
      {onRetry && (
        <div>
          <Button onPress={() => void onRetry()}>Try again</Button>
        </div>
      )}
    </div>
  );
}

/** Where a list has no rows: what would be there, and how it comes there. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="card empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** For an address that leads nowhere. */
export function Missing() {
  return (
    <main className="lone">
      <div className="lone-box">
        <h1>There is nothing here</h1>
        <p>The address may be from an older version, or be mistyped.</p>
        <Link to="/">To the start</Link>
      </div>
    </main>
  );
}
