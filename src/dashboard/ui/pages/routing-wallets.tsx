/** The choice of what may follow an attempt with a wallet's cryptogram, which a network accepts once. */
import { RoutingRule_CryptogramResend as Resend } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { type RuleDraft, resendOf } from "./routing-draft.ts";

const choices = [
  [
    Resend.NOT_SENT,
    "Only if nothing was sent",
    "The next gateway is tried after a refused connection, or an answer that the gateway documents as not processed.",
  ],
  [
    Resend.UNANSWERED,
    "Also without an answer",
    "The silent gateway is read first: if it holds the amount, that hold is captured. At worst the next gateway declines.",
  ],
  [
    Resend.DECLINED,
    "Also after a decline",
    "No public rule of a card network allows a second use. A network may decline it, and may count it against you: ask your acquirers first.",
  ],
] as const;

export function RoutingWallets({ draft, mayChange }: { draft: RuleDraft; mayChange: boolean }) {
  return (
    <section className="card" aria-labelledby="resend">
      <h2 id="resend">Wallets: send a cryptogram again</h2>
      <p>
        Apple Pay, and Google Pay on a device, give a cryptogram that a card network accepts once. Choose when the next
        gateway gets it, within the failures above.
      </p>
      <div className="form" role="radiogroup" aria-labelledby="resend">
        {choices.map(([choice, name, detail]) => (
          <label className="choice" key={choice}>
            <input
              type="radio"
              name="resend"
              checked={resendOf(draft) === choice}
              disabled={!mayChange}
              onChange={() => draft.change({ cryptogramResend: choice })}
            />
            <span>
              <strong>{name}</strong>
              <span className="soft small">{detail}</span>
            </span>
          </label>
        ))}
      </div>
    </section>
  );
}
