/** A line of text to be entered elsewhere, with a button that copies it. */
import { useState } from "react";
import { Button } from "./button.tsx";

export function CopyLine({ label, text, hint }: { label: string; text: string; hint?: string }) {
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
        <Button aria-label={`Copy: ${label}`} onPress={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
      {hint && <span className="hint">{hint}</span>}
    </div>
  );
}
