import type { ReactNode } from "react";

export function PageHead(props: { title: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <header className="page-head">
      <div>
        <h1>{props.title}</h1>
        <p>{props.children}</p>
      </div>
      {props.actions}
    </header>
  );
}
