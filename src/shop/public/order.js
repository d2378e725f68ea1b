/* Keeps the order's details up to date. They come as HTML that the shop has escaped. */
const details = document.getElementById("details");

new EventSource(`${location.pathname}/events`).addEventListener("message", ({ data }) => {
  details.innerHTML = JSON.parse(data);
});
