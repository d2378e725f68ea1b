/** Buttons. A busy button says so and ignores further presses. */
import type { Ref } from "react";
import { Button as AriaButton, type ButtonProps as AriaProps } from "react-aria-components/Button";

/** A mutation without variables. */
export type Runnable = { readonly mutate: () => void; readonly isPending: boolean };

/**
 * `main` marks the main action of a page; `danger` does what cannot be undone, and `caution` asks about it first.
 * `describedBy` is the id of the reason why the button is disabled. A press `runs` a mutation, and the button is busy meanwhile.
 */
export type ButtonProps = AriaProps & {
  runs?: Runnable | undefined;
  kind?: "main" | "danger" | "caution" | "plain" | undefined;
  describedBy?: string | undefined;
  ref?: Ref<HTMLButtonElement>;
};

/**
 * A button. It replaces React Aria's own pending state, which would announce the label as an image, before and after.
 */
export function Button({ kind, describedBy, runs, type, ...given }: ButtonProps) {
  const { isPending = runs?.isPending ?? false, onPress = runs && (() => runs.mutate()), ...props } = given;
  return (
    <AriaButton
      {...props}
      {...(onPress && !isPending && { onPress })}
      // Enter in a field of the form sends nothing while the button is busy.
      {...(type && { type: isPending ? "button" : type })}
      {...(isPending && { "aria-disabled": true, "data-pending": true })}
      {...(describedBy !== undefined && { "aria-describedby": describedBy })}
      className="button"
      data-kind={kind}
    />
  );
}
