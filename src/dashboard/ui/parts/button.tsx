/** Buttons. A busy button says so and ignores further presses. */
import type { Ref } from "react";
import { Button as AriaButton, type ButtonProps as AriaProps } from "react-aria-components";

/** `main` marks the main action of a page; `danger` marks an action that cannot be undone. */
export type ButtonProps = AriaProps & { kind?: "main" | "danger" | "plain"; ref?: Ref<HTMLButtonElement> };

/** A button. */
export function Button({ kind, ...props }: ButtonProps) {
  return <AriaButton {...props} className="button" data-kind={kind} />;
}
