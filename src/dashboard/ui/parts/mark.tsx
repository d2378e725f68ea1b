/** The product's mark. */

/** Two lines that cross over, as rails do. */
export function Mark() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round">
      <path d="M2 12h4l4-8h4M2 4h4l4 8h4" />
    </svg>
  );
}
