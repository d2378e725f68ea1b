/** The certificate files of a TLS port: read at the start, checked, and read again when they change. */
import { X509Certificate } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import type { SecureServerOptions } from "node:http2";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { certificateLookEveryMs } from "../limits.ts";

/** Paths of PEM files. With a client CA only clients with a certificate of it get a connection. */
export type TlsPaths = {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string | undefined;
};

// Older versions are broken (RFC 8996).
const protocol = { minVersion: "TLSv1.2" } as const;

type Pem = { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer };

/** Throws, naming no content, when files cannot be read, or certificate and key do not belong together. */
export function checkTlsFiles(paths: TlsPaths): void {
  read(paths);
}

/** One set of files, as it is now and as it changes. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #onBroken: (error: unknown) => void;
  readonly #lookEveryMs: number;
  #pem: Pem;

  /** `onBroken` hears of files that changed into something unusable; the old ones stay in use. */
  constructor(paths: TlsPaths, options: { onBroken: (error: unknown) => void; lookEveryMs?: number }) {
    this.#paths = paths;
    this.#onBroken = options.onBroken;
    this.#lookEveryMs = options.lookEveryMs ?? certificateLookEveryMs;
    this.#pem = read(paths);
  }

  /** When the certificate that is in use ends. */
  get validUntil(): Date {
    return new X509Certificate(this.#pem.cert).validToDate;
  }

  /** What an HTTP/2 server is made with. */
  serverOptions(): SecureServerOptions {
    const isMutual = this.#paths.clientCaFile !== undefined;
    return { ...this.#pem, ...protocol, allowHTTP1: false, requestCert: isMutual, rejectUnauthorized: isMutual };
  }

  /** Gives the server new files whenever they have changed; connections that are open stay. Returns how to stop. */
  renew(server: { setSecureContext(options: SecureContextOptions): void }): () => void {
    const { certFile, keyFile, clientCaFile } = this.#paths;
    const paths = [certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])];
    const again = () => {
      try {
        this.#pem = read(this.#paths);
        server.setSecureContext({ ...this.#pem, ...protocol });
      } catch (error) {
        this.#onBroken(error);
      }
    };
    // By their times, not by events: files of a mounted secret are links that are turned over.
    for (const path of paths) watchFile(path, { interval: this.#lookEveryMs, persistent: false }, again);
    return () => {
      for (const path of paths) unwatchFile(path, again);
    };
  }
}

function read({ certFile, keyFile, clientCaFile }: TlsPaths): Pem {
  const pem = {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    ...(clientCaFile !== undefined && { ca: readFileSync(clientCaFile) }),
  };
  createSecureContext(pem);
  return pem;
}
