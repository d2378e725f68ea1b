import { markPath } from "../../../brand.ts";

export function Mark() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round">
      <path d={markPath} />
    </svg>
  );
}
