/**
 * The vault's page around the bank's: a shop's policy names the vault's origin and no other, so the service's frame is
 * inside this one. It passes the shop's port on, and reads nothing that goes through it.
 */

const contentOf = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name=${name}]`)!.content;
const embedders = contentOf("embedders").split(" ");
const service = contentOf("service");

// The shop sends a fresh port until the frame answers: messages that arrive while a frame loads can be lost.
let latest: MessageEvent<{ readonly url: string; readonly title: string }> | undefined;
let frame: HTMLIFrameElement | undefined;
let isLoaded = false;

addEventListener("message", (event) => {
  const { data, origin, ports, source } = event;
  if (source !== parent || !(embedders.includes(origin) || embedders[0] === "*")) return;
  if (data?.type !== "switchyard-action" || !ports[0] || new URL(data.url).origin !== service) return;
  latest = event;
  frame ??= addFrame(event.data);
  if (isLoaded) handOn(frame);
});

function addFrame({ url, title }: { readonly url: string; readonly title: string }): HTMLIFrameElement {
  const added = document.createElement("iframe");
  added.allow = "payment *; publickey-credentials-get *; publickey-credentials-create *";
  added.title = title;
  added.onload = () => {
    isLoaded = true;
    handOn(added);
  };
  added.src = url;
  document.body.style.margin = "0";
  Object.assign(added.style, { display: "block", width: "100%", height: "100vh", border: "0" });
  document.body.append(added);
  return added;
}

function handOn({ contentWindow }: HTMLIFrameElement): void {
  if (latest) contentWindow?.postMessage(latest.data, service, [...latest.ports]);
  latest = undefined;
}
