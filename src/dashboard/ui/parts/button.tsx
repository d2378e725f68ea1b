/** Buttons. A busy button says so and ignores further presses. */
import type { Ref } from "react";
import { Button as AriaButton, type ButtonProps as AriaProps } from "react-aria-components/Button";

/**
 * `main` marks the main action of a page; `danger` does what cannot be undone, and `caution` asks about it first.
 * `describedBy` is the id of the reason why the button is disabled.
 */
export type ButtonProps = AriaProps & {
  kind?: "main" | "danger" | "caution" | "plain" | undefined;
  describedBy?: string | undefined;
  ref?: Ref<HTMLButtonElement>;
};

/**
 * A button. It replaces React Aria's own pending state, which would announce the label as an image, before and after.
 */
export function Button({ kind, describedBy, isPending = false, onPress, type, ...props }: ButtonProps) {
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
