import { useEffect } from "react";

/** Moves to a section by the id of its heading, for eyes, keyboard and screen reader. */
export function showSection(id: string): void {
  const heading = document.getElementById(id);
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  heading.closest("section")?.scrollIntoView({ block: "start" });
}

/** The links; `sections` are the ids of the sections' headings and their names. An address may name one. */
export function PageContents({ sections }: { sections: readonly (readonly [id: string, name: string])[] }) {
  useEffect(() => showSection(location.hash.slice(1)), []);
  return (
    <nav className="contents" aria-label="On this page">
      {sections.map(([id, name]) => (
        <a
          key={id}
          href={`#${id}`}
          // The router would take the other address for another page, and ask about unsaved changes.
          onClick={(event) => {
            event.preventDefault();
            showSection(id);
          }}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}
