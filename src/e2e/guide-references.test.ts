/** What docs/webhooks.md refers to is there: commands with their options, types of events, files and sections of pages. */
import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { webhookEventTypes } from "../client/merchant/webhook-event.ts";
import { createProgram } from "../command-line/program.ts";
import { parseEndpointUrl } from "../events/egress.ts";
import { writeNotice } from "../events/notice-text.ts";

const docs = join(import.meta.dirname, "..", "..", "docs");
const guide = readFileSync(join(docs, "webhooks.md"), "utf8");
const inline = [...guide.matchAll(/`(switchyard [^`]+)`/g)].map(([, line]) => line!);
const inBlocks = [...guide.matchAll(/^npx (switchyard .+)$/gm)].map(([, line]) => line!);

/** What is wrong with a line of the command line, or undefined. */
function findMistake(line: string): string | undefined {
  const [, ...words] = line.split(" ");
  let command = createProgram();
  while (command.commands.length > 0) {
    const inner = command.commands.find((one) => one.name() === words[0]);
    if (inner === undefined) return `${line}: there is no command "${words[0]}"`;
    command = inner;
    words.shift();
  }
  const options = words.filter((word) => word.startsWith("--"));
  const unknown = options.find((option) => !command.options.some(({ long }) => long === option));
  return unknown && `${line}: has no ${unknown}`;
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = [...readFileSync(join(docs, page), "utf8").matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!);
  return headings.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

describe("docs/webhooks.md", () => {
  it("names commands and options that exist", () => {
    expect(inline.length + inBlocks.length).toBeGreaterThan(15);
    expect([...inline, ...inBlocks].map(findMistake).filter((mistake) => mistake !== undefined)).toEqual([]);
    expect(findMistake("switchyard endpoint rotate we_1 --slowly")).toMatch(/has no --slowly$/);
    expect(findMistake("switchyard endpoint paint")).toMatch(/no command "paint"$/);
  });

  it("has a section for each type of event", () => {
    const sections = [...guide.matchAll(/^### (\w+\.\w+)$/gm)].map(([, type]) => type);
    expect(sections.toSorted()).toEqual(webhookEventTypes.toSorted());
  });

  it("lists addresses and names that are refused, as they are", () => {
    const [, table = ""] = /^\| refused \| such as \|\n(?:.*\n)((?:\|.*\n)+)/m.exec(guide) ?? [];
    const hosts = [...table.matchAll(/`([^`]+)`/g)].map(([, host]) => host!);
    const live = { httpsOnly: true, ports: [443, 8443], openings: [] };
    const isTaken = (host: string) => {
      try {
        return parseEndpointUrl(`https://${isIPv6(host) ? `[${host}]` : host}/webhooks`, live) !== undefined;
      } catch {
        return false;
      }
    };
    expect(hosts.length).toBeGreaterThan(20);
    expect(hosts.filter(isTaken)).toEqual([]);
    expect(["8.8.8.8", "2606:4700::1111", "shop.example.com"].filter(isTaken)).toHaveLength(3);
  });

  it("names every reason for which there is no answer", () => {
    const source = readFileSync(join(docs, "..", "src", "events", "egress.ts"), "utf8");
    const [, union = ""] = /export type NoAnswer =([^;]+);/.exec(source) ?? [];
    const reasons = [...union.matchAll(/"(\w+)"/g)].map(([, reason]) => reason!);
    expect(reasons.length).toBeGreaterThan(5);
    expect(reasons.filter((reason) => !guide.includes(`\`${reason}\``))).toEqual([]);
  });

  it("has no link that leads nowhere", () => {
    const links = [...guide.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)];
    expect(links.length).toBeGreaterThan(20);
    const dead = links.filter(
      ([, page, anchor]) =>
        !existsSync(join(docs, page!)) || (anchor !== "" && !anchorsOf(page || "webhooks.md").includes(anchor!)),
    );
    expect(dead.map(([link]) => link)).toEqual([]);
  });
});

describe("the mail of a notice", () => {
  it("names commands and options that exist", () => {
    const id = "01890000-0000-7000-8000-000000000001";
    const about = {
      id,
      merchantId: id,
      endpointId: id,
      url: "https://hooks.example.com/",
      failingSince: new Date(),
      missedSince: new Date(),
    };
    const { text } = writeNotice({ ...about, kind: "DISABLED_GONE", statusCode: 410, noAnswer: null }, "live");
    const commands = text.match(/switchyard .+/g) ?? [];
    expect(commands).toHaveLength(4);
    expect(commands.map(findMistake).filter((mistake) => mistake !== undefined)).toEqual([]);
  });
});
