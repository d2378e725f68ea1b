import { describe, expect, it } from "vitest";
import * as rules from "./folder-rules.ts";
import { parseSources } from "./read-sources.ts";

describe("findForbiddenImports()", () => {
  it("lets a folder import itself and the rows of the table, in any form of import", () => {
    const sources = parseSources({
      "src/core/settle.ts": `import { a } from "./routing.ts"; import "../events/outbox.ts"; import fs from "node:fs";`,
      "src/core/routing.ts": `export type { Tx } from "../platform/database.ts";`,
      "src/events/outbox.ts": `const late = await import("../platform/database.ts");`,
      "src/platform/database.ts": "export type Tx = 1;",
    });
    expect(rules.findForbiddenImports(sources)).toEqual([]);
  });

  it.each([
    ["a sibling", "src/events/relay.ts", "../gateways/connector.ts"],
    ["a folder above", "src/core/settle.ts", "../edge/server.ts"],
    ["the other face", "src/edge/server.ts", "../dashboard/sign-in-rpc.ts"],
    ["the vault", "src/core/settle.ts", "../vault/card.ts"],
    ["anything but platform from the vault", "src/vault/card.ts", "../core/settle.ts"],
    ["anything of ours from the transcoder", "src/transcoder/route.ts", "../platform/errors.ts"],
    ["the server from the widget", "widget/mount.ts", "../src/platform/money.ts"],
    ["the server from what merchants install", "src/client/merchant/rest-client.ts", "../../platform/secrets.ts"],
    ["internal clients from the shop", "src/shop/shop.ts", "../client/dashboard-client.ts"],
    ["the server from the dashboard's page", "src/dashboard/ui/pages/keys.ts", "../../keys-rpc.ts"],
  ])("refuses %s", (_what, path, specifier) => {
    const target = new URL(specifier, `file:///${path}`).pathname.slice(1);
    const sources = parseSources({ [path]: `\nimport { a } from "${specifier}";`, [target]: "export const a = 1;" });
    expect(rules.findForbiddenImports(sources)).toEqual([
      expect.stringMatching(`^${path}:2: .* may not import .*${target}`),
    ]);
  });

  it("also refuses type imports, re-exports and dynamic imports", () => {
    const sources = parseSources({
      "src/platform/log.ts": `import type { A } from "../core/a.ts";
        export { B } from "../core/a.ts";
        type C = import("../core/a.ts").C;
        await import("../core/a.ts");`,
    });
    expect(rules.findForbiddenImports(sources)).toHaveLength(4);
  });

  it("refuses files for developers only, and a folder without a row", () => {
    const sources = parseSources({
      "src/edge/server.ts": `import { HandClock } from "../dev/testing/clock.ts";`,
      "src/edge/server.test.ts": `import { HandClock } from "../dev/testing/clock.ts";`,
      "src/misc/thing.ts": "export const a = 1;",
    });
    expect(rules.findForbiddenImports(sources)).toEqual([
      "src/edge/server.ts:1: imports src/dev/testing/clock.ts, which only developers run",
      'src/misc/thing.ts: "misc" has no row in the table of src/dev/tidy/folder-rules.ts',
    ]);
  });
});

describe("findMisplacedGeneratedTypes()", () => {
  it("names generated and Connect types that core imports, and allows them in handlers", () => {
    const text = `import type { Session } from "../../gen/payments/v1/session_pb.ts"; import { Code } from "@connectrpc/connect";`;
    const sources = parseSources({ "src/core/sessions.ts": text, "src/edge/payments-rpc.ts": text });
    expect(rules.findMisplacedGeneratedTypes(sources)).toEqual([
      "src/core/sessions.ts:1: imports gen/payments/v1/session_pb.ts, which belongs to the protocol's edge",
      "src/core/sessions.ts:1: imports @connectrpc/connect, which belongs to the protocol's edge",
    ]);
  });
});

describe("findImpureImports()", () => {
  it("lets a PURE file import types, PURE files, money and limits, and nothing else", () => {
    const sources = parseSources({
      "src/core/routing.ts": `/** PURE: plans. */
        import { planned } from "./next-step.ts";
        import type { Tx } from "../platform/database.ts";
        import { addMinor } from "../platform/money.ts";
        import { triesMax } from "../limits.ts";
        import { readFileSync } from "node:fs";
        import { settle } from "./settle.ts";`,
      "src/core/next-step.ts": "/** Decides what comes next. PURE. */",
      "src/core/settle.ts": "/** Writes. */",
    });
    expect(rules.findImpureImports(sources)).toEqual([
      "src/core/routing.ts:6: is PURE and imports node:fs",
      "src/core/routing.ts:7: is PURE and imports src/core/settle.ts",
    ]);
  });
});

describe("findUnorderedRows()", () => {
  it("names a row that may import one below it", () => {
    expect(rules.findUnorderedRows({ platform: [], core: ["platform", "edge"], edge: ["platform", "core"] })).toEqual([
      '"core" may import "edge", which has no row above it',
    ]);
  });

  it("finds none in the table", () => {
    expect(rules.findUnorderedRows()).toEqual([]);
  });
});
