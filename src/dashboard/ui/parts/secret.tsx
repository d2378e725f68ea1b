/** A secret that is shown once, to be copied. */
import { CopyLine } from "./copy-line.tsx";

export function ShownSecret({ label, secret }: { label: string; secret: string }) {
  const hint = "Shown only once. Store it with your other secrets.";
  return <CopyLine label={label} text={secret} hint={hint} buttonLabel={undefined} />;
}
