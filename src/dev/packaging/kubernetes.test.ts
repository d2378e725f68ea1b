/** Tests deploy/kubernetes: valid by Kubernetes' own types, hardened, and with settings that every role starts with. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import type { PodTemplateSpec } from "kubernetes-types/core/v1.d.ts";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import packageJson from "../../../package.json" with { type: "json" };
import { containers, givenTo, type Manifest, manifests, type PodContainer } from "./kubernetes-manifests.ts";
import * as rules from "./kubernetes-rules.ts";
import { findSettingProblems } from "./role-settings.ts";

const root = join(import.meta.dirname, "../../..");
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const roleOf = (role: string) => containers.find((one) => one.role === role)!;

/**
 * Returns the compiler's errors for objects written as literals of Kubernetes' types: unknown, missing and mistyped
 * fields.
 */
async function compile(objects: readonly Manifest[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "manifests-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const text = objects.map(({ file, ...object }) => {
      const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["core", "v1"];
      const module = `kubernetes-types/${group!.replace(/\.k8s\.io$/, "")}/${version}`;
      return `/* ${file} */ export default ${JSON.stringify(object)} satisfies import("${module}").${object.kind};`;
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

function changed(one: PodContainer, container: object, pod: object = {}): PodContainer {
  return { ...one, container: { ...one.container, ...container }, pod: { ...one.pod, ...pod } };
}

describe("deploy/kubernetes", () => {
  it("is valid by the types of Kubernetes, which detect a wrong field", async () => {
    const known = manifests.filter(({ kind }) => kind !== "Kustomization");
    expect(known.length).toBeGreaterThan(30);
    const wrong = { ...ofKind("Service")[0]!, spec: { ports: [{ port: "8080", targetport: 1 }] } };
    const [found, foundWrong] = await Promise.all([compile(known), compile([wrong])]);
    expect(found).toBe("");
    expect(foundWrong).toMatch(/'string' is not assignable to type 'number'|targetport/);
  });

  it("gives each role settings that it starts with", () => {
    const served = containers.filter(({ role }) => role !== undefined);
    expect(served.map(({ role }) => role).toSorted()).toEqual(["dashboard", "edge", "vault", "worker"]);
    expect(served.flatMap((one) => findSettingProblems(one.role!, givenTo(one)))).toEqual([]);
    const { variables, hasFile } = givenTo(roleOf("edge"));
    const lacking: Record<string, string> = { ...variables, SWITCHYARD_PUBLIC_PROT: "1" };
    delete lacking.SWITCHYARD_API_ORIGIN;
    expect(findSettingProblems("edge", { variables: lacking, hasFile }).join("\n")).toMatch(
      /SWITCHYARD_API_ORIGIN is not set[\s\S]*SWITCHYARD_PUBLIC_PROT/,
    );
  });

  it("speaks TLS to the vault, which requires a client certificate", () => {
    expect(givenTo(roleOf("vault")).variables).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE");
    expect(givenTo(roleOf("vault")).variables).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CA_FILE");
    for (const role of ["edge", "worker", "dashboard"]) {
      expect(givenTo(roleOf(role)).variables).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE");
      expect(givenTo(roleOf(role)).variables).toHaveProperty("SWITCHYARD_VAULT_GRPC_TLS_CA_FILE");
    }
  });

  it("gives the vault's keys only to the vault, and the others' never to it", () => {
    const names = (role: string) => Object.keys(givenTo(roleOf(role)).variables).join(" ");
    expect(names("vault")).not.toMatch(/_(TEST|LIVE)_(KEYS|DATABASE|NATS)|ACCOUNTS/);
    for (const role of ["edge", "worker", "dashboard"]) expect(names(role)).not.toMatch(/VAULT_(KEYS|DATABASE)/);
    expect(names("worker")).not.toMatch(/ACCOUNTS_KEYS/);
  });

  it("runs every container without privileges, and with limits", () => {
    expect(containers.flatMap(rules.findLooseSecurity)).toEqual([]);
    const edge = roleOf("edge");
    const loose = changed(edge, { securityContext: {}, resources: {} }, { securityContext: {} });
    expect(rules.findLooseSecurity(loose)).toHaveLength(7);
  });

  it("probes, drains and spreads every server", () => {
    const findMissingCare = (one: PodContainer) => rules.findMissingCare(one, givenTo(one).variables);
    expect(containers.flatMap(findMissingCare)).toEqual([]);
    const hasty = changed(roleOf("vault"), { readinessProbe: undefined }, { terminationGracePeriodSeconds: 10 });
    expect(findMissingCare(hasty)).toHaveLength(3);
  });

  it("names the ports in the settings", () => {
    expect(containers.flatMap((one) => rules.findPortMistakes(one, givenTo(one).variables))).toEqual([]);
    expect(rules.findPortMistakes(roleOf("edge"), { SWITCHYARD_PUBLIC_PORT: "80" })).toHaveLength(1);
    expect(ofKind("Service").flatMap((service) => rules.findDeadServicePorts(service, containers))).toEqual([]);
  });

  it("lets each component reach what it calls, including webhooks and mail where they are sent from", () => {
    const sends = [5432, 4222, 443, 8443, 465, 587];
    const policies = ofKind("NetworkPolicy").filter(({ metadata }) => metadata.name !== "nothing");
    const out = policies.map((each) => [each.metadata.name, rules.portsOutside(each)]);
    expect(out).toEqual([
      ...["edge", "worker", "dashboard"].map((name) => [name, sends]),
      ...[
        ["migrate", [5432]],
        ["vault", [5432, 443]],
        ["migrate", [5432]],
      ],
    ]);
  });

  it("has a rule for traces that only needs to be uncommented, for every role", () => {
    const text = readFileSync(join(root, "deploy", "kubernetes", "network-policies.yaml"), "utf8");
    const open = parseAllDocuments(text.replaceAll(/^( {4})# (?=- to:| )/gm, "$1")).map((each) => each.toJS());
    const traced = open.filter(({ spec }) => JSON.stringify(spec.egress?.at(-1) ?? {}).includes('"port":4318'));
    expect(traced.map(({ metadata }) => metadata.name)).toEqual(["edge", "worker", "dashboard", "vault"]);
  });

  it("lets only edge and worker reach the vault, and no caller reach the worker", () => {
    const policy = (name: string) => ofKind("NetworkPolicy").find(({ metadata }) => metadata.name === name)!;
    expect(rules.callersOf(policy("vault"), 8083)).toEqual(["switchyard/edge", "switchyard/worker"]);
    expect(rules.callersOf(policy("vault"), 8082)).toEqual(["ingress-nginx/*"]);
    const callers = [8080, 8081, 8082, 8083, 8084, 9464].flatMap((port) => rules.callersOf(policy("worker"), port));
    expect(callers).toEqual(["monitoring/*"]);
    const shut = ofKind("NetworkPolicy").filter(({ metadata }) => metadata.name === "nothing");
    expect(shut.map(({ metadata, spec }) => [metadata.namespace, spec])).toEqual(
      ["switchyard", "switchyard-vault"].map((name) => [name, { podSelector: {}, policyTypes: ["Ingress", "Egress"] }]),
    );
  });

  it("keeps a copy of every role while nodes drain, and scales roles under load", () => {
    const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name);
    expect(names("PodDisruptionBudget")).toEqual(["dashboard", "edge", "vault", "worker"]);
    expect(names("HorizontalPodAutoscaler")).toEqual(["edge", "vault", "worker"]);
  });

  it("has an overlay that sets every host, and patches what is there", () => {
    const overlay = (file: string) => readFileSync(join(root, "deploy", "kustomize-example", file), "utf8");
    const { bases, images, patchesStrategicMerge, patchesJson6902 } = parse(overlay("kustomization.yaml"));
    expect([bases, images[0].newTag]).toEqual([["../kubernetes"], packageJson.version]);
    const patches = parseAllDocuments(overlay(patchesStrategicMerge[0])).map((each) => each.toJS() as Manifest);
    for (const { kind, metadata, data } of patches) {
      const { data: patched } = ofKind(kind).find(({ metadata: of }) => isDeepStrictEqual(of, metadata))!;
      expect(Object.keys(patched!)).toEqual(expect.arrayContaining(Object.keys(data!)));
      const left = Object.entries({ ...patched, ...data }).filter(([, value]) => value.includes("example.com"));
      expect([metadata.name, left]).toEqual([metadata.name, []]);
    }
    const rules = patchesJson6902.map(({ target, path }: { target: { name: string }; path: string }) => {
      const ingress = JSON.stringify(ofKind("Ingress").find(({ metadata }) => metadata.name === target.name));
      return [target.name, ingress.split("example.com").length - 1, parse(overlay(path)).length];
    });
    expect(rules).toEqual([
      ["switchyard", 4, 4],
      ["vault", 2, 2],
    ]);
  });

  it("has a monitor for the operator of Prometheus that finds every pod", () => {
    const { spec } = parse(readFileSync(join(root, "deploy", "prometheus", "pod-monitors.yaml"), "utf8"));
    expect(spec.namespaceSelector.matchNames).toEqual(
      ofKind("Namespace")
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    );
    const deployments = ofKind("Deployment").map((each) => (each.spec as { template: PodTemplateSpec }).template);
    for (const { metadata, spec: pod } of deployments) {
      expect(metadata!.labels).toMatchObject(spec.selector.matchLabels);
      expect(pod!.containers[0]!.ports!.map(({ name }) => name)).toContain(spec.podMetricsEndpoints[0].port);
    }
  });

  it("runs the image of this version, and applies every file but the two that are no part of a rollout", () => {
    const image = `switchyard:${packageJson.version}`;
    expect([...new Set(containers.map(({ container }) => container.image))]).toEqual([image]);
    const folder = join(root, "deploy", "kubernetes");
    const kustomization = readFileSync(join(folder, "kustomization.yaml"), "utf8");
    expect(kustomization).toContain(`newTag: ${packageJson.version}`);
    const applied = [...kustomization.matchAll(/^ {2}- (\S+\.yaml)$/gm)].map(([, file]) => file!);
    const apart = ["kustomization.yaml", "migrations.yaml", "secrets.example.yaml"];
    expect([...applied, ...apart].toSorted()).toEqual(readdirSync(folder).toSorted());
    const jobs = ofKind("Job").map(({ metadata }) => metadata.name);
    expect(jobs.every((name) => name.endsWith(packageJson.version.replaceAll(".", "-")))).toBe(true);
  });
});
