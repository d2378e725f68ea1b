import { describe, expect, it } from "vitest";
import { Pages } from "../dev/testing/dashboard/pages.ts";
import { WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { exchangeRaw } from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startEdgeFixture } from "../edge/edge.fixture.ts";
import { createGrpcServer } from "../edge/grpc-server.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { serveForFile } from "./dashboard-server.fixture.ts";
import { dashboardServices } from "./service-list.ts";

const origin = "https://dashboard.example.com";
let cookie: string;
let operator: string;
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
await dashboard.addMember("Olive", "OWNER");
cookie = await new Pages(() => dashboard).enter("Olive");
operator = (await dashboard.hireOperator("ada")).expose();
const port = await serveForFile(dashboard, origin);
const edge = await forFile(startEdgeFixture);
const guestServices = { services: dashboardServices, route: dashboard.route };
const internal = await forFile(() => createGrpcServer({ ...edge.parts, guestServices }, { reflection: false }));
const wire = await forFile(async () => new WireClient(await internal.listen(0, "127.0.0.1")));

type Refusal = { status: number; code: string; problems: { field: string; reason: string }[]; text: string };

function refusalOf(status: number, text: string): Refusal {
  const { details = [] } = JSON.parse(text) as { details?: { type: string; debug?: Record<string, unknown> }[] };
  const of = (type: string) => details.find((detail) => detail.type === `google.rpc.${type}`)?.debug ?? {};
  const violations = (of("BadRequest").fieldViolations ?? []) as Refusal["problems"];
  const problems = violations.map(({ field, reason }) => ({ field, reason }));
  return { status, code: String(of("ErrorInfo").reason), problems, text };
}

const ports = {
  "the dashboard's port": async (rpc: string, body: string): Promise<Refusal> => {
    const head = `POST /dashboard.v1.${rpc} HTTP/1.1\r\nHost: dashboard.example.com\r\nOrigin: ${origin}\r\nConnect-Protocol-Version: 1\r\nContent-Type: application/json\r\nCookie: ${cookie}\r\n`;
    const { answers } = await exchangeRaw(port, `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return refusalOf(answers[0]!.status, answers[0]!.text);
  },
  "the internal port": async (rpc: string, body: string): Promise<Refusal> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${operator}` };
    const answer = await wire.call(`/dashboard.v1.${rpc}`, headers, Buffer.from(body));
    return refusalOf(answer.status, answer.body.toString());
  },
};

describe.each(Object.entries(ports))("JSON of a dashboard rpc at %s", (_, call) => {
  const scope = () => `"merchantId":"${dashboard.merchantId}","environment":"ENVIRONMENT_TEST"`;

  it.each([
    ["an unknown key", () => `{${scope()},"topics":["hunter22"]}`, "unknown_field", "topics"],
    ["an unknown value of an enum", () => `{${scope()},"mutedTopics":["hunter22"]}`, "invalid_field", "mutedTopics[0]"],
    [
      "a number where text is",
      () => '{"merchantId":42421,"environment":"ENVIRONMENT_TEST"}',
      "invalid_field",
      "merchantId",
    ],
    ["text where a list is", () => `{${scope()},"mutedTopics":"hunter22"}`, "invalid_field", "mutedTopics"],
    ["null", () => `{${scope()},"mutedTopics":null}`, "invalid_field", "mutedTopics"],
    ["a key twice", () => `{${scope()},${scope()}}`, "duplicate_field", "merchantId"],
  ])("is refused with its field and our code: %s", async (_name, body, code, field) => {
    const refusal = await call("AlertService/SetMutedAlerts", body());
    expect(refusal).toMatchObject({ status: 400, code: code.toUpperCase() });
    expect(refusal.problems[0]).toEqual({ field, reason: code.toUpperCase() });
    expect(refusal.text).not.toMatch(/hunter22|42421/);
  });

  it("is not read for a caller who is not authenticated", async () => {
    const kept = { cookie, operator };
    [cookie, operator] = ["", "nothing"];
    const { status, problems } = await call("AlertService/SetMutedAlerts", '{"hunter22":1}');
    ({ cookie, operator } = kept);
    expect({ status, problems }).toEqual({ status: 401, problems: [] });
  });
});
