/** A certificate that two readers read differently. */
import { X509Certificate } from "node:crypto";
import { Constructed, fromBER, Null, ObjectIdentifier, OctetString, Sequence } from "asn1js";
import type { Certificate } from "pkijs";

/**
 * Returns bytes that a reader of DER takes for a certificate with an extension, and a reader that looks for PEM first for
 * the given certificate, which lacks it.
 */
export function disguise(certificate: Certificate, oid: string): Pick<Certificate, "toSchema"> {
  const pem = new X509Certificate(Buffer.from(certificate.toSchema(true).toBER())).toString();
  const extension = new Sequence({ value: [new ObjectIdentifier({ value: oid })] });
  const idBlock = { tagClass: 3, tagNumber: 3 };
  const extensions = new Constructed({ idBlock, value: [new Sequence({ value: [extension] })] });
  const names = [new Null(), certificate.serialNumber, new Null(), certificate.issuer.toSchema()];
  const hidden = new OctetString({ valueHex: new Uint8Array(Buffer.from(`\n${pem}`)).buffer });
  const bytes = new Sequence({ value: [new Sequence({ value: [...names, extensions] }), hidden] }).toBER();
  return { toSchema: () => fromBER(bytes).result as Sequence };
}
