/**
 * Tests that the pages about webhooks, docs/going-live.md and docs/running.md name only commands, options, types of events, files
 * and sections that exist.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { webhookEventTypes } from "../../client/merchant/webhook-event.ts";
import { createProgram } from "../../command-line/program.ts";
import { dashboardServices } from "../../dashboard/service-list.ts";
import { writeMessage } from "../../events/alert-text.ts";
import { parseEndpointUrl } from "../../events/egress.ts";
import { webhookPages } from "./webhook-guide.ts";

const docs = join(import.meta.dirname, "../../../docs");
const guide = webhookPages.map((page) => readFileSync(join(docs, page), "utf8")).join("\n");
const inline = [...guide.matchAll(/`(?:npx )?(switchyard [^`]+)`/g)].map(([, line]) => line!);
const inBlocks = [...guide.matchAll(/^npx (switchyard .+)$/gm)].map(([, line]) => line!);

const program = await createProgram();

/** Returns the problem of a line of the command line, or undefined. */
function findMistake(line: string): string | undefined {
  const [, ...words] = line.split(" ");
  let command = program;
  // A group may be named alone.
  while (command.commands.length > 0 && words.length > 0 && words[0] !== "--help") {
    const inner = command.commands.find((one) => one.name() === words[0]);
    if (inner === undefined) return `${line}: there is no command "${words[0]}"`;
    command = inner;
    words.shift();
  }
  const options = words.filter((word) => word.startsWith("--"));
  const unknown = options.find((option) => option !== "--help" && !command.options.some(({ long }) => long === option));
  return unknown ? `${line}: has no ${unknown}` : findWrongCall(line);
}

/** Returns the problem of a call of a method: that it does not exist, or that its request does not fit it. */
function findWrongCall(line: string): string | undefined {
  const [, service = "", name, , request = "{}"] =
    /^switchyard rpc (\w+)(?:\/(\w+))?( '(\{.*?\})'(?= |$))?/.exec(line) ?? [];
  if (service === "") return undefined;
  const found = dashboardServices.find((one) => one.name === service);
  const method = found?.methods.find((one) => one.name === name);
  if (found === undefined || (name !== undefined && method === undefined)) return `${line}: there is no such method`;
  try {
    if (method) fromJson(method.input, JSON.parse(request));
    return undefined;
  } catch (error) {
    return `${line}: ${(error as Error).message}`;
  }
}

/** The commands of a page, `$M` being what its text says. */
function commandsOf(page: string): string[] {
  const text = readFileSync(join(docs, page), "utf8").replaceAll("$M", "--environment live --merchant mer_1");
  return [...text.matchAll(/(?:^|`)(?:npx )?(switchyard [a-z][^`\n]+)/gm)].map(([, line]) =>
    line!.split("#")[0]!.trim(),
  );
}

