/** Every sample of the reference, run as it stands. */

import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { apiCalls } from "./api-page.ts";
import { codeSamples, languages } from "./code-samples.ts";

const run = promisify(execFile);
const document = JSON.parse(readFileSync(join(import.meta.dirname, "../../../docs/openapi.json"), "utf8"));

const received: object[] = [];
const server = await forFile(() =>
  createServer(async (request, response) => {
    const { method, url, headers } = request;
    const { authorization, "idempotency-key": key, "content-type": type } = headers;
    const body = await text(request);
    received.push({ method, url, authorization, key, ...(body !== "" && { type, body: JSON.parse(body) }) });
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1"),
);
await once(server, "listening");
const origin: string = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const programs = {
  curl: { tool: "bash", args: ["-ec"], join: (samples: string[]) => samples.join("\n") },
  Node: {
    tool: process.execPath,
    args: ["--input-type=module", "-e"],
    join: (samples: string[]) => samples.map((sample) => `{\n${sample}\n}`).join("\n"),
  },
  Python: { tool: "python3", args: ["-c"], join: (samples: string[]) => samples.join("\n") },
};

it.for(languages)(
  "every sample sends the call that it documents: %s",
  { timeout: 60_000 },
  async (language, { skip }) => {
    const { tool, args, join: joined } = programs[language];
    skip(spawnSync(tool, ["--version"]).error !== undefined, `there is no ${tool} on this machine`);
    const calls = apiCalls(document);
    const samples = calls.map((call) => codeSamples(call)[language]);
    const variables = [`API_ORIGIN=${origin}`, "SECRET_KEY=switchyard_test_sk_1"];
    await run("env", [...variables, tool, ...args, joined(samples)]);
    expect(calls).toHaveLength(30);
    expect(received.splice(0)).toEqual(
      calls.map(({ method, path, needsKey, headers, body }) => ({
        method,
        url: path,
        authorization: needsKey ? "Bearer switchyard_test_sk_1" : undefined,
        key: headers["Idempotency-Key"],
        ...(body !== undefined && { type: "application/json", body }),
      })),
    );
  },
);
