/** Writes forms with files: RFC 7578. */
import { sha256 } from "./secrets.ts";

export type FormPart = {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** The name and type of a file. */
  readonly file?: { readonly name: string; readonly contentType: string };
  /** The type of a part that is no file and no plain text. */
  readonly contentType?: string;
};

/** Returns the body and its content type. The same parts have the same bytes. Names must not contain quotes or line feeds. */
export function writeForm(parts: readonly FormPart[]): { readonly body: Buffer; readonly contentType: string } {
  const hashes = parts.map(({ content }) => sha256(content).toString("hex"));
  // No content can contain the hash of itself and the others by chance.
  const boundary = `form-${sha256(hashes.join()).toString("hex")}`;
  const lines = parts.flatMap(({ name, content, file, contentType = file?.contentType }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file ? `; filename="${file.name}"` : ""}\r\n`,
    `${contentType ? `Content-Type: ${contentType}\r\n` : ""}\r\n`,
    content,
    "\r\n",
  ]);
  const body = Buffer.concat([...lines, `--${boundary}--\r\n`].map((line) => Buffer.from(line)));
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}
