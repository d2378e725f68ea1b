/** The settings of the vault's own role. */
import { databaseUrl, file, optional, port, required, text } from "../platform/setting.ts";

/** Read by the vault alone. */
export const vaultRoleSettings = {
  databaseUrl: required("SWITCHYARD_VAULT_DATABASE_URL", {
    roles: ["vault"],
    kind: databaseUrl,
    about: "the vault's database",
    example: "postgres://vault:…@db-vault/vault?sslmode=verify-full",
  }),
  publicPort: required("SWITCHYARD_VAULT_PORT", {
    roles: ["vault"],
    kind: port,
    about: "its public port: the card frame",
    example: "8082",
  }),
  grpcPort: required("SWITCHYARD_VAULT_GRPC_PORT", {
    roles: ["vault"],
    kind: port,
    about: "its port for edge and worker; keep it private",
    example: "8083",
  }),
  keysFile: required("SWITCHYARD_{ENV}_VAULT_KEYS_FILE", {
    roles: ["vault"],
    kind: file("the key file that `switchyard server-keys generate` wrote"),
    about: "the vault's key file, written beside the other",
    example: "/etc/switchyard/vault-keys-live.json",
  }),
} as const;

/** Node's own: the vault looks at it for what would write its memory to a disk. It is no setting of ours, and on no page. */
export const nodeOptionsSetting = optional("NODE_OPTIONS", {
  roles: ["vault"],
  kind: text(/^/, "options of node"),
  about: "options of node",
  example: "",
});
