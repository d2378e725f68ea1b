/** An order reference in a list: if it is too long, its middle is cut, because references differ at their ends. */
import { visible } from "./copied-text.tsx";

// Enough to distinguish one order from the next.
const endLength = 8;

export function OrderRef({ orderRef }: { orderRef: string }) {
  const text = visible(orderRef);
  const letters = [...text];
  const begin = letters.slice(0, -endLength).join("");
  return (
    <bdi className="order-ref" title={text}>
      {begin && <span>{begin}</span>}
      {letters.slice(-endLength).join("")}
    </bdi>
  );
}
