/** The one error of the transcoder about a request; the caller chooses its status and body. */
import type { Problem } from "./problem.ts";

/** Every refusal of the transcoder itself. A path that is not its own is no error: the handler answers `false`. */
export type TranscodingErrorKind =
  | "method_not_allowed"
  | "duplicate_header"
  | "unsupported_media_type"
  | "unsupported_encoding"
  | "payload_too_large"
  | "request_timeout"
  /** The client disconnected before its body was complete: the answer cannot be delivered. */
  | "client_gone"
  | "invalid_json"
  | "missing_body"
  /** Fields of the body, named in `problems`; parameters may be among them. */
  | "invalid_fields"
  /** Path or query parameters, named in `problems`. */
  | "invalid_parameter";

/** A refused request. `message` is public and never contains a value the caller sent. */
export class TranscodingError extends Error {
  override readonly name = "TranscodingError";
  readonly kind: TranscodingErrorKind;
  /** Every mistake found in the body and the parameters, in the order of the request. */
  readonly problems: readonly Problem[];
  /** The methods the path knows, for `method_not_allowed`. */
  readonly allow: readonly string[];

  constructor(
    kind: TranscodingErrorKind,
    message: string,
    details: { problems?: readonly Problem[]; allow?: readonly string[] } = {},
  ) {
    super(message);
    this.kind = kind;
    this.problems = details.problems ?? [];
    this.allow = details.allow ?? [];
  }
}
