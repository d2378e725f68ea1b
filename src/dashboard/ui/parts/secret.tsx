/** A secret that is shown once, to be copied. */
import { useState } from "react";
import { Button } from "./button.tsx";

export function ShownSecret({ label, secret }: { label: string; secret: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(secret);
    setCopied(true);
  };
  return (
    <div className="field">
      <span>{label}</span>
      <div className="secret">
        <code>{secret}</code>
        <Button onPress={() => void copy()}>{isCopied ? "Copied" : "Copy"}</Button>
      </div>
      <span className="hint">Shown only once. Store it with your other secrets.</span>
    </div>
  );
}
