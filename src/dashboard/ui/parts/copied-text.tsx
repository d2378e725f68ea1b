/** An id or a reference, with a small button that copies it. */
import { useState } from "react";
import { Button } from "react-aria-components/Button";

type Props = { readonly label: string; readonly text: string };

/** The text with its button; `label` names it. Foreign text is isolated, whichever direction it runs. */
export function CopiedText({ label, text }: Props) {
  return (
    <span className="copied-text">
      <code>
        <bdi>{visible(text)}</bdi>
      </code>
      <CopyButton label={label} text={text} />
    </span>
  );
}

/** Only the button, for a text in another place. */
export function CopyButton({ label, text }: Props) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <>
      <Button className="copy" aria-label={`Copy ${label}`} onPress={() => void copy()}>
        {isCopied ? <Tick /> : <Sheets />}
      </Button>
      <span className="visually-hidden" role="status">
        {isCopied ? `${label} copied` : ""}
      </span>
    </>
  );
}

/** Replaces invisible characters by their codes, to distinguish texts that look alike. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (unseen) => `\\u${unseen.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
}

function Sheets() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="1.5">
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />
    </svg>
  );
}

function Tick() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round">
      <path d="m3 8.5 3.2 3L13 4.5" />
    </svg>
  );
}
