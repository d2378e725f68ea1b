/** Formats one field while it is edited: the caret stays at its digit, and separators never stop it. */
import { caretAfter, digitsOf } from "./card-format.ts";

/** Formats a field in place after an input event of this kind. Deleting a separator deletes the digit beyond it. */
export function reformat(input: HTMLInputElement, inputType: string, format: (text: string) => string): void {
  const caret = input.selectionStart ?? input.value.length;
  const before = input.value.slice(0, caret);
  const after = input.value.slice(caret);
  const formatted = format(input.value);
  const onlySeparatorGone = digitsOf(formatted) === digitsOf(input.value) && formatted.length > input.value.length;
  if (onlySeparatorGone && inputType === "deleteContentBackward") {
    // At the end the separator goes as well: behind a month it would be formatted anew.
    put(input, format(before.replace(/\d(\D*)$/, after && "$1") + after), digitsOf(before).length - 1);
  } else if (onlySeparatorGone && inputType === "deleteContentForward") {
    put(input, format(before + after.replace(/^(\D*)\d/, "$1")), digitsOf(before).length);
  } else if (formatted !== input.value) {
    const added = digitsOf(formatted).length - digitsOf(before + after).length;
    put(input, formatted, digitsOf(before).length + Math.max(0, added));
  }
}

function put(input: HTMLInputElement, text: string, digitsBeforeCaret: number): void {
  input.value = text;
  // Autofill writes into fields without the focus, and in Safari setting the caret would move the focus there.
  if (document.activeElement !== input) return;
  const caret = caretAfter(text, digitsBeforeCaret);
  input.setSelectionRange(caret, caret);
}
