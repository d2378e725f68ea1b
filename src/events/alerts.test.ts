import { expect, it } from "vitest";
import { topicOf } from "./alerts.ts";

it.each([
  ["GATEWAY_UNHEALTHY", "GATEWAY_UNHEALTHY"],
  ["CREDENTIALS_REFUSED", "CREDENTIALS_REFUSED"],
  ["APPROVAL_RATE_LOW", "APPROVAL_RATE"],
  ["GATEWAY_UNVERIFIED", "UNVERIFIED"],
  ["ENDPOINT_UNVERIFIED", "UNVERIFIED"],
  ["HOLDS_EXPIRING", "HOLDS_EXPIRING"],
  ["FAILING_24_HOURS", "ENDPOINT_FAILING"],
  ["DISABLED_GONE", "ENDPOINT_FAILING"],
  ["RENEWALS_STOPPED", "RENEWALS_STOPPED"],
] as const)("mutes the alert %s with the topic %s", (kind, topic) => {
  expect(topicOf(kind)).toBe(topic);
});