/** Returns the anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = [...readFileSync(join(docs, page), "utf8").matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!);
  return headings.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

const allPages = readdirSync(docs).filter((page) => page.endsWith(".md") && page !== "CHANGELOG.md");

describe("every page", () => {
  it("names commands, options, methods and requests that exist", () => {
    const commands = allPages.flatMap((page) => commandsOf(page));
    expect(commands.length).toBeGreaterThan(250);
    expect(commands.map(findMistake).filter((mistake) => mistake !== undefined)).toEqual([]);
    for (const [call, mistake] of [
      ["PaymentService/Pay", "no such method"],
      ['PaymentService/GetPayment \'{"session": "ps_1"}\'', 'key "session" is unknown'],
      ['PaymentService/ListPayments \'{"pageSize": "x"}\'', "expected number"],
    ])
      expect(findMistake(`switchyard rpc ${call}`)).toContain(mistake);
  });
});

describe("the pages about webhooks", () => {
  it("names commands and options that exist", () => {
    expect(inline.length + inBlocks.length).toBeGreaterThan(15);
    expect([...inline, ...inBlocks].map(findMistake).filter((mistake) => mistake !== undefined)).toEqual([]);
    expect(findMistake("switchyard keys roll key_1 --slowly")).toMatch(/has no --slowly$/);
    expect(findMistake("switchyard keys paint")).toMatch(/no command "paint"$/);
  });

  it("has a section for each type of event", () => {
    const sections = [...guide.matchAll(/^## (\w+\.\w+)$/gm)].map(([, type]) => type);
    expect(sections.toSorted()).toEqual(webhookEventTypes.toSorted());
  });

  it("lists the refused addresses and names correctly", () => {
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

  it("names every reason for a missing response", () => {
    const source = readFileSync(join(docs, "..", "src", "events", "egress.ts"), "utf8");
    const [, union = ""] = /export type NoAnswer =([^;]+);/.exec(source) ?? [];
    const reasons = [...union.matchAll(/"(\w+)"/g)].map(([, reason]) => reason!);
    expect(reasons.length).toBeGreaterThan(5);
    expect(reasons.filter((reason) => !guide.includes(`\`${reason}\``))).toEqual([]);
  });

  it("have no link that leads nowhere", () => {
    const links = webhookPages.flatMap((page) => {
      const text = readFileSync(join(docs, page), "utf8");
      return [...text.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)].map(([link, path, anchor]) => ({
        link,
        path: path || page,
        anchor,
      }));
    });
    expect(links.length).toBeGreaterThan(20);
    const dead = links.filter(
      ({ path, anchor }) => !existsSync(join(docs, path)) || (anchor !== "" && !anchorsOf(path).includes(anchor!)),
    );
    expect(dead.map(({ link }) => link)).toEqual([]);
  });
});

describe.each([
  ["going-live.md", 25],
  ["running.md", 2],
])("docs/%s", (page, minCount) => {
  it("names commands and options that exist", () => {
    const commands = commandsOf(page);
    expect(commands.length).toBeGreaterThanOrEqual(minCount);
    expect(commands.map(findMistake).filter((mistake) => mistake !== undefined)).toEqual([]);
  });
});

describe("docs/going-live.md", () => {
  const checklist = readFileSync(join(docs, "going-live.md"), "utf8");

  it("creates each thing before it is used, and leaves out no area of the doctor", () => {
    const table = readFileSync(join(docs, "doctor.md"), "utf8").split("## What is checked")[1]!;
    const areas = [...table.matchAll(/^\| ([a-z]+)/gm)].map(([, area]) => area!).filter((area) => area !== "area");
    const unseen = [...new Set(areas)].filter((area) => !checklist.includes(`OK ${area}`));
    expect(unseen).toEqual(["disk"]);
    const titles = [...checklist.matchAll(/^## (.+)$/gm)].map(([, title]) => title!.toLowerCase());
    const started = ["keys", "databases", "nats", "settings", "vault", "edge, worker and dashboard"];
    const configured = ["accounts", "gateways", "webhooks", "origins", "certificates", "mail", "disk and backups"];
    for (const name of ["A", "M"]) {
      expect(checklist.indexOf(`$${name}`)).toBeGreaterThan(checklist.indexOf(`\n${name}="`));
      expect(checklist).toContain(`\n${name}="`);
    }
    expect(titles).toEqual([...started, ...configured, "the first payment"]);
  });

  it("has the expected result of every step", () => {
    const rows = [...checklist.matchAll(/^\| (?!do \|)(.+) \|$/gm)].map(([, cells]) => cells!.split(" | "));
    expect(rows.length).toBeGreaterThan(25);
    const incomplete = rows.filter(
      ([, command = "", answer = ""]) => !/^(`(\(umask 077; )?npx |\*yourself\*)/.test(command) || !answer,
    );
    expect(incomplete).toEqual([]);
  });
});

describe("the mail of an endpoint alert", () => {
  it("names commands and options that exist", () => {
    const id = "01890000-0000-7000-8000-000000000001";
    const about = {
      id,
      merchantId: id,
      endpointId: id,
      url: "https://hooks.example.com/",
      since: new Date(),
      missedSince: new Date(),
      gateway: null,
      detail: null,
      overAt: null,
    };
    const alert = { ...about, kind: "DISABLED_GONE", statusCode: 410, noAnswer: null } as const;
    const { text } = writeMessage(alert, { environmentName: "live", nameGatewaysIn: String });
    const commands = text.match(/switchyard .+/g) ?? [];
    expect(commands).toHaveLength(4);
    expect(commands.map(findMistake).filter((mistake) => mistake !== undefined)).toEqual([]);
  });
});
