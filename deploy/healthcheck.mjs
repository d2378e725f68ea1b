/**
 * The image's HEALTHCHECK: asks the role that this container runs whether its process is well, on the role's own port.
 * A container that runs a command instead of a role is well as long as it runs.
 */
// @ts-check
import { readFileSync } from "node:fs";

/** Where each role answers: the setting that names its port, and the path. */
const doors = {
  edge: { port: "SWITCHYARD_PUBLIC_PORT", path: "/healthz" },
  dashboard: { port: "SWITCHYARD_DASHBOARD_PORT", path: "/healthz" },
  vault: { port: "SWITCHYARD_VAULT_PORT", path: "/healthz" },
  worker: { port: "SWITCHYARD_METRICS_PORT", path: "/ready" },
};

// Less than the timeout of the HEALTHCHECK, so that the reason is seen.
const answerWithinMs = 2_500;

const started = readFileSync("/proc/1/cmdline", "utf8").split("\0");
const roles = started[started.indexOf("--role") + 1]?.split(",") ?? [];
const checked = started.includes("--role") ? Object.entries(doors).filter(([role]) => roles.includes(role)) : [];

for (const [role, { port, path }] of checked) {
  const url = `http://127.0.0.1:${process.env[port]}${path}`;
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) });
  if (!ok) throw new Error(`${role} answers ${status} at ${path}`);
}
