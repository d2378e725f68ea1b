import { describe, expect, it } from "vitest";
import { findMachinePaths, findRegistryAddresses } from "./text-rules.ts";

describe("findMachinePaths()", () => {
  it("names the line with a person's folder", () => {
    // Composed here, so that this file passes the rule itself.
    const text = ["first", ["", "home", "somebody", "switchyard"].join("/")].join("\n");
    expect(findMachinePaths([{ path: "docs/a.md", text }])).toEqual([
      `docs/a.md:2: ${["", "home", "somebody"].join("/")}`,
    ]);
  });

  it("accepts paths of a URL, of a project and of every Debian machine", () => {
    const text = "https://host.test/home/page ./home/page src/work/item /usr/bin/chromium /var/lib/switchyard ~/home/a";
    expect(findMachinePaths([{ path: "docs/a.md", text }])).toEqual([]);
  });
});

describe("findRegistryAddresses()", () => {
  it("names the lines with a package's download address", () => {
    const lock = JSON.stringify(
      { a: { version: "1.0.0", resolved: "somewhere", integrity: "sha512-x" } },
      undefined,
      2,
    );
    expect(findRegistryAddresses(lock)).toEqual(["package-lock.json:4"]);
    expect(findRegistryAddresses(lock.replace("resolved", "resolution"))).toEqual([]);
  });
});
