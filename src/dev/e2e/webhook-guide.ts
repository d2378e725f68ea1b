/**
 * The parts of the pages about webhooks that are generated from the product: examples, the schedule of delivery
 * attempts, the figures.
 */
import { answerBytesMax, bodyStartBytes, connectTimeoutMs, urlCharactersMax } from "../../events/egress.ts";
import { planNextAttempt, triesMax } from "../../events/retry-schedule.ts";
import { signWebhook } from "../../events/signature.ts";
import { postTimeoutMs } from "../../limits.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { ReceivedRequest } from "../testing/receiver.ts";
import { exampleBody } from "./example-bodies.ts";

export const webhookPages = [
  "webhooks.md",
  "verify-webhooks.md",
  "webhook-events.md",
  "webhook-delivery.md",
  "webhook-operations.md",
];

const exampleEventId = encodeId("evt", "019caddc-36c0-7a5e-9c1d-53b0f2d6e401");

/** The facts that the parts show: the first body of each type, and a webhook as received over the wire. */
export type GuideFacts = { readonly bodies: ReadonlyMap<string, Buffer>; readonly request: ReceivedRequest };

export function guideParts({ bodies, request }: GuideFacts): Record<string, string> {
  const examples = [...bodies].map(([type, body]) => [type, fenced("json", exampleBody(body))]);
  return {
    ...Object.fromEntries(examples),
    request: fenced("http", requestLines(request)),
    vector: vectorPart(),
    schedule: scheduleTable(),
    figures: figuresTable(),
  };
}

function fenced(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``;
}

/** Request line and headers, with values in place of those that differ in each request. */
function requestLines({ method, rawHeaders, body }: ReceivedRequest): string {
  const { id } = JSON.parse(exampleBody(body));
  const shown: Readonly<Record<string, string>> = {
    host: "shop.example.com",
    "webhook-id": id,
    "webhook-timestamp": "1772446523",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    "content-length": "1843",
  };
  const lines = rawHeaders.flatMap((name, index) => {
    const value = rawHeaders[index + 1] ?? "";
    return index % 2 === 0 ? [`${name}: ${shown[name.toLowerCase()] ?? value}`] : [];
  });
  return [`${method} /webhooks HTTP/1.1`, ...lines].join("\n");
}

/** The secret, id, time and body of a signature that can be computed again at any time. */
export const vector = {
  secret: `switchyard_test_whsec_${Buffer.from("32 bytes that everybody may know").toString("base64")}`,
  id: exampleEventId,
  sentAt: new Date("2026-03-02T10:15:23Z"),
  body: '{"greeting":"Grüße, 世界"}',
};

export function signVector() {
  const { id, sentAt, body, secret } = vector;
  return signWebhook({ id, sentAt, body: Buffer.from(body), secrets: [new Secret(secret)] });
}

function vectorPart(): string {
  const { secret, id, sentAt, body } = vector;
  const rows = {
    "signing secret": secret,
    ...signVector(),
    [`body, ${Buffer.byteLength(body)} bytes of UTF-8`]: body,
  };
  const table = Object.entries(rows).map(
    ([what, value]) => `| ${what.startsWith("webhook") ? `\`${what}\`` : what} | \`${value}\` |`,
  );
  const command = [
    "node --input-type=module -e '",
    'import { Webhook } from "standardwebhooks";',
    `const webhook = new Webhook("${secret.slice(secret.indexOf("whsec_"))}");`,
    `console.log(webhook.sign("${id}", new Date(${sentAt.getTime()}), \`${body}\`));'`,
  ];
  return ["| what | value |", "|---|---|", ...table, "", fenced("sh", command.join("\n"))].join("\n");
}

function scheduleTable(): string {
  let afterMs = 0;
  const rows = Array.from({ length: triesMax }, (_, index) => {
    const next = index === 0 ? undefined : planNextAttempt({ tries: index, random: 0.5 });
    const pauseMs = next?.type === "retry" ? next.pauseMs : 0;
    afterMs += pauseMs;
    return `| ${index + 1} | ${index === 0 ? "at once" : inWords(pauseMs)} | ${index === 0 ? "" : inWords(afterMs)} |`;
  });
  return ["| delivery attempt | after the one before | after the first, about |", "|---|---|---|", ...rows].join("\n");
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

function inWords(durationMs: number): string {
  if (durationMs < minuteMs) return `${durationMs / 1_000} s`;
  if (durationMs < hourMs) return `${Math.round(durationMs / minuteMs)} min`;
  const minutes = Math.round((durationMs % hourMs) / minuteMs);
  return `${Math.floor(durationMs / hourMs)} h${minutes > 0 ? ` ${minutes} min` : ""}`;
}

function figuresTable(): string {
  const rows = [
    ["to connect, TLS included", `${connectTimeoutMs / 1_000} s`],
    ["for everything, from the first packet to the end of your answer", `${postTimeoutMs / 1_000} s`],
    ["of your answer are read; then the connection is closed", `${answerBytesMax / 1024} KiB`],
    ["of your answer are kept in the delivery log, card numbers and secrets blanked", `${bodyStartBytes / 1024} KiB`],
    ["characters in an endpoint's URL at most", `${urlCharactersMax}`],
    ["delivery attempts for a webhook", `${triesMax}`],
  ];
  return ["| figure | what |", "|---|---|", ...rows.map(([what, figure]) => `| ${figure} | ${what} |`)].join("\n");
}
