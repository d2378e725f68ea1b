/* Copies a test card's number, and announces it for people who do not see the button change. */
const copied = document.getElementById("copied");
const shownForMs = 2000;

document.getElementById("test-cards").addEventListener("click", async ({ target }) => {
  const button = target.closest("button.copy");
  if (!button) return;
  const done = await navigator.clipboard.writeText(button.dataset.number).then(
    () => true,
    () => false,
  );
  button.textContent = done ? "Copied" : "Not copied";
  copied.textContent = done ? "Card number copied." : "This browser does not allow copying. Select the number instead.";
  setTimeout(() => {
    button.textContent = "Copy";
    copied.textContent = "";
  }, shownForMs);
});
