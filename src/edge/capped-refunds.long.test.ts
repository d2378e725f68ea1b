import { it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { refundInPairs } from "./capped-refunds.fixture.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule(["TIMEOUT"]);

it(
  "lets exactly one of each of 1,000 pairs of capped refunds through that fit only alone, half across a roll",
  {
    timeout: 600_000,
  },
  () => refundInPairs(edge, 1_000),
);
