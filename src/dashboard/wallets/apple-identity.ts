/** The key with which Apple knows a merchant: made here, and the checks of the certificate that Apple issues for it. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { Utf8String } from "asn1js";
import { AttributeTypeAndValue, CertificationRequest } from "pkijs";
import { v7 } from "uuid";
import { type AppleIdentity, unsealIdentity } from "../../accounts/merchant-wallets.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MerchantId } from "../../platform/ids.ts";
import type { KeyRing } from "../../platform/secrets.ts";

const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

/** Makes a key (RSA 2048) and the request for its certificate (PKCS #10), in PEM. */
export async function makeIdentityKey(merchantIdentifier: string) {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const { subtle } = globalThis.crypto;
  const signing = await subtle.importKey("pkcs8", derOf(privateKey, "pkcs8"), algorithm, false, ["sign"]);
  const verifying = await subtle.importKey("spki", derOf(publicKey, "spki"), algorithm, true, ["verify"]);
  const request = new CertificationRequest();
  const name = new Utf8String({ value: merchantIdentifier });
  request.subject.typesAndValues.push(new AttributeTypeAndValue({ type: "2.5.4.3", value: name }));
  await request.subjectPublicKeyInfo.importKey(verifying);
  await request.sign(signing, "SHA-256");
  const base64 = Buffer.from(request.toSchema().toBER()).toString("base64");
  const lines = base64.match(/.{1,64}/g) ?? [];
  return {
    id: v7(),
    pem: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    signingRequest: ["-----BEGIN CERTIFICATE REQUEST-----", ...lines, "-----END CERTIFICATE REQUEST-----", ""].join(
      "\n",
    ),
  };
}

function derOf(key: KeyObject, type: "pkcs8" | "spki"): Uint8Array<ArrayBuffer> {
  return new Uint8Array(key.export({ format: "der", type: type as "spki" }));
}

/** Returns a certificate, in DER or PEM, for an identity's key. Throws `invalid_field` with the first rule that it breaks. */
export function readIdentityCertificate(
  bytes: Uint8Array,
  of: {
    readonly identity: AppleIdentity;
    readonly merchantId: MerchantId;
    readonly sealing: KeyRing;
    readonly now: Date;
  },
): { readonly certificate: string; readonly endsAt: string } {
  const { identity, merchantId, sealing, now } = of;
  const certificate = parse(bytes);
  const key = createPrivateKey(unsealIdentity(sealing, merchantId, identity).expose());
  if (!certificate.checkPrivateKey(key)) {
    throw refused("is of another key: upload the one that Apple issued for this key's signing request");
  }
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  if (now < from) throw refused("is not valid yet");
  if (now >= to) throw refused("has expired");
  // Node escapes both separators within a value.
  if (!certificate.subject.split(/\n| \+ /).includes(`UID=${identity.merchantIdentifier}`)) {
    throw refused(`is not of the merchant identifier ${identity.merchantIdentifier}`);
  }
  return { certificate: certificate.toString(), endsAt: to.toISOString() };
}

function parse(bytes: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(bytes);
  } catch {
    throw refused("is no certificate in DER or PEM");
  }
}

function refused(reason: string): DomainError {
  return new DomainError("invalid_field", `The certificate ${reason}.`, { field: "certificate" });
}
