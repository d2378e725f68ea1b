/** Tests deploy/helm by Helm itself: valid by Kubernetes' own types, hardened, and settings that every role starts with. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { PodTemplateSpec, Probe } from "kubernetes-types/core/v1.d.ts";
import type { NetworkPolicyIngressRule, NetworkPolicySpec } from "kubernetes-types/networking/v1.d.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../../../package.json" with { type: "json" };
import {
  type ChartRole,
  chart,
  containersIn,
  givenTo,
  hasHelm,
  type Manifest,
  objectsIn,
  render,
  roles,
  runHelm,
} from "./helm-chart.ts";
import { findSettingProblems } from "./role-settings.ts";

const root = join(import.meta.dirname, "../../..");
const examples = objectsIn(readFileSync(join(chart, "secrets.example.yaml"), "utf8"));
const manifestsOf = (values: object = {}) => [...examples, ...roles.flatMap((role) => render(role, values))];
const manifests = hasHelm ? manifestsOf() : [];
const containers = containersIn(manifests);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const roleOf = (role: ChartRole) => containers.find((one) => one.role === role)!;
const variablesOf = (role: ChartRole) => givenTo(manifests, roleOf(role)).variables;

/** Returns the compiler's errors for objects as literals of Kubernetes' types. */
async function compile(objects: readonly Manifest[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "manifests-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const text = objects.map((object) => {
      const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["core", "v1"];
      const module = `kubernetes-types/${group!.replace(/\.k8s\.io$/, "")}/${version}`;
      return `export default ${JSON.stringify(object)} satisfies import("${module}").${object.kind};`;
    });
    for (const [index, line] of text.entries()) writeFileSync(join(folder, `manifest-${index}.ts`), line);
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "preserve", "--types", ""];
    const names = text.map((_, index) => `manifest-${index}.ts`);
    const ran = promisify(execFile)(process.execPath, [tsc, ...options, ...names], { cwd: folder });
    return await ran.then(
      () => "",
      ({ stdout }: { stdout: string }) => stdout,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("deploy/helm", () => {
  beforeEach(({ skip }) => skip(!hasHelm, "there is no Helm for this machine"));

  it("passes Helm's own linter, for every role", () => {
    for (const role of roles)
      expect(runHelm(["lint", chart, "--set", `role=${role}`, "--strict"])).toContain("0 chart(s)");
  });

  it("is valid by the types of Kubernetes, which detect a wrong field", async () => {
    expect(manifests.length).toBeGreaterThan(30);
    const wrong = { ...ofKind("Service")[0]!, spec: { ports: [{ port: "8080", targetport: 1 }] } };
    const [found, foundWrong] = await Promise.all([compile(manifests), compile([wrong])]);
    expect(found).toBe("");
    expect(foundWrong).toMatch(/'string' is not assignable to type 'number'|targetport/);
  });

  it("refuses values that it does not know", () => {
    expect(() => render("gateway")).toThrow(/role: .*must be one of/);
    expect(() => render("edge", { environments: ["life"] })).toThrow(/environments.0/);
    expect(() => render("edge", { settings: { SWITCHYRD_HOST: "a" } })).toThrow(/settings/);
    expect(() => render("edge", { images: {} })).toThrow(/images/);
  });

  it("gives each role settings that it starts with", () => {
    const served = containers.filter(({ role }) => role !== undefined);
    expect(served.map(({ role }) => role)).toEqual(roles);
    expect(served.flatMap((one) => findSettingProblems(one.role!, givenTo(manifests, one)))).toEqual([]);
    const { variables, hasFile } = givenTo(manifests, roleOf("edge"));
    const lacking: Record<string, string> = { ...variables, SWITCHYARD_PUBLIC_PROT: "1" };
    delete lacking.SWITCHYARD_API_ORIGIN;
    expect(findSettingProblems("edge", { variables: lacking, hasFile }).join("\n")).toMatch(
      /SWITCHYARD_API_ORIGIN is not set[\s\S]*SWITCHYARD_PUBLIC_PROT/,
    );
  });

  it("sets every host by the values, serves live alone, and takes further settings", () => {
    const hosts = { api: "pay.acme.test", vault: "cards.acme.test", dashboard: "dashboard.acme.test" };
    const [settings, vaultSettings] = [{ SWITCHYARD_LOG_LEVEL: "warn" }, { SWITCHYARD_LOG_LEVEL: "error" }];
    const live = manifestsOf({ hosts, environments: ["live"], settings, vaultSettings });
    expect(JSON.stringify(live)).not.toContain("example.com");
    const run = containersIn(live);
    for (const one of run.filter(({ role }) => role !== undefined)) {
      const { variables, hasFile } = givenTo(live, one);
      expect(JSON.stringify(variables)).not.toMatch(/_TEST_/);
      expect(variables).toMatchObject(one.role === "vault" ? vaultSettings : settings);
      expect(findSettingProblems(one.role!, { variables, hasFile })).toEqual([]);
    }
    const migrated = run.filter(({ role }) => role === undefined).map(({ container }) => container.name);
    expect(migrated).toEqual(["vault", "accounts", "live"]);
  });

  it("speaks TLS to the vault, which requires a client certificate", () => {
    expect(variablesOf("vault")).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE");
    expect(variablesOf("vault")).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CA_FILE");
    for (const role of ["edge", "worker", "dashboard"] as const) {
      const file = `/vault-${role === "dashboard" ? "dashboard" : "client"}.crt`;
      expect(variablesOf(role).SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE?.endsWith(file)).toBe(true);
      expect(variablesOf(role)).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CA_FILE");
    }
  });

  it("gives the vault's keys only to the vault, and the others' never to it", () => {
    const names = (role: ChartRole) => Object.keys(variablesOf(role)).join(" ");
    expect(names("vault")).not.toMatch(/_(TEST|LIVE)_(KEYS|DATABASE|NATS)|ACCOUNTS/);
    for (const role of ["edge", "worker", "dashboard"] as const)
      expect(names(role)).not.toMatch(/VAULT_(KEYS|DATABASE)/);
    expect(names("worker")).not.toMatch(/ACCOUNTS_KEYS/);
  });

  it("runs every container without privileges, without a token of Kubernetes, with limits, and secrets as files", () => {
    const limited = { cpu: expect.any(String), memory: expect.any(String) };
    expect(containers).toHaveLength(8);
    for (const { where, pod, container } of containers) {
      const { securityContext, resources, env } = container;
      expect({ where, securityContext, resources, env }).toEqual({
        where,
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        resources: { requests: limited, limits: limited },
        env: undefined,
      });
      const { volumes, containers: _, initContainers, topologySpreadConstraints, restartPolicy, ...rest } = pod;
      expect(rest).toEqual({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 10_001,
          runAsGroup: 10_001,
          fsGroup: 10_001,
          seccompProfile: { type: "RuntimeDefault" },
        },
        ...(pod.terminationGracePeriodSeconds && { terminationGracePeriodSeconds: 35 }),
      });
    }
  });

  it("probes, drains and spreads every server", () => {
    const doorOf = (probe: Probe | undefined) => probe?.httpGet?.port ?? probe?.tcpSocket?.port;
    for (const role of roles) {
      const { pod, container } = roleOf(role);
      const { startupProbe, livenessProbe, readinessProbe, ports = [] } = container;
      const doors = [startupProbe, livenessProbe, readinessProbe].map(doorOf);
      expect(ports.map(({ name }) => name)).toEqual(expect.arrayContaining(doors));
      const paths = [livenessProbe?.httpGet?.path, readinessProbe?.httpGet?.path];
      expect([role, paths]).toEqual([role, role === "worker" ? [undefined, "/ready"] : ["/healthz", "/readyz"]]);
      const graceSeconds = Number(variablesOf(role).SWITCHYARD_SHUTDOWN_GRACE_MS) / 1_000;
      // The time that a role needs after its shutdown grace (docs/upgrades.md).
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(graceSeconds + 25);
      const unreadySeconds = (readinessProbe?.periodSeconds ?? 10) * (readinessProbe?.failureThreshold ?? 3);
      // Twice: removal from Kubernetes' endpoints has to propagate. Nothing is sent to a worker.
      if (role !== "worker") expect(graceSeconds).toBeGreaterThan(2 * unreadySeconds);
      expect(pod.topologySpreadConstraints).toHaveLength(2);
    }
  });

  it("names the ports in the settings, and serves those that a role listens on", () => {
    const listens = {
      edge: ["PUBLIC_PORT", "GRPC_PORT"],
      worker: [],
      dashboard: ["DASHBOARD_PORT"],
      vault: ["VAULT_PORT", "VAULT_GRPC_PORT"],
    };
    for (const role of roles) {
      const bySettings = [...listens[role], "METRICS_PORT"].map((name) =>
        Number(variablesOf(role)[`SWITCHYARD_${name}`]),
      );
      const ports = roleOf(role).container.ports ?? [];
      expect(ports.map(({ containerPort }) => containerPort).toSorted()).toEqual(bySettings.toSorted());
      const service = ofKind("Service").find(({ metadata }) => metadata.name === role);
      const served = (service?.spec as { ports: { port: number; targetPort: string }[] } | undefined)?.ports ?? [];
      const wanted = ports
        .filter(({ name }) => name !== "metrics")
        .map(({ name, containerPort }) => [name, containerPort]);
      expect(served.map(({ port, targetPort }) => [targetPort, port])).toEqual(wanted);
    }
  });

  const policyOf = (name: string) =>
    ofKind("NetworkPolicy").find(({ metadata }) => metadata.name === name)!.spec as NetworkPolicySpec;

  it("lets each component reach what it calls, including webhooks and mail where they are sent from", () => {
    const sends = [5432, 4222, 443, 8443, 465, 587];
    const outside = ({ egress = [] }: NetworkPolicySpec) =>
      egress
        .filter(({ to = [] }) => to.some(({ ipBlock }) => ipBlock !== undefined))
        .flatMap(({ ports = [] }) => ports.map(({ port }) => port));
    const policies = ofKind("NetworkPolicy").filter(({ metadata }) => metadata.name !== "nothing");
    const out = policies.map(({ metadata, spec }) => [metadata.name, outside(spec as NetworkPolicySpec)]);
    expect(out.toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual([
      ["dashboard", sends],
      ["edge", sends],
      ["migrate", [5432]],
      ["migrate", [5432]],
      ["vault", [5432, 443]],
      ["worker", sends],
    ]);
  });

  it("opens the way to a collector of traces together with its setting, for every role", () => {
    const traces = "http://collector.monitoring:4318";
    for (const role of roles) {
      const traced = render(role, { monitoring: { namespace: "monitoring", traces } });
      const { spec } = traced.find(({ kind, metadata }) => kind === "NetworkPolicy" && metadata.name === role)!;
      expect((spec as NetworkPolicySpec).egress?.at(-1)?.ports).toEqual([{ port: 4318, protocol: "TCP" }]);
      expect(traced.find(({ kind }) => kind === "ConfigMap")!.data).toHaveProperty(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        traces,
      );
      expect(JSON.stringify(policyOf(role))).not.toContain("4318");
    }
  });

  it("lets only edge, worker and dashboard reach the vault, and no caller reach the worker", () => {
    const of = ({ from = [] }: NetworkPolicyIngressRule) =>
      from.map(({ namespaceSelector, podSelector }) => [
        namespaceSelector?.matchLabels?.["kubernetes.io/metadata.name"],
        podSelector?.matchLabels?.["app.kubernetes.io/component"],
      ]);
    const callers = (role: ChartRole) =>
      policyOf(role).ingress?.map((rule) => [rule.ports?.map(({ port }) => port), of(rule)]);
    const monitoring = [[9464], [["monitoring", undefined]]];
    const service = ["edge", "worker", "dashboard"].map((role) => ["switchyard", role]);
    expect(callers("vault")).toEqual([monitoring, [[8082], [["ingress-nginx", undefined]]], [[8083], service]]);
    expect(callers("worker")).toEqual([monitoring]);
    const shut = ofKind("NetworkPolicy").filter(({ metadata }) => metadata.name === "nothing");
    expect(shut.map(({ metadata, spec }) => [metadata.namespace, spec])).toEqual(
      ["switchyard-vault", "switchyard"].map((name) => [name, { podSelector: {}, policyTypes: ["Ingress", "Egress"] }]),
    );
  });

  it("keeps a copy of every role while nodes drain, and scales roles under load", () => {
    const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name);
    expect(names("PodDisruptionBudget")).toEqual(roles);
    expect(names("HorizontalPodAutoscaler")).toEqual(["vault", "worker", "edge"]);
    const copies = ofKind("Deployment").map(({ spec }) => (spec as { replicas?: number }).replicas);
    expect(copies).toEqual([undefined, undefined, undefined, 2]);
  });

  it("migrates before the pods of a new version, and never at a rollback", () => {
    const jobs = ofKind("Job").map(({ metadata }) => [metadata.namespace, metadata.annotations?.["helm.sh/hook"]]);
    expect(jobs).toEqual([
      ["switchyard-vault", "pre-install,pre-upgrade"],
      ["switchyard", "pre-install,pre-upgrade"],
    ]);
    const steps = containers.filter(({ role }) => role === undefined).map(({ container }) => container.args![2]);
    expect(steps).toEqual(["vault", "accounts", "environment", "environment"]);
  });

  it("replaces the pods when a setting changes", () => {
    const stamp = (values: object) => {
      const { spec } = render("edge", values).find(({ kind }) => kind === "Deployment")!;
      return (spec as { template: PodTemplateSpec }).template.metadata!.annotations;
    };
    expect(stamp({})).toEqual(stamp({ ingress: { className: "other" } }));
    expect(stamp({})).not.toEqual(stamp({ settings: { SWITCHYARD_LOG_LEVEL: "warn" } }));
  });

  it("has a monitor for the operator of Prometheus that finds every pod", () => {
    const { spec } = parse(readFileSync(join(root, "deploy", "prometheus", "pod-monitors.yaml"), "utf8"));
    const deployments = ofKind("Deployment");
    expect([...new Set(deployments.map(({ metadata }) => metadata.namespace))].toSorted()).toEqual(
      spec.namespaceSelector.matchNames,
    );
    for (const deployment of deployments) {
      const { metadata, spec: pod } = (deployment.spec as { template: PodTemplateSpec }).template;
      expect(metadata!.labels).toMatchObject(spec.selector.matchLabels);
      expect(pod!.containers[0]!.ports!.map(({ name }) => name)).toContain(spec.podMetricsEndpoints[0].port);
    }
  });

  it("runs the image of this version, or of a digest", () => {
    const images = (objects: readonly Manifest[]) => [
      ...new Set(containersIn(objects).map(({ container }) => container.image)),
    ];
    expect(images(manifests)).toEqual([`switchyard:${packageJson.version}`]);
    expect(parse(readFileSync(join(chart, "Chart.yaml"), "utf8")).version).toBe(packageJson.version);
    const image = { repository: "registry.acme.test/switchyard", tag: "@sha256:ab" };
    expect(images(render("worker", { image }))).toEqual(["registry.acme.test/switchyard@sha256:ab"]);
  });

  it("is installed by the guide in the order of an upgrade", () => {
    for (const page of ["deploying-kubernetes.md", "upgrades.md"])
      expect(readFileSync(join(root, "docs", page), "utf8")).toContain(`for role in ${roles.join(" ")}; do`);
  });
});
