/** The placeholders of a page: loading, empty, failed, missing. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { codeOf, messageOf } from "../rpc.ts";
import { Button } from "./button.tsx";
import { SecondFactorNeeded } from "./second-factor-link.tsx";

/** Shown while data loads. Announced once to a screen reader. */
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

export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => unknown) | undefined }) {
  if (codeOf(error) === "second_factor_required") return <SecondFactorNeeded />;
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

/** Shown where a list has no rows: explains what appears there and how. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="card empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Missing() {
  return (
    <main className="lone">
      <div className="lone-box">
        <h1>Page not found</h1>
        <p>The address may be mistyped or from an older version.</p>
        <Link to="/">Go to the start page</Link>
      </div>
    </main>
  );
}
