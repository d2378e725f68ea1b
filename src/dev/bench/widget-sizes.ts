/** Measures the gzipped download of the card form, as served. */
import { gzipSync } from "node:zlib";
import { bundleAuthenticationPages } from "../../../widget/authentication/bundle-pages.ts";
import { bundleWidget } from "../../../widget/bundle.ts";
import { translations } from "../../../widget/translations.ts";
import { buildBrowserFiles } from "../../vault/browser-files.ts";

/** Gzipped bytes by purpose. */
export type OurSizes = {
  readonly firstLoad: number;
  readonly module: number;
  readonly cardFrame: number;
  readonly rpcPart: number;
  /** The part that the form needs once the service has answered. */
  readonly paymentPart: number;
  readonly actionPart: number;
  readonly storedCardsPart: number;
  readonly walletsPart: number;
  /** The page around the bank's, on the vault's origin. */
  readonly relay: number;
  /** The service's page with the bank's. */
  readonly actionFrame: number;
  readonly largestTranslation: number;
  /** The bytes that the texts of the longest language add to the card frame. */
  readonly largestFrameTexts: number;
};

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
    rpcPart: largest(/^session-api-/),
    paymentPart: largest(/^payment-part-/),
    actionPart: largest(/^action-/),
    storedCardsPart: largest(/^cards-[A-Z0-9]+/),
    walletsPart: largest(/^wallets-[A-Z0-9]+/),
    relay: sum(relay),
    actionFrame: actionFrame.reduce((total, part) => total + gzipSync(part).length, 0),
    largestTranslation: largest(/^\w\w-\w+\.mjs$/),
    largestFrameTexts:
      Math.max(...translations.map((locale) => frameIn(locale).gzipped.length)) - frameIn("en").gzipped.length,
  };
}
