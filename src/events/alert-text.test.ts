import { describe, expect, it } from "vitest";
import { type DescribedMatter, writeMessage } from "./alert-text.ts";

const alert = {
  id: "01890000-0000-7000-8000-000000000001",
  merchantId: "01890000-0000-7000-8000-000000000002",
  endpointId: "01890000-0000-7000-8000-000000000003",
  url: "https://hooks.example.com:8443/s3cret?token=hunter2",
  kind: "FAILING_24_HOURS",
  since: new Date("2026-03-02T10:15:00.000Z"),
  missedSince: new Date("2026-03-02T09:30:00.000Z"),
  statusCode: 503,
  noAnswer: null,
  gateway: null,
  detail: null,
  overAt: null,
} as const;
const writeAlert = (described: DescribedMatter, environmentName: string) =>
  writeMessage(described, { environmentName, nameGatewaysIn: String });

describe("writeMessage()", () => {
  it("names the fault and its beginning, what happens next, and what to do", () => {
    const { subject, text } = writeAlert(alert, "live");
    expect(subject).toMatch(/^\[live\] Webhook endpoint we_\w+ has been failing for 24 hours$/);
    expect(text).toContain("at hooks.example.com:8443 (live environment) has been failing for 24 hours.");
    expect(text).toContain("Failing since: 2026-03-02T10:15:00.000Z\nLast answer: HTTP 503\n");
    expect(text).toContain('"since": "2026-03-02T09:30:00.000Z"');
    expect(text).toContain(
      "After 5 days and at least 10 delivery attempts without a 2xx response, the endpoint is disabled.",
    );
    expect(text).not.toContain("EnableWebhookEndpoint");
  });

  it("explains how to enable a disabled endpoint", () => {
    const { text } = writeAlert({ ...alert, kind: "DISABLED_FAILING", statusCode: null, noAnswer: "timeout" }, "test");
    expect(text).toContain("was disabled after 5 days of failures.");
    expect(text).toContain("Last answer: timeout\n");
    expect(text).toContain("3. Enable the endpoint: Webhooks > Endpoints.\n");
    expect(text).toMatch(
      /^switchyard rpc WebhookEndpointService\/EnableWebhookEndpoint '{"endpointId": "we_\w+"}' --merchant mer_\w+ --environment test$/m,
    );
  });

  it("shows only the host of a URL", () => {
    for (const url of [
      alert.url,
      "https://hooks.example.com/a%0d%0aBcc:eve@example.com",
      "https://xn--bcher-kva.ch/x",
    ]) {
      const { subject, text } = writeAlert({ ...alert, url }, "live");
      expect(`${subject}${text}`).not.toMatch(/s3cret|hunter2|%0d|Bcc|\r/);
      expect(subject).not.toContain("\n");
      expect(text).toContain(`at ${new URL(url).host} (`);
    }
  });
});
