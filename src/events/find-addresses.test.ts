import { describe, expect, it, vi } from "vitest";
import { NameServer } from "../dev/testing/events/name-server.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createFindAddresses, NameNotFound } from "./find-addresses.ts";

const server = await forFile(() => NameServer.start());
server.answerWith(({ name, type }) => {
  if (name.startsWith("silent") || (name === "half.example" && type === "AAAA")) return "silence";
  if (name === "chain.example") return { alias: "end.example", A: ["192.0.2.7"] };
  return name === "full.example" || name === "half.example"
    ? { A: ["192.0.2.1", "192.0.2.2"], AAAA: ["2001:db8::1"] }
    : {};
});
const find = createFindAddresses([server.address]);

describe("createFindAddresses()", () => {
  it("finds every address of both families, and those behind an alias", async () => {
    expect(await find("full.example")).toEqual([
      { address: "192.0.2.1", family: 4 },
      { address: "192.0.2.2", family: 4 },
      { address: "2001:db8::1", family: 6 },
    ]);
    expect(await find("chain.example")).toEqual([{ address: "192.0.2.7", family: 4 }]);
  });

  it("queries the exact name, without the system's search list", async () => {
    await expect(find("one-label")).rejects.toThrow(NameNotFound);
    await expect(find("full.example.")).resolves.toHaveLength(3);
    expect(new Set(server.questions.map(({ name }) => name))).toContain("one-label");
    expect(server.questions.filter(({ name }) => name.startsWith("one-label."))).toEqual([]);
  });

  it("resolves localhost to this machine, whatever DNS says", async () => {
    const questions = server.questions.length;
    for (const name of ["localhost", "localhost.", "shop.localhost"]) {
      expect((await find(name)).map(({ address }) => address)).toEqual(["127.0.0.1", "::1"]);
    }
    expect(server.questions).toHaveLength(questions);
  });

  it.concurrent("gives up on a silent name server before the connect timeout", async ({ expect }) => {
    const started = performance.now();
    await expect(find("silent.example")).rejects.toThrow(NameNotFound);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it.concurrent("uses one family when the other is never answered", async ({ expect }) => {
    expect(await find("half.example")).toHaveLength(2);
  });

  it.concurrent("finds a name while hundreds of others wait for silent name servers", async ({ expect }) => {
    let waiting = 0;
    const silent: Promise<unknown>[] = [];
    // A socket holds some 270 questions that the server has not read. More at once would push out the one that counts.
    for (let batch = 0; batch < 6; batch += 1) {
      const names = Array.from({ length: 50 }, (_, index) => `silent-${batch}-${index}.example`);
      waiting += names.length;
      silent.push(
        ...names.map((name) =>
          find(name).catch(() => {
            waiting -= 1;
          }),
        ),
      );
      await vi.waitFor(() => {
        const read = new Set(server.questions.map(({ name }) => name));
        if (!names.every((name) => read.has(name))) throw new Error("The server has not read every question.");
      });
    }
    expect(await find("full.example")).toHaveLength(3);
    expect(waiting).toBe(300);
    await Promise.all(silent);
  });
});
