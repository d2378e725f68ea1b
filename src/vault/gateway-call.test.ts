import { execFile } from "node:child_process";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GatewayCaller } from "./gateway-call.ts";

let gateway: Server;
let origin: string;
let received: IncomingHttpHeaders;
beforeAll(async () => {
  gateway = createServer((request, response) => {
    received = request.headers;
    response.end("{}");
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(() => gateway.close());

describe("GatewayCaller", () => {
  it("identifies the sender, and requests an answer that is not compressed", async () => {
    const caller = new GatewayCaller();
    await caller.send({ method: "POST", url: origin, headers: { "x-api-key": "k" }, body: "{}", timeoutMs: 5_000 });
    await caller.close();
    expect(received).toMatchObject({ "x-api-key": "k", "user-agent": "Switchyard", "accept-encoding": "identity" });
  });

  it("connects directly to the gateway whatever proxy the process's environment names", async () => {
    const script = `
      import { GatewayCaller } from ${JSON.stringify(new URL("gateway-call.ts", import.meta.url).href)};
      const caller = new GatewayCaller();
      const request = { method: "POST", url: ${JSON.stringify(origin)}, headers: {}, body: "", timeoutMs: 5000 };
      console.log(JSON.stringify((await caller.send(request)).type));
      await caller.close();`;
    const nowhere = "http://127.0.0.1:1";
    const env = {
      HTTP_PROXY: nowhere,
      http_proxy: nowhere,
      HTTPS_PROXY: nowhere,
      ALL_PROXY: nowhere,
      NODE_USE_ENV_PROXY: "1",
    };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { env });
    expect(stdout.trim()).toBe('"answer"');
  });
});
