/**
 * Measures the gzipped download of a card form: ours as served, and others as a merchant's bundler makes it of their
 * packages.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { bundleAuthenticationPages } from "../../../widget/authentication/bundle-pages.ts";
import { bundleWidget } from "../../../widget/bundle.ts";
import { translations } from "../../../widget/translations.ts";
import { buildBrowserFiles } from "../../vault/browser-files.ts";

/** Gzipped bytes by purpose. */
export type OurSizes = {
  readonly firstLoad: number;
  readonly module: number;
  readonly cardFrame: number;
  readonly vaultScript: number;
  readonly rpcPart: number;
  /** The part that the form needs once the service has answered. */
  readonly paymentPart: number;
  readonly actionPart: number;
  /** The page around the bank's, on the vault's origin. */
  readonly relay: number;
  /** The service's page with the bank's. */
  readonly actionFrame: number;
  readonly largestTranslation: number;
  /** The bytes that the texts of the longest language add to the card frame. */
  readonly largestFrameTexts: number;
};

/** A rival's size, or the reason that there is none. */
export type RivalSize = { readonly name: string; readonly bytes?: number; readonly note: string };

export async function measureOurs(): Promise<OurSizes> {
  const [files, vault, pages] = await Promise.all([bundleWidget(), buildBrowserFiles(), bundleAuthenticationPages()]);
  const sizes = [...files].map(([name, { bytes }]) => [name, gzipSync(bytes).length] as const);
  const largest = (pattern: RegExp) =>
    Math.max(...sizes.filter(([name]) => pattern.test(name)).map(([, size]) => size));
  const origins = ["https://shop.example"];
  const frameIn = (locale: string) => vault.renderFrame(origins, locale);
  const frame = [frameIn("en"), vault.frameScript];
  const relay = [vault.renderRelay(origins, "https://pay.example"), vault.relayScript];
  const sum = (parts: readonly { readonly gzipped: Buffer }[]) =>
    parts.reduce((total, { gzipped }) => total + gzipped.length, 0);
  const actionFrame = [
    pages.render("frame", { acceptLanguage: "en", embedders: ["https://vault.example", ...origins] }),
    ...[...pages.files].filter(([path]) => path.includes("/frame-")).map(([, { bytes }]) => bytes),
  ];
  return {
    firstLoad: largest(/^widget\.js$/),
    module: largest(/^widget\.mjs$/),
    cardFrame: sum(frame),
    vaultScript: vault.sdk.gzipped.length,
    rpcPart: largest(/^session-api-/),
    paymentPart: largest(/^payment-part-/),
    actionPart: largest(/^action-/),
    relay: sum(relay),
    actionFrame: actionFrame.reduce((total, part) => total + gzipSync(part).length, 0),
    largestTranslation: largest(/^\w\w-\w+\.mjs$/),
    largestFrameTexts:
      Math.max(...translations.map((locale) => frameIn(locale).gzipped.length)) - frameIn("en").gzipped.length,
  };
}

// Versions are fixed, so that a figure can be reproduced. Each entry imports what the package's own guide recommends.
const rivals = [
  {
    name: "Adyen Web 6.45.2, core + Card + CSS",
    package: "@adyen/adyen-web@6.45.2",
    entry: `import { AdyenCheckout, Card } from "@adyen/adyen-web"; import "@adyen/adyen-web/styles/adyen.css";
      globalThis.used = [AdyenCheckout, Card];`,
    note: "before its card fields, which load in separate frames",
  },
  {
    name: "Braintree Web 3.144.0, client + hosted fields",
    package: "braintree-web@3.144.0",
    entry: `import client from "braintree-web/client"; import fields from "braintree-web/hosted-fields";
      globalThis.used = [client, fields];`,
    note: "before its frames",
  },
  {
    name: "Hyperswitch hyper-js 2.1.0",
    package: "@juspay-tech/hyper-js@2.1.0",
    entry: `import { loadHyper } from "@juspay-tech/hyper-js"; globalThis.used = loadHyper;`,
    note: "only a loader: what it loads is not in the registry, 498.8 KB by its issue #1776",
  },
];

// An available registry answers sooner; an unavailable one must not delay the table.
const installTimeoutMs = 120_000;

/** Fetches each rival from the npm registry into a temporary folder. */
export async function measureRivals(): Promise<RivalSize[]> {
  const folder = await mkdtemp(join(tmpdir(), "switchyard-rivals-"));
  try {
    await writeFile(join(folder, "package.json"), "{}");
    const packages = rivals.map((rival) => rival.package);
    const options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await promisify(execFile)("npm", [...options, ...packages], { cwd: folder, timeout: installTimeoutMs });
    return await Promise.all(rivals.map((rival) => measureRival(folder, rival)));
  } catch (error) {
    const [reason = ""] = (error as Error).message.split("\n").slice(-2);
    return [{ name: "Others", note: `not measured: the npm registry did not return their packages (${reason})` }];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureRival(folder: string, { name, entry, note }: (typeof rivals)[number]): Promise<RivalSize> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: folder },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    outdir: "out",
    write: false,
  });
  return { name, bytes: outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0), note };
}
