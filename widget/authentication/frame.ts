/**
 * The service's frame in the widget's place: accepts one port from the page around it, and shows the action of the
 * ticket that comes by it. The bank's page is in a separate frame, without a sandbox, which banks' pages break in.
 */

import { postAction, returnedMessage, useTicket } from "./show-action.ts";

const { content } = document.querySelector<HTMLMetaElement>("meta[name=embedders]")!;
const embedders = content.split(" ");

addEventListener("message", function accept({ data, origin, ports: [port], source }: MessageEvent) {
  if (source !== parent || !(embedders.includes(origin) || content === "*")) return;
  if (data?.type !== "switchyard-action" || !port) return;
  removeEventListener("message", accept);
  port.onmessage = (event) => {
    port.onmessage = null;
    void show(port, event.data);
  };
  port.postMessage("ready");
});

async function show(port: MessagePort, { ticket, title }: { ticket: unknown; title: unknown }): Promise<void> {
  const action = await useTicket(String(ticket));
  if (!action) return port.postMessage("failed");
  addEventListener("message", ({ data, origin }) => {
    if (origin === location.origin && data === returnedMessage) port.postMessage("answered");
  });
  document.title = String(title);
  const bank = document.createElement("iframe");
  bank.allow = "payment *; publickey-credentials-get *; publickey-credentials-create *";
  bank.title = document.title;
  bank.name = "bank";
  if (action.method === "GET") bank.src = action.url;
  document.body.append(bank);
  if (action.method === "POST") postAction(action, bank.name);
  port.postMessage("opened");
}
