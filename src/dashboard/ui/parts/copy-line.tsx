/** A line of text to be entered elsewhere, with a button that copies it. */
import { useState } from "react";
import { Button } from "./button.tsx";

type LineProps = { label: string; text: string; hint?: string; buttonLabel?: string | undefined };

export function CopyLine({ label, text, hint, ...more }: LineProps) {
  const { buttonLabel } = { buttonLabel: `Copy: ${label}`, ...more };
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="field">
      <span>{label}</span>
      <div className="secret">
        <code>{text}</code>
        <Button {...(buttonLabel && { "aria-label": buttonLabel })} onPress={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
      {hint && <span className="hint">{hint}</span>}
    </div>
  );
}
