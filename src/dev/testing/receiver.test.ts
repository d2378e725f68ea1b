import { describe, expect, it, onTestFinished } from "vitest";
import { Receiver } from "./receiver.ts";

async function receiver(): Promise<Receiver> {
  const started = await Receiver.start();
  onTestFinished(() => started.close());
  return started;
}

describe("Receiver", () => {
  it("records method, path, headers and the exact bytes of the body", async () => {
    const { url, requests } = await receiver();
    const body = Buffer.from([0, 255, 10]);
    const response = await fetch(`${url}/hook?a=1`, { method: "POST", body, headers: { "webhook-id": "evt_1" } });
    expect(response.status).toBe(200);
    expect(requests[0]).toMatchObject({ method: "POST", path: "/hook?a=1", body });
    expect(requests[0]?.headers["webhook-id"]).toBe("evt_1");
    expect(requests[0]?.rawHeaders).toContain("evt_1");
  });

  it("returns requests that arrived before, and waits for those that arrive later", async () => {
    const there = await receiver();
    await fetch(`${there.url}/first`);
    const second = there.waitFor((request) => request.path === "/second");
    expect((await there.waitFor()).path).toBe("/first");
    await fetch(`${there.url}/second`);
    expect((await second).path).toBe("/second");
    expect(await there.waitForCount(2)).toHaveLength(2);
  });

  it("reports the requests it got when the awaited one does not arrive", async () => {
    const there = await receiver();
    await fetch(`${there.url}/other`);
    const wait = there.waitFor((request) => request.path === "/awaited", 10);
    await expect(wait).rejects.toThrow("0 arrived; received in all: GET /other");
  });

  it("answers as configured, also by request", async () => {
    const there = await receiver();
    there.answerWith({ status: 410, headers: { "retry-after": "7" }, body: "gone" });
    const response = await fetch(there.url);
    expect([response.status, response.headers.get("retry-after"), await response.text()]).toEqual([410, "7", "gone"]);
    there.answerWith((request) => ({ status: request.method === "POST" ? 201 : 405 }));
    expect((await fetch(there.url, { method: "POST" })).status).toBe(201);
    expect((await fetch(there.url)).status).toBe(405);
  });

  it("cuts the connection or holds it open", async () => {
    const there = await receiver();
    there.answerWith("reset");
    await expect(fetch(there.url)).rejects.toThrow("fetch failed");
    there.answerWith("hang");
    const held = fetch(there.url);
    await there.waitForCount(2);
    await there.close();
    await expect(held).rejects.toThrow("fetch failed");
  });
});
