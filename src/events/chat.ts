/** Posts a signed message to the incoming address of a chat, in the form that Slack, Mattermost and Teams accept. */
import type { Runtime } from "../platform/runtime.ts";
import type { AlertChat } from "./alert-settings.ts";
import type { AlertMessage } from "./alert-text.ts";
import { isAccepted, sendWebhook } from "./deliver.ts";
import type { Egress } from "./egress.ts";

// The characters with which Slack begins a link or an entity (https://docs.slack.dev/messaging/formatting-message-text,
// 2026).
const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Posts once. Returns why the chat did not take the message; undefined if it did. Names no address. */
export async function postToChat(
  context: { readonly egress: Pick<Egress, "post">; readonly runtime: Pick<Runtime, "now"> },
  { url, signingSecret }: AlertChat,
  { id, chatText }: Pick<AlertMessage, "id" | "chatText">,
): Promise<string | undefined> {
  const text = chatText.replace(/[&<>]/g, (character) => entities[character]!);
  const body = Buffer.from(JSON.stringify({ text }));
  const attempt = await sendWebhook(context, { url: url.expose(), eventId: id, body, secrets: [signingSecret] });
  if (isAccepted(attempt)) return undefined;
  return attempt.type === "answered"
    ? `the chat answered HTTP ${attempt.statusCode}`
    : `no answer: ${attempt.reason.replaceAll("_", " ")}`;
}
