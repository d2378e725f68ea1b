/** The certificate files of a gRPC port that one of our roles serves, checked when the settings are read. */
import type { Setting } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";
import { checkTlsFiles, type TlsPaths } from "../platform/tls-files.ts";

type FileSetting = Setting<string | undefined>;

/** Reads the files; undefined if none of them is set: then the port is not encrypted. */
export function readServerTls(
  reader: SettingReader,
  { cert, key, clientCa }: { cert: FileSetting; key: FileSetting; clientCa: FileSetting },
): TlsPaths | undefined {
  if (![cert, key, clientCa].some((setting) => reader.isSet(setting))) return undefined;
  const paths = {
    certFile: reader.readNeeded(cert),
    keyFile: reader.readNeeded(key),
    clientCaFile: reader.read(clientCa),
  };
  reader.keepPrivate(key);
  try {
    if (paths.certFile !== undefined && paths.keyFile !== undefined) checkTlsFiles(paths);
  } catch (error) {
    const what = error instanceof Error ? error.message : "the files cannot be used";
    reader.problem(`${cert.name.replace(/CERT_FILE$/, "")}…:`, what);
  }
  return paths;
}
