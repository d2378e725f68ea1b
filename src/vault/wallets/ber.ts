/**
 * Reads ASN.1 in BER (X.690) strictly: one spelling of each length except for the indefinite one, which Apple uses. A
 * lenient parser would take signatures with changed bytes. PURE.
 */

export type Element = {
  /** The identifier octet: class, form and number. */
  readonly tag: number;
  /** The content of a primitive element. */
  readonly content: Buffer;
  /** The children of a constructed element. */
  readonly children: readonly Element[];
  /** The element as it came. */
  readonly raw: Buffer;
};

const isConstructed = (tag: number) => (tag & 0x20) !== 0;
// A certificate nests nine deep.
const depthMax = 20;

/** Returns the only element of these bytes. Throws for anything else. */
export function readElement(bytes: Buffer): Element {
  const element = readAt(bytes, 0, 0);
  if (element.raw.length !== bytes.length) throw malformed();
  return element;
}

function readAt(bytes: Buffer, start: number, depth: number): Element {
  const tag = bytes[start];
  // Numbers of 31 and more take further octets; nothing here has one.
  if (depth > depthMax || tag === undefined || tag === 0 || (tag & 0x1f) === 0x1f) throw malformed();
  const { from, length } = readLength(bytes, start + 1);
  if (length === undefined) {
    if (!isConstructed(tag)) throw malformed();
    const { children, end } = readChildren(bytes, from, undefined, depth);
    return { tag, content: Buffer.alloc(0), children, raw: bytes.subarray(start, end + 2) };
  }
  const end = from + length;
  if (end > bytes.length) throw malformed();
  const raw = bytes.subarray(start, end);
  if (!isConstructed(tag)) return { tag, content: bytes.subarray(from, end), children: [], raw };
  const { children } = readChildren(bytes, from, end, depth);
  return { tag, content: Buffer.alloc(0), children, raw };
}

/** Reads elements until `end`, or until the end-of-contents octets. */
function readChildren(bytes: Buffer, from: number, end: number | undefined, depth: number) {
  const children: Element[] = [];
  let at = from;
  while (end === undefined ? bytes[at] !== 0 || bytes[at + 1] !== 0 : at < end) {
    const child = readAt(bytes, at, depth + 1);
    children.push(child);
    at += child.raw.length;
  }
  if (end !== undefined && at !== end) throw malformed();
  return { children, end: at };
}

/** A length of `undefined` is the indefinite one. */
function readLength(bytes: Buffer, at: number): { readonly from: number; readonly length: number | undefined } {
  const first = bytes[at];
  if (first === undefined) throw malformed();
  if (first < 0x80) return { from: at + 1, length: first };
  if (first === 0x80) return { from: at + 1, length: undefined };
  const octets = first & 0x7f;
  if (octets > 3 || at + octets >= bytes.length) throw malformed();
  const length = bytes.readUIntBE(at + 1, octets);
  if (length < (octets === 1 ? 0x80 : 256 ** (octets - 1))) throw malformed();
  return { from: at + 1 + octets, length };
}

/** Returns the element in DER, under another identifier octet if given. */
export function encodeElement({ tag, content, children }: Element, as = tag): Buffer {
  const body = isConstructed(tag) ? Buffer.concat(children.map((child) => encodeElement(child))) : content;
  return Buffer.concat([Buffer.from([as]), encodeLength(body.length), body]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const octets = length < 0x1_00 ? 1 : length < 0x1_00_00 ? 2 : 3;
  const bytes = Buffer.alloc(1 + octets, 0x80 | octets);
  bytes.writeUIntBE(length, 1, octets);
  return bytes;
}

/** Returns an element in DER around a body. */
export function derOf(tag: number, ...bodies: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(bodies);
  return Buffer.concat([Buffer.from([tag]), encodeLength(body.length), body]);
}

/** Returns an object identifier in DER: `1.2.840.113549.1.7.2`. */
export function derOfOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const octets = [first * 40 + second, ...rest].flatMap((arc) => {
    const groups = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    return groups;
  });
  return derOf(0x06, Buffer.from(octets));
}

function malformed(): Error {
  return new Error("the bytes are no ASN.1");
}
