/** The confirmation of a saved change, in a corner of the page, for eyes and screen readers. */
import { useEffect, useSyncExternalStore } from "react";
import { Button } from "./button.tsx";

declare module "@tanstack/react-query" {
  interface Register {
    /** `done`: what to confirm when the change has succeeded, in a sentence. */
    mutationMeta: { readonly done?: string };
  }
}

// Long enough to read a sentence twice.
const shownMs = 8_000;

type Shown = { readonly text: string };

let shown: Shown | undefined;
const listeners = new Set<() => void>();

function show(next: Shown | undefined): void {
  shown = next;
  for (const listener of listeners) listener();
}

/** Shows a confirmation, instead of an earlier one. */
export function confirmDone(text: string): void {
  show({ text });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * The place of the confirmation, once on the page. It covers nothing for long: it closes by itself, or by its button.
 */
export function Confirmation() {
  const current = useSyncExternalStore(subscribe, () => shown);
  useEffect(() => {
    if (current === undefined) return;
    const timer = setTimeout(() => show(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [current]);
  return (
    <div className="confirmation" aria-live="polite">
      {current && (
        <p>
          {current.text}
          <Button kind="plain" aria-label="Dismiss" onPress={() => show(undefined)}>
            ×
          </Button>
        </p>
      )}
    </div>
  );
}
