/** A checkout in React, to copy: the form, its outcome, and another try in the same form after a decline. */
import { SwitchyardWidget, type SwitchyardWidgetProps } from "@switchyard/widget/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

/** The answer of your backend's create call, and the service's address. */
type Session = Pick<SwitchyardWidgetProps, "apiBase" | "sessionId" | "clientSecret" | "vault">;

/** A session takes one card: your backend creates another for the same order, once the latest has ended unpaid. */
async function getSession(): Promise<Session> {
  const answer = await fetch("/sessions", { method: "POST" });
  if (!answer.ok) throw new Error("There is no session.");
  return answer.json();
}

function Checkout({ session }: { session: Session }) {
  const [outcome, setOutcome] = useState("");

  return (
    <main>
      <h1>Checkout</h1>
      <SwitchyardWidget
        {...session}
        getSession={getSession}
        onSuccess={({ capturedVia }) => setOutcome(`Paid via ${capturedVia}`)}
        onDeclined={({ declineCode }) => setOutcome(`Declined: ${declineCode}`)}
        appearance={{ variables: { radius: "0.25rem" } }}
      />
      <p id="outcome">{outcome}</p>
    </main>
  );
}

const root = document.getElementById("root")!;
createRoot(root).render(
  <StrictMode>
    <Checkout session={JSON.parse(root.dataset.session!)} />
  </StrictMode>,
);
