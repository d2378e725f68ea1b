/** Certificates for tests of TLS: a test authority, and the certificates that it signs, in files. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import forge from "node-forge";

export type IssuedCertificate = {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
};

type Keys = forge.pki.rsa.KeyPair;

// Enough for OpenSSL's default security level, and quick to generate.
const keyBits = 2048;
const dayMs = 86_400_000;

/** An authority, with its files in a folder that is removed when it is closed. */
export class TestAuthority {
  readonly cert: string;
  readonly certFile: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "switchyard-certificates-"));
  readonly #keys: Keys;
  readonly #name: string;
  #serial = 1;

  constructor(name: string) {
    this.#name = name;
    this.#keys = forge.pki.rsa.generateKeyPair(keyBits);
    this.cert = this.#sign(name, this.#keys, [{ name: "basicConstraints", cA: true, critical: true }]);
    this.certFile = this.#write("authority.pem", this.cert);
  }

  /** Issues a certificate for a server on loopback, under the name `host`, or a client; a later one of the same name replaces its files. */
  issue(name: string, { isOver = false, host = "localhost" } = {}): IssuedCertificate {
    const keys = forge.pki.rsa.generateKeyPair(keyBits);
    const extensions = [
      { name: "extKeyUsage", serverAuth: true, clientAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          { type: 7, ip: "127.0.0.1" },
          { type: 2, value: host },
        ],
      },
    ];
    const endsAt = new Date(Date.now() + (isOver ? -dayMs / 2 : dayMs));
    const cert = this.#sign(name, keys, extensions, endsAt);
    const key = forge.pki.privateKeyToPem(keys.privateKey);
    return { cert, key, certFile: this.#write(`${name}.pem`, cert), keyFile: this.#write(`${name}.key`, key) };
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  #sign(subject: string, keys: Keys, extensions: object[], endsAt = new Date(Date.now() + dayMs)): string {
    const certificate = forge.pki.createCertificate();
    certificate.publicKey = keys.publicKey;
    certificate.serialNumber = String(this.#serial++).padStart(2, "0");
    certificate.validity.notBefore = new Date(Date.now() - dayMs);
    certificate.validity.notAfter = endsAt;
    certificate.setSubject([{ name: "commonName", value: subject }]);
    certificate.setIssuer([{ name: "commonName", value: this.#name }]);
    certificate.setExtensions(extensions);
    certificate.sign(this.#keys.privateKey, forge.md.sha256.create());
    return forge.pki.certificateToPem(certificate);
  }

  #write(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }
}
