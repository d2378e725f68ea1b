/** The content security policy that docs/checkout-page-security.md tells merchants to paste. */
import { readFileSync } from "node:fs";
import type { DemoFile } from "../../demo/demo-file.ts";

/** Returns the policy that docs/checkout-page-security.md shows, with this installation's hosts. */
export function documentedPolicy({ connectOrigin, vaultOrigin }: DemoFile): string {
  const guide = readFileSync(new URL("../../../docs/checkout-page-security.md", import.meta.url), "utf8");
  const [, policy = ""] = /```http\nContent-Security-Policy: ([^\n]+)\n/.exec(guide) ?? [];
  return policy
    .replaceAll("https://pay.example.com", connectOrigin)
    .replaceAll("https://vault.example.com", vaultOrigin);
}
