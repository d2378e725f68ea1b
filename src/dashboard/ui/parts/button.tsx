/** Buttons. A busy button says so and ignores further presses. */
import type { Ref } from "react";
import { Button as AriaButton, type ButtonProps as AriaProps } from "react-aria-components";

/**
 * `main` marks the main action of a page; `danger` marks an action that cannot be undone. `describedBy` is the id of the
 * reason why the button is disabled.
 */
export type ButtonProps = AriaProps & {
  kind?: "main" | "danger" | "plain" | undefined;
  describedBy?: string | undefined;
  ref?: Ref<HTMLButtonElement>;
};

/** A button. */
export function Button({ kind, describedBy, ...props }: ButtonProps) {
  const described = describedBy === undefined ? {} : { "aria-describedby": describedBy };
  return <AriaButton {...props} {...described} className="button" data-kind={kind} />;
}
