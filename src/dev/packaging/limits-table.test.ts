import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { customerLimits } from "../../edge/request-limits/request-limits.ts";
import { requestLimitBounds, turnWithinMs, waitingRequestsMax } from "../../limits.ts";
import type { RequestLimit } from "../../platform/request-counter.ts";
import { callLimits, tokensPerSession } from "../../vault/vault-limits.ts";
import { withParts } from "../e2e/guide-text.ts";

const page = join(import.meta.dirname, "../../../docs/rate-limits.md");

const count = (value: number) => value.toLocaleString("en");
const inMinute = ({ perSecond }: RequestLimit) => `${count(perSecond * 60)} a minute`;
const inSecond = ({ perSecond, burst }: RequestLimit) =>
  `${count(perSecond)} a second, after a burst of ${count(burst)}`;
const merchant = { perSecond: requestLimitBounds.perSecond.default, burst: requestLimitBounds.burst.default };
const more = "more wait, in a fair order";

const rows = [
  ["vault, a session", `${tokensPerSession} cards in all; calls: ${inMinute(callLimits.session)}`],
  [
    "vault, an IPv4 address, or a /64 of IPv6",
    `calls: ${inMinute(callLimits.address)}; with forms and pages ${inMinute(callLimits.pagesOfAddress)}`,
  ],
  [
    "vault, a /24 of IPv4, or a /48 of IPv6",
    `calls: ${inMinute(callLimits.network)}; with forms and pages ${inMinute(callLimits.pagesOfNetwork)}`,
  ],
  ["vault, a merchant", `plausible cards: ${inMinute(callLimits.merchant)}; ${more}`],
  ["each edge, a session", inSecond(customerLimits.session)],
  ["each edge, an IPv4 address, or a /64 of IPv6", inSecond(customerLimits.address)],
  ["each edge, a /24 of IPv4, or a /48 of IPv6", inSecond(customerLimits.network)],
  ["each edge, a return from the bank", inSecond(customerLimits.return)],
  ["each edge, a gateway's notifications for one connection", inSecond(customerLimits.notification)],
  ["all edges, a merchant's customers before they submit", `${inSecond(merchant)}; ${more}`],
  ["all edges, a merchant's customers who have submitted", `as many again; ${more}`],
  ["all edges, a merchant's backend", "as many again; more are refused"],
  ["each process, calls of one merchant that wait", `${waitingRequestsMax}, each for ${turnWithinMs / 1_000} s`],
];

it("docs/rate-limits.md has the limits; `vitest -u` writes them again", async () => {
  const limits = ["| where | limit |", "|---|---|", ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
  await expect(withParts(readFileSync(page, "utf8"), { limits })).toMatchFileSnapshot(page);
});
