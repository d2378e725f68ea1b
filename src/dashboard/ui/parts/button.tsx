/** Buttons. One that works on something says so and takes no second press. */
import { Button as AriaButton, type ButtonProps as AriaProps } from "react-aria-components";

/** `main` is the one thing that a page is for; `danger` cannot be undone. */
export type ButtonProps = AriaProps & { kind?: "main" | "danger" | "plain" };

/** A button. */
export function Button({ kind, ...props }: ButtonProps) {
  return <AriaButton {...props} className="button" data-kind={kind} />;
}
