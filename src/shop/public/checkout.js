/* Mounts the widget with the session that the page contains. */
const { orderRef, widget: session } = JSON.parse(document.getElementById("checkout").textContent);
const declined = document.getElementById("declined");

Switchyard.mount({
  container: "#card",
  ...session,
  // Where no second window opens, the customer comes back from the bank to this page.
  returnTo: location.href,
  // A session accepts one card: the next press of the pay button needs a new session of the same order.
  getSession: async () => {
    const answer = await fetch(`/orders/${orderRef}/sessions`, { method: "POST" });
    if (!answer.ok) throw new Error("The shop has no session.");
    return answer.json();
  },
  // Shows the customer the order, in place of this page: the back button leads past it. The goods ship on the webhook.
  onSuccess: () => location.replace(`/orders/${orderRef}`),
  onPending: () => location.replace(`/orders/${orderRef}`),
  onDeclined: () => {
    declined.hidden = false;
  },
});
