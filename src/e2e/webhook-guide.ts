/** The parts of docs/webhooks.md that are made from the product: examples, the schedule of tries, the figures. */
import { answerBytesMax, bodyStartBytes, connectTimeoutMs, postTimeoutMs, urlCharactersMax } from "../events/egress.ts";
import { planNextTry, triesMax } from "../events/retry-schedule.ts";
import type { ReceivedRequest } from "../testing/receiver.ts";
import { exampleBody } from "./example-bodies.ts";

/** What the parts show: the first body of each type, and a webhook as it came over the wire. */
export type GuideFacts = { readonly bodies: ReadonlyMap<string, Buffer>; readonly request: ReceivedRequest };

/** Every made part by its name. */
export function guideParts({ bodies, request }: GuideFacts): Record<string, string> {
  const examples = [...bodies].map(([type, body]) => [type, fenced("json", exampleBody(body))]);
  return {
    ...Object.fromEntries(examples),
    request: fenced("http", requestLines(request)),
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

function scheduleTable(): string {
  let afterMs = 0;
  const rows = Array.from({ length: triesMax }, (_, index) => {
    const next = index === 0 ? undefined : planNextTry({ tries: index, random: 0.5 });
    const pauseMs = next?.kind === "retry" ? next.pauseMs : 0;
    afterMs += pauseMs;
    return `| ${index + 1} | ${index === 0 ? "at once" : inWords(pauseMs)} | ${index === 0 ? "" : inWords(afterMs)} |`;
  });
  return ["| try | after the one before | after the first, about |", "|---|---|---|", ...rows].join("\n");
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
    ["tries for a webhook", `${triesMax}`],
  ];
  return ["| figure | what |", "|---|---|", ...rows.map(([what, figure]) => `| ${figure} | ${what} |`)].join("\n");
}
