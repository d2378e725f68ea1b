/** Our rules for Kubernetes manifests, beyond their types. Each returns a line for every violation. */
import type { NetworkPolicySpec } from "kubernetes-types/networking/v1.d.ts";
import { besideOf, type Manifest, type PodContainer } from "./kubernetes-manifests.ts";

export function findLooseSecurity({ where, pod, container }: PodContainer): string[] {
  const { securityContext: own, resources } = container;
  const lent = pod.securityContext;
  return lines(where, {
    "may be root": lent?.runAsNonRoot !== true || lent.runAsUser !== 10_001 || own?.runAsUser !== undefined,
    "has no seccomp profile": lent?.seccompProfile?.type !== "RuntimeDefault",
    "may write its file system": own?.readOnlyRootFilesystem !== true,
    "may gain privileges": own?.allowPrivilegeEscalation !== false || own.privileged === true,
    "keeps capabilities": own?.capabilities?.drop?.join() !== "ALL" || own.capabilities.add !== undefined,
    "has no limits": resources?.limits?.memory === undefined || resources.limits.cpu === undefined,
    "has no requests": resources?.requests?.memory === undefined || resources.requests.cpu === undefined,
    "gets a token of Kubernetes": pod.automountServiceAccountToken !== false,
    "gets variables for services": pod.enableServiceLinks !== false,
    "shares the node": pod.hostNetwork === true || pod.hostPID === true || pod.hostIPC === true,
    "is given a secret as a variable": (container.env ?? []).some(({ valueFrom }) => valueFrom?.secretKeyRef),
  });
}

// The time that a role needs after its shutdown grace (docs/upgrades.md).
const stopSecondsAfterGrace = 25;

export function findMissingCare(one: PodContainer, variables: Readonly<Record<string, string>>): string[] {
  const { where, pod, container, role } = one;
  if (role === undefined) return [];
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const graceSeconds = Number(variables.SWITCHYARD_SHUTDOWN_GRACE_MS) / 1_000;
  const unreadySeconds = (readinessProbe?.periodSeconds ?? 10) * (readinessProbe?.failureThreshold ?? 3);
  const doors = [startupProbe, livenessProbe, readinessProbe].map(
    (probe) => probe?.httpGet?.port ?? probe?.tcpSocket?.port,
  );
  const names = (container.ports ?? []).map(({ name }) => name);
  return lines(where, {
    "lacks a probe": doors.some((door) => door === undefined),
    "is probed at a port that it has not": doors.some((door) => door !== undefined && !names.includes(String(door))),
    "is killed by a readiness path": /^\/ready/.test(livenessProbe?.httpGet?.path ?? ""),
    "is ready by a path that says nothing of leaving": readinessProbe?.httpGet?.path === "/healthz",
    "is killed before it ends": !((pod.terminationGracePeriodSeconds ?? 0) >= graceSeconds + stopSecondsAfterGrace),
    // Twice: removal from Kubernetes' endpoints has to propagate. Nothing is sent to a worker.
    "leaves before balancers know": role !== "worker" && !(graceSeconds > 2 * unreadySeconds),
    "is not spread": (pod.topologySpreadConstraints ?? []).length < 2,
  });
}

export function findPortMistakes(one: PodContainer, variables: Readonly<Record<string, string>>): string[] {
  if (one.role === undefined) return [];
  const listens = {
    edge: ["PUBLIC_PORT", "GRPC_PORT", "METRICS_PORT"],
    worker: ["METRICS_PORT"],
    dashboard: ["DASHBOARD_PORT", "METRICS_PORT"],
    vault: ["VAULT_PORT", "VAULT_GRPC_PORT", "METRICS_PORT"],
  }[one.role];
  const bySettings = listens.map((name) => Number(variables[`SWITCHYARD_${name}`])).toSorted();
  const named = (one.container.ports ?? []).map(({ containerPort }) => containerPort).toSorted();
  return lines(one.where, { [`listens on ${bySettings} and names ${named}`]: bySettings.join() !== named.join() });
}

type ServiceSpec = { ports: { port: number; targetPort: string }[] };

export function findDeadServicePorts(service: Manifest, containers: readonly PodContainer[]): string[] {
  const deployment = besideOf(service, "Deployment", service.metadata.name);
  const target = containers.find(({ owner }) => owner === deployment)?.container;
  return (service.spec as ServiceSpec).ports.flatMap(({ port, targetPort }) => {
    const named = target?.ports?.find(({ name }) => name === targetPort);
    return named?.containerPort === port
      ? []
      : [`${service.file} ${service.metadata.name}: ${targetPort} is not ${port}`];
  });
}

/**
 * Returns the allowed callers of a port, as `namespace/component`, by the policy of a component; `*` for a whole
 * namespace.
 */
export function callersOf(policy: Manifest, port: number): string[] {
  const { ingress = [] } = policy.spec as NetworkPolicySpec;
  return ingress
    .filter(({ ports = [] }) => ports.some((each) => each.port === port))
    .flatMap(({ from = [] }) => from)
    .map(({ namespaceSelector, podSelector }) => {
      const namespace = namespaceSelector?.matchLabels?.["kubernetes.io/metadata.name"] ?? policy.metadata.namespace;
      return `${namespace}/${podSelector?.matchLabels?.["app.kubernetes.io/component"] ?? (podSelector ? "labelled" : "*")}`;
    });
}

/** Returns the ports outside the cluster that a component may call, by its policy. */
export function portsOutside(policy: Manifest): number[] {
  const { egress = [] } = policy.spec as NetworkPolicySpec;
  return egress
    .filter(({ to = [] }) => to.some(({ ipBlock }) => ipBlock !== undefined))
    .flatMap(({ ports = [] }) => ports.map(({ port }) => Number(port)));
}

function lines(where: string, broken: Readonly<Record<string, boolean | undefined | object>>): string[] {
  return Object.entries(broken).flatMap(([what, isSo]) => (isSo ? [`${where}: ${what}`] : []));
}
