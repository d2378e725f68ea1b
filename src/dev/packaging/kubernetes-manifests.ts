/** The manifests of deploy/kubernetes as objects, with the settings that their containers receive. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Container, PodSpec, PodTemplateSpec } from "kubernetes-types/core/v1.d.ts";
import { parseAllDocuments } from "yaml";
import type { GivenToRole } from "./role-settings.ts";

export type Manifest = {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
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
  readonly role: "edge" | "worker" | "dashboard" | "vault" | undefined;
};

const folder = join(import.meta.dirname, "../../../deploy/kubernetes");

/** Every object, in the order of the files. */
export const manifests: readonly Manifest[] = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((document) => {
      if (document.errors.length > 0) throw document.errors[0];
      return { file, ...document.toJS() } as Manifest;
    }),
  );

/** Every container that runs something, including init containers. */
export const containers: readonly PodContainer[] = manifests
  .filter(({ kind }) => kind === "Deployment" || kind === "Job")
  .flatMap((owner) => {
    const pod = (owner.spec as { template: PodTemplateSpec }).template.spec!;
    return [...(pod.initContainers ?? []), ...pod.containers].map((container) => {
      const args = container.args ?? [];
      const role = args[0] === "serve" ? (args[2] as PodContainer["role"]) : undefined;
      return { where: `${owner.file} ${container.name}`, owner, pod, container, role };
    });
  });

/** Returns the object of this kind and name in the namespace of another. */
export function besideOf(one: Manifest, kind: string, name: string): Manifest | undefined {
  return manifests.find(
    (other) =>
      other.kind === kind && other.metadata.name === name && other.metadata.namespace === one.metadata.namespace,
  );
}

/** Returns the variables of a container, from its maps and its own, and the files that are mounted into it. */
export function givenTo({ owner, pod, container }: PodContainer): GivenToRole {
  const maps = (container.envFrom ?? []).map(({ configMapRef }) => besideOf(owner, "ConfigMap", configMapRef!.name!)!);
  const own = (container.env ?? []).map(({ name, value }): [string, string] => [name, value ?? ""]);
  const variables = Object.assign({}, ...maps.map(({ data }) => data), Object.fromEntries(own));
  const files = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = pod.volumes?.find((each) => each.name === name);
    const secret = volume?.secret && besideOf(owner, "Secret", volume.secret.secretName!)?.stringData;
    const map = volume?.configMap && besideOf(owner, "ConfigMap", volume.configMap.name!)?.data;
    return Object.keys(secret ?? map ?? {}).map((key) => `${mountPath}/${key}`);
  });
  return { variables, hasFile: (path) => files.includes(path) };
}
