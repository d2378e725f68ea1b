/** The certificate files of a TLS port: read at the start, checked, and reloaded when they change. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { SecureServerOptions } from "node:http2";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import { certificateLookEveryMs } from "../limits.ts";

/** Paths of PEM files. With a client CA only clients with a certificate of it can connect. */
export type TlsPaths = {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string | undefined;
};

// Older versions are broken (RFC 8996).
const protocol = { minVersion: "TLSv1.2" } as const;

type Pem = { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer };

/** Throws, naming no content, if files cannot be read, or if certificate and key do not belong together. */
export function checkTlsFiles(paths: TlsPaths): void {
  read(paths);
}

/** A set of files, reloaded when it changes. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #onBroken: (error: unknown) => void;
  readonly #lookEveryMs: number;
  #pem: Pem;

  /** `onBroken` receives the error of files that changed into something unusable; the old ones stay in use. */
  constructor(paths: TlsPaths, options: { onBroken: (error: unknown) => void; lookEveryMs?: number }) {
    this.#paths = paths;
    this.#onBroken = options.onBroken;
    this.#lookEveryMs = options.lookEveryMs ?? certificateLookEveryMs;
    this.#pem = read(paths);
  }

  get validUntil(): Date {
    return new X509Certificate(this.#pem.cert).validToDate;
  }

  serverOptions(): SecureServerOptions {
    const isMutual = this.#paths.clientCaFile !== undefined;
    return { ...this.#pem, ...protocol, allowHTTP1: false, requestCert: isMutual, rejectUnauthorized: isMutual };
  }

  /** Gives the server new files whenever they have changed; open connections stay. Returns a function that stops it. */
  renew(server: { setSecureContext(options: SecureContextOptions): void }): () => void {
    let seen = this.#pem;
    let reportedError = "";
    const look = () => {
      try {
        const found = readFiles(this.#paths);
        if (isDeepStrictEqual(found, seen)) return;
        seen = found;
        server.setSecureContext({ ...usable(found), ...protocol });
        this.#pem = found;
        reportedError = "";
      } catch (error) {
        // Reported once for each error, not at every check.
        if (String(error) !== reportedError) this.#onBroken(error);
        reportedError = String(error);
      }
    };
    // Compares the content: a file watcher's first state may already be newer than the one in use.
    const timer = setInterval(look, this.#lookEveryMs).unref();
    return () => clearInterval(timer);
  }
}

function read(paths: TlsPaths): Pem {
  return usable(readFiles(paths));
}

function readFiles({ certFile, keyFile, clientCaFile }: TlsPaths): Pem {
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    ...(clientCaFile !== undefined && { ca: readFileSync(clientCaFile) }),
  };
}

function usable(pem: Pem): Pem {
  createSecureContext(pem);
  return pem;
}
