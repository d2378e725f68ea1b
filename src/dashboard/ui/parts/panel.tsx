/** A button with a panel that it opens: Escape, and leaving it, close it again. */
import { type ReactNode, useRef } from "react";

/** The panel; `children` gets the function that closes it. */
export function Panel(props: {
  className: string;
  name: ReactNode;
  /** The name of the button, where its content is none. */
  label?: string;
  children: (close: () => void) => ReactNode;
}) {
  const { className, name, label, children } = props;
  const panel = useRef<HTMLDetailsElement>(null);
  const close = () => {
    panel.current!.open = false;
    panel.current!.querySelector("summary")!.focus();
  };
  return (
    <details
      className={`panel ${className}`}
      ref={panel}
      onKeyDown={({ key }) => key === "Escape" && close()}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
    >
      <summary className="button" aria-label={label}>
        {name}
      </summary>
      {/* A press inside keeps the focus inside. */}
      <div className="card" tabIndex={-1}>
        {children(close)}
      </div>
    </details>
  );
}
