/* Mounts the widget with the session that the page contains. */
const { orderRef, widget: session } = JSON.parse(document.getElementById("checkout").textContent);
const declined = document.getElementById("declined");
const again = document.getElementById("again");

const widget = Switchyard.mount({
  container: "#card",
  ...session,
  // Where no second window opens, the customer comes back from the bank to this page.
  returnTo: location.href,
  // Shows the customer the order. The goods ship on the webhook.
  onSuccess: () => location.assign(`/orders/${orderRef}`),
  onPending: () => location.assign(`/orders/${orderRef}`),
  onDeclined: () => {
    declined.hidden = false;
    again.focus();
  },
});

// A session accepts one card: another card needs a new session of the same order.
again.addEventListener("click", async () => {
  again.disabled = true;
  const answer = await fetch(`/orders/${orderRef}/sessions`, { method: "POST" });
  again.disabled = false;
  if (!answer.ok) return;
  declined.hidden = true;
  const { sessionId, clientSecret, vault } = await answer.json();
  await widget.update({ sessionId, clientSecret, vault });
  widget.focus();
});
