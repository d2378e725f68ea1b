/** Checks an environment's NATS: login, JetStream, the configuration of its stream, and its isolation. */
import type { EnvironmentConfig } from "../config/checked-config.ts";
import { StreamRefused } from "../events/stream-refused.ts";
import { eventStreamOf, findStreamFaults } from "../events/streams.ts";
import { nameOfCell } from "../platform/cells.ts";
import { enter } from "../platform/nats.ts";
import { examinationTimeoutMs, type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

type Examined = Pick<EnvironmentConfig, "name" | "cell" | "nats">;
type Connection = Awaited<ReturnType<typeof enter>>;

/**
 * Examines the connection to one environment's NATS and, as a worker, which `consumes`, its event stream: edges and
 * dashboards may be permitted only to publish. `usesSandboxGateways`: nothing of value can leak from live.
 */
export async function examineNats(
  { name, cell, nats }: Examined,
  options: { replicas: number; consumes: boolean; usesSandboxGateways: boolean },
): Promise<Finding[]> {
  const { replicas, consumes, usesSandboxGateways } = options;
  const label = nameOfCell(name, cell);
  const area = `nats ${label}`;
  const prefix = `SWITCHYARD_${name.toUpperCase()}_NATS`;
  if (!nats.servers || !nats.user || !nats.pass) return [];
  let connection: Connection;
  try {
    connection = await enter(nats, { reconnect: false, timeout: examinationTimeoutMs });
  } catch (error) {
    return [explainRefusal(area, { prefix, servers: nats.servers, user: nats.user }, error)];
  }
  try {
    const answers = ok(area, `answers at ${nats.servers} to ${nats.user}${nats.tls ? " over TLS" : ""}`);
    if (!consumes) return [answers];
    return [
      answers,
      ...(await examineStream(area, label, connection, replicas)),
      ...(await examineWalls(area, name, connection, { prefix, usesSandboxGateways })),
    ];
  } catch (error) {
    const remedy =
      "add `jetstream` to the configuration of the servers and of this environment's account (docs/nats.md)";
    return [problem(area, `JetStream does not answer: ${wordsOf(error)}`, remedy)];
  } finally {
    await connection.close();
  }
}

function explainRefusal(
  area: string,
  { prefix, servers, user }: { prefix: string; servers: string; user: string },
  error: unknown,
): Finding {
  const code = (error as { code?: string }).code ?? "";
  if (code === "AUTHORIZATION_VIOLATION" || code === "AUTHENTICATION_ERROR") {
    const remedy = `set ${prefix}_USER and ${prefix}_PASSWORD as they are in the configuration of NATS`;
    return problem(area, `refuses ${user} or its password`, remedy);
  }
  const remedy = `start nats-server at ${servers}, or correct ${prefix}_SERVERS; until then payments continue and webhooks are late`;
  return problem(area, `does not answer at ${servers}: ${wordsOf(error)}`, remedy);
}

async function examineStream(
  area: string,
  label: string,
  connection: Connection,
  replicas: number,
): Promise<Finding[]> {
  const stream = eventStreamOf(label, replicas);
  try {
    const faults = await findStreamFaults(connection, stream);
    if (faults.length === 0)
      return [ok(area, `JetStream keeps ${stream.name} with the right settings and ${replicas} replica(s)`)];
    const remedy =
      "a running worker corrects it within a minute: start one; if this remains, look for `stream` in its log";
    return faults.map((fault) => problem(area, fault, remedy));
  } catch (error) {
    if (error instanceof StreamRefused) return [problem(area, error.message, "see docs/nats.md")];
    throw error;
  }
}

/** Checks that one environment can neither see the other's stream nor consume its subjects. */
async function examineWalls(
  area: string,
  environment: "test" | "live",
  connection: Connection,
  { prefix, usesSandboxGateways }: { prefix: string; usesSandboxGateways: boolean },
): Promise<Finding[]> {
  const other = environment === "test" ? "live" : "test";
  const foreign = eventStreamOf(other, 1).name;
  const manager = await connection.jetstreamManager();
  const names = await manager.streams.names(`${eventStreamOf(other, 1).subjects}>`).next();
  if (!names.includes(foreign)) return [ok(area, `sees nothing of ${other}`)];
  const says = `${prefix}_USER can read and change the stream of ${other}`;
  const remedy = "give each environment a separate account in the configuration of NATS (docs/nats.md)";
  return [usesSandboxGateways ? warning(area, says, remedy) : problem(area, says, remedy)];
}
