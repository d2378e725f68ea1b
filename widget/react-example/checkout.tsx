/** A checkout in React, to copy: the form, its outcome, and another card after a decline. */
import { SwitchyardWidget, type SwitchyardWidgetProps } from "@switchyard/widget/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

/** The answer of your backend's create call, and the service's address. */
type Session = Pick<SwitchyardWidgetProps, "apiBase" | "sessionId" | "clientSecret" | "vault">;

function Checkout({ first }: { first: Session }) {
  const [session, setSession] = useState(first);
  const [outcome, setOutcome] = useState("");

  async function tryAnotherCard() {
    // A session takes one card: your backend creates another for the same order.
    const answer = await fetch("/sessions", { method: "POST" });
    setSession(await answer.json());
    setOutcome("");
  }

  return (
    <main>
      <h1>Checkout</h1>
      <SwitchyardWidget
        {...session}
        onSuccess={({ capturedVia }) => setOutcome(`Paid via ${capturedVia}`)}
        onDeclined={({ declineCode }) => setOutcome(`Declined: ${declineCode}`)}
        appearance={{ variables: { radius: "0.25rem" } }}
      />
      <p id="outcome">{outcome}</p>
      {outcome.startsWith("Declined") && (
        <button type="button" onClick={tryAnotherCard}>
          Try another card
        </button>
      )}
    </main>
  );
}

const root = document.getElementById("root")!;
createRoot(root).render(
  <StrictMode>
    <Checkout first={JSON.parse(root.dataset.session!)} />
  </StrictMode>,
);
